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

// Bring brings the docs at an address that o.Dir has, and makes o one of their
// copy, in all formats. A folder stays as it is. done removes the copy; it is
// never nil. here says that something is to be written beside the docs, which no
// address has.
func Bring(ctx context.Context, c *console.Console, o *indexer.Options, here bool) (done func(), err error) {
	if !source.IsAddress(o.Dir) {
		return func() {}, nil
	}
	if here {
		return func() {}, fault.Misuse("--fix writes into a folder, and "+o.Dir+" is an address", "name a folder")
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
	return func() { _ = errors.Join(o.Formats.Close(), from.Close()) }, nil // in the system's folder for such files
}
