package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/search"
	textutil "github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/tools/docs"
)

type searchFlags struct {
	limit  int
	facets []string
	cursor string
	asJSON bool
	why    bool
	by     string
	// library names a library on the shelf. If library is empty, all libraries or
	// the index are searched.
	library string
}

func searchCommand(a *app) *cobra.Command {
	var f searchFlags
	cmd := &cobra.Command{
		Use:     "search QUERY",
		Short:   "Search the index from the terminal",
		Example: "  deskhand search retry backoff\n  deskhand search 'HTTP token' --facet part=reference -n 3 --json",
		Args:    arguments(1, 1000, "a query"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.search(cmd.Context(), &f, strings.Join(args, " "), cmd.Flags().Changed("cursor"))
		},
	}
	flags := cmd.Flags()
	settings.Declare(flags, "index")
	settings.Declare(flags, "shelf")
	flags.StringVarP(&f.library, "library", "l", "", "search only this library on the shelf, NAME or NAME@VERSION")
	settings.Declare(flags, "vectors")
	settings.Declare(flags, "embed-timeout")
	flags.IntVarP(&f.limit, "limit", "n", search.DefaultLimit, "number of hits, 1 to 50")
	flags.StringArrayVar(&f.facets, "facet", nil, "only hits with this facet value, as key=value (repeatable)")
	flags.StringVar(&f.cursor, "cursor", "", "next_cursor from an earlier search; returns its next page")
	flags.BoolVar(&f.why, "explain", false, "explain the rank of each hit")
	flags.StringVar(&f.by, "by", string(search.Both), "rank by words, meaning or both")
	flags.BoolVar(&f.asJSON, "json", false, "print the result of the search_docs tool")
	return cmd
}

func (a *app) search(ctx context.Context, f *searchFlags, text string, more bool) error {
	if strings.TrimSpace(text) == "" {
		return misuse("the query is empty", "pass some words, for example: deskhand search retry backoff")
	}
	if err := within("limit", f.limit, 1, search.MaxLimit); err != nil {
		return err
	}
	by, err := readBy(f.by)
	if err != nil {
		return err
	}
	filters, err := readFacets(f.facets)
	if err != nil {
		return err
	}
	q := search.Query{Text: text, Filters: filters, Limit: f.limit, Explain: f.why, By: by}
	if more {
		q.Cursor = &f.cursor
	}
	libraries, err := a.libraries(f.library)
	if err != nil {
		return err
	}
	if libraries != nil {
		defer libraries.Close()
		answer, result, err := docs.SearchLibraries(ctx, libraries.Federation(), "", q, unbounded)
		return a.answered(f, answer, result, err)
	}
	engine, err := a.engine()
	if err != nil {
		return err
	}
	defer engine.Close()
	if err := checkFacets(filters, engine.Metadata().Taxonomy); err != nil {
		return err
	}
	answer, result, err := docs.Search(ctx, engine, q, unbounded)
	return a.answered(f, answer, result, err)
}

// answered prints the result of a search, or its error.
func (a *app) answered(f *searchFlags, answer string, result docs.SearchResult, err error) error {
	if err != nil {
		return err
	}
	if f.asJSON {
		var b bytes.Buffer
		if err := json.Indent(&b, []byte(answer), "", "  "); err != nil {
			return fmt.Errorf("indent answer: %w", err)
		}
		_, err := fmt.Fprintln(a.Stdout, console.PainterFor(a.Stdout).Plain(b.String()))
		return err
	}
	a.Hits(result)
	return nil
}

// unbounded is the maximum size in bytes of an answer on the command line. It is
// so large that it has no effect.
const unbounded = 1 << 30

// readBy parses --by.
func readBy(given string) (search.By, error) {
	by := search.By(given)
	if by != search.Both && by != search.Words && by != search.Meaning {
		return "", misuse(fmt.Sprintf("unknown --by %q", given), "use words, meaning or both")
	}
	return by, nil
}

// readFacets parses --facet key=value.
func readFacets(given []string) (map[string]string, error) {
	filters := map[string]string{}
	for _, facet := range given {
		k, v, ok := strings.Cut(facet, "=")
		if !ok {
			return nil, misuse(fmt.Sprintf("--facet %q has no value", facet), "write it as key=value")
		}
		if _, twice := filters[k]; twice {
			return nil, misuse(fmt.Sprintf("facet '%s' is given twice", k), "remove one: a page has only one value for each facet")
		}
		filters[k] = v
	}
	return filters, nil
}

// checkFacets returns an error if the index does not have one of the facets or
// values.
func checkFacets(filters map[string]string, taxonomy map[string]artifact.Facet) error {
	for _, k := range slices.Sorted(maps.Keys(filters)) {
		v, has := filters[k], taxonomy[k].Values
		if len(taxonomy) == 0 {
			return misuse(fmt.Sprintf("there is no facet '%s'; this index has no facets", k), "omit --facet, or add metadata to the pages and rebuild the index")
		}
		if _, known := taxonomy[k]; !known {
			keys := slices.Sorted(maps.Keys(taxonomy))
			return misuse(fmt.Sprintf("there is no facet '%s'; the facets are %s", k, textutil.Some(keys, 30)), oneOfThese(textutil.Nearest(k, keys)))
		}
		if !slices.Contains(has, v) {
			return misuse(fmt.Sprintf("facet '%s' has no value '%s'; its values are %s", k, v, textutil.Some(has, 30)), oneOfThese(textutil.Nearest(v, has)))
		}
	}
	return nil
}

func oneOfThese(near string) string {
	if near != "" {
		return "did you mean '" + near + "'?"
	}
	return "use one of these, or omit --facet"
}
