package libraries

import (
	"context"
	"errors"
	"fmt"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/formats"
	"github.com/deskhand/deskhand/indexer/source"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Bring fetches the docs if o.Dir is an address, and makes o use the copy, in all
// formats. It does nothing if o.Dir is a folder. The function done removes the copy
// and is never nil. The parameter here reports whether a file will be written next
// to the docs; if it is set, Bring returns an error for an address.
func Bring(ctx context.Context, c *console.Console, o *indexer.Options, here bool) (done func(), err error) {
	if !source.IsAddress(o.Dir) {
		return func() {}, nil
	}
	if here {
		return func() {}, fault.Misuse("--fix writes into a folder, but "+o.Dir+" is an address", "pass a folder")
	}
	bar := console.NewBar(c.Stderr)
	from, err := source.Open(ctx, o.Dir, source.Options{Progress: func(n, of int) { bar.Show(indexer.Progress{Phase: "fetch", Done: n, Total: of}) }})
	bar.End()
	if err != nil {
		return func() {}, err
	}
	if len(from.LeftOut) > 0 {
		fmt.Fprintln(c.Stderr, console.PainterFor(c.Stderr).Plain(formats.LeftOut(from.LeftOut)))
	}
	o.Dir, o.Named, o.Formats = from.Dir, from.Shown(), formats.New(formats.Options{CountOnly: from.MarkdownOnly})
	return func() { _ = errors.Join(o.Formats.Close(), from.Close()) }, nil // the copy is in the system's temporary folder
}
