package libraries

import (
	"fmt"
	"text/tabwriter"

	"github.com/deskhand/deskhand/indexer/formats"
	"github.com/deskhand/deskhand/indexer/oci"
	"github.com/deskhand/deskhand/indexer/shelf"
	"github.com/deskhand/deskhand/runtime/console"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// added prints the result for each library: problems on Stderr, the rest on Stdout.
func (w *Work) added(done []shelf.Result) {
	paint := console.PainterFor(w.Stderr)
	for _, r := range done {
		for _, p := range r.Problems {
			fmt.Fprintln(w.Stderr, paint.Plain(r.ID()+": "+p.String()))
		}
		if len(r.LeftOut) > 0 {
			fmt.Fprintln(w.Stderr, paint.Plain(r.ID()+": "+formats.LeftOut(r.LeftOut)))
		}
		did := "added"
		if r.Unchanged {
			did = "unchanged:"
		}
		from := r.Source
		if r.Path != "." {
			from += ", folder " + r.Path
		}
		fmt.Fprintf(w.Stdout, "%s %s: %s, %s, from %s\n", did, r.ID(), textutil.Count(r.Pages, "page"), textutil.Count(r.Chunks, "chunk"), paint.Plain(from))
	}
}

// pushed prints the result of a push.
func (w *Work) pushed(e shelf.Entry, done oci.Pushed) {
	did := fmt.Sprintf("pushed %s to %s, %s of %s sent", e.ID(), done.Reference, console.Size(done.Sent), console.Size(done.Bytes))
	if done.Unchanged {
		did = fmt.Sprintf("unchanged: %s is already at %s", e.ID(), done.Reference)
	}
	fmt.Fprintf(w.Stdout, "%s\n%s\n", did, done.Digest)
}

// table prints the libraries of a shelf as a table.
func (w *Work) table(entries []shelf.Entry) error {
	columns := tabwriter.NewWriter(w.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "NAME\tVERSION\tPAGES\tCHUNKS\tSIZE\tBUILT\tSOURCE")
	paint := console.PainterFor(w.Stdout)
	for _, e := range entries {
		fmt.Fprintf(columns, "%s\t%s\t%d\t%d\t%s\t%s\t%s\n", e.Name, e.Version, e.Pages, e.Chunks, console.Size(e.Bytes), e.Built.Local().Format("2006-01-02 15:04"), paint.Plain(e.Source))
	}
	return columns.Flush()
}

// facts prints everything known about a library, one line per fact.
func (w *Work) facts(e shelf.Entry) error {
	vectors := "none"
	if e.Embedding != nil {
		vectors = e.Embedding.String()
	}
	madeFrom, revision := "", e.Revision
	if o := e.Origin; o != nil {
		madeFrom, revision = o.Source, o.Revision
	}
	columns := tabwriter.NewWriter(w.Stdout, 0, 0, 2, ' ', 0)
	paint := console.PainterFor(w.Stdout)
	for _, row := range [][2]string{
		{"name", e.Name}, {"version", e.Version}, {"description", e.Description}, {"source", e.Source}, {"folder in it", e.Path},
		{"made from", madeFrom},
		{"revision", revision}, {"digest", e.Digest}, {"licence", e.Licence}, {"pages", fmt.Sprint(e.Pages)}, {"chunks", fmt.Sprint(e.Chunks)},
		{"size", console.Size(e.Bytes)}, {"vectors", vectors}, {"built", e.Built.Local().Format("2006-01-02 15:04:05")}, {"index", e.Folder},
	} {
		if row[1] != "" {
			fmt.Fprintf(columns, "%s\t%s\n", row[0], paint.Plain(row[1]))
		}
	}
	return columns.Flush()
}
