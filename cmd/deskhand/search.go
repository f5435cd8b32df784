package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/tools/docs"
)

type searchFlags struct {
	limit  int
	facets []string
	cursor string
	asJSON bool
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
	declare(flags, "index")
	flags.IntVarP(&f.limit, "limit", "n", search.DefaultLimit, "number of hits, 1 to 50")
	flags.StringArrayVar(&f.facets, "facet", nil, "only hits with this facet value, as key=value (repeat)")
	flags.StringVar(&f.cursor, "cursor", "", "next_cursor of an earlier search, for the next page")
	flags.BoolVar(&f.asJSON, "json", false, "print what the tool search_docs returns")
	return cmd
}

func (a *app) search(ctx context.Context, f *searchFlags, text string, more bool) error {
	q := search.Query{Text: text, Limit: f.limit, Filters: map[string]string{}}
	if f.limit == 0 {
		q.Limit = -1 // refused as any other number out of range
	}
	if more {
		q.Cursor = &f.cursor
	}
	for _, facet := range f.facets {
		k, v, ok := strings.Cut(facet, "=")
		if !ok {
			return misuse(fmt.Sprintf("--facet %q has no value", facet), "write it as key=value")
		}
		q.Filters[k] = v
	}
	engine, err := search.Open(a.settings.get("index"))
	if err != nil {
		return err
	}
	defer engine.Close()
	text, result, err := docs.Search(ctx, engine, q, 1<<30)
	if err != nil {
		return err
	}
	if f.asJSON {
		_, err := fmt.Fprintln(a.stdout, text)
		return err
	}
	a.hits(result)
	return nil
}

func (a *app) json(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// hits prints a page of hits: where they stand, what they are, the evidence.
func (a *app) hits(r docs.SearchResult) {
	paint := painter(a.stdout)
	for i, h := range r.Hits {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		first, _, _ := strings.Cut(h.Lines, "-")
		fmt.Fprintf(a.stdout, "%s  %s\n", paint.bold(h.Breadcrumb), paint.dim(fmt.Sprintf("%.3f", h.Score)))
		fmt.Fprintf(a.stdout, "%s  %s\n", paint.path(h.Filepath+":"+first), paint.dim(h.ChunkID))
		fmt.Fprintf(a.stdout, "  %s\n", paint.marks(h.Snippet))
	}
	if r.Hint != nil {
		fmt.Fprintln(a.stdout, r.Hint.Message)
		for k, values := range r.Hint.SuggestedFilters {
			fmt.Fprintf(a.stdout, "  --facet %s=%s\n", k, strings.Join(values, " | "))
		}
	}
}

// paint colours text for a terminal; elsewhere it leaves it plain.
type paint bool

func painter(w io.Writer) paint {
	_, ok := terminalWidth(w)
	return paint(ok)
}

func (p paint) code(s, code string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) bold(s string) string { return p.code(s, "1") }
func (p paint) dim(s string) string  { return p.code(s, "2") }
func (p paint) path(s string) string { return p.code(s, "36") }

// marks shows the words between "**" highlighted, or without the marks.
func (p paint) marks(s string) string {
	parts := strings.Split(s, "**")
	if len(parts)%2 == 0 {
		return s
	}
	for i := 1; i < len(parts); i += 2 {
		parts[i] = p.code(parts[i], "1;33")
	}
	return strings.Join(parts, "")
}
