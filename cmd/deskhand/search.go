package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/search"
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
		Short:   "Search the docs from the terminal",
		Example: "  deskhand search retry backoff\n  deskhand search 'HTTP token' -n 3 --json\n  deskhand search token --facet KEY=VALUE\n  deskhand search retry -l NAME",
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
	a.completeLibrary(cmd)
	return cmd
}

func (a *app) search(ctx context.Context, f *searchFlags, text string, more bool) error {
	if strings.TrimSpace(text) == "" {
		return misuse("the query is empty", "pass some words, for example: deskhand search retry backoff")
	}
	if err := within("limit", f.limit, 1, search.MaxLimit); err != nil {
		return err
	}
	by, err := console.ReadBy(f.by)
	if err != nil {
		return err
	}
	filters, err := console.ReadFacets(f.facets)
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
	if err := console.CheckFacets(filters, engine.Metadata().Taxonomy); err != nil {
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
