package shelf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/indexer/formats"
	"github.com/deskhand/deskhand/indexer/oci"
	"github.com/deskhand/deskhand/indexer/source"
	"github.com/deskhand/deskhand/runtime/fault"
)

// leftOut are folders of other people's code, and of what a build made, that are
// left out of the docs of a library unless its path names them.
var leftOut = []string{"node_modules", "vendor", ".venv", "venv", "target", "dist", ".git"}

// Options says what to add, and how. Source is required.
type Options struct {
	// Source, Path and AllowFile are those of package source.
	Source, Path string
	AllowFile    bool
	// Name and Version of the library; empty: as the address proposes.
	Name, Version string
	// Texts says that the library's own texts for tools, instructions and prompts
	// reach models.
	Texts bool
	// NoGitIgnore takes what .gitignore files name too.
	NoGitIgnore bool
	// Embedder makes the vectors; nil: there are none.
	Embedder embed.Embedder
	// Progress is that of a build; nil: nothing is called.
	Progress func(indexer.Progress)
	// Made says that Source is a folder that somebody made for this library alone:
	// it is taken whole, and Made is recorded instead of the folder. Nil: it was
	// not.
	Made *Made
	// Remake makes a library again whose source is [Made], in Update. Nil: Update
	// refuses it.
	Remake func(context.Context, Shelf, Entry, Options) (Result, error)
	// PlainHTTP asks registries without TLS; one on this machine is always asked so.
	PlainHTTP bool
	// Verify reads what was pulled from a registry again, and compares every byte.
	Verify bool

	known    string // the revision that the shelf has, or the digest if it is from a registry
	recorded string // the source to record instead; empty: where it is from
}

// Made is what the docs of a library were made from.
type Made struct {
	// Source begins with [MadePrefix], as "dep:go/github.com/spf13/cobra". Revision
	// is that of what made the docs.
	Source, Revision string
}

// MadePrefix begins the sources of libraries that were made from a dependency.
const MadePrefix = "dep:"

// Result is what was done for one library.
type Result struct {
	Entry
	// Unchanged says that the index is the same as before.
	Unchanged bool `json:"unchanged"`
	// Problems are those of the pages.
	Problems []indexer.Problem `json:"problems"`
	// LeftOut counts files that may be docs and became no page.
	LeftOut []formats.Left `json:"left_out,omitempty"`
}

// Add brings the docs of a source and builds the library, or builds it again if
// it is there. Faults: those of source.Open and indexer.Build, and "bad_library".
func (s Shelf) Add(ctx context.Context, o Options) (Result, error) {
	if o.Name != "" {
		if err := CheckName(o.Name, o.Version); err != nil {
			return Result{}, err
		}
	}
	if oci.IsAddress(o.Source) {
		return s.pull(ctx, o)
	}
	from, err := source.Open(ctx, o.Source, source.Options{Path: o.Path, AllowFile: o.AllowFile, Known: o.known, Progress: o.fetching()})
	if err != nil {
		return Result{}, err
	}
	defer from.Close()
	l := artifact.Library{
		Name: cmp.Or(o.Name, from.Name), Version: cmp.Or(o.Version, from.Version),
		Source: cmp.Or(o.recorded, from.Address), Path: from.Path, Revision: from.Revision, Digest: from.Digest, Licence: from.Licence, Texts: o.Texts,
	}
	if o.Made != nil {
		l.Source, l.Revision, l.Path = o.Made.Source, o.Made.Revision, "."
	}
	if err := CheckName(l.Name, l.Version); err != nil {
		return Result{}, err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return Result{}, fmt.Errorf("make the shelf: %w", err)
	}
	folder := s.folderOf(idOf(l.Name, l.Version))
	before, _ := read(folder) // none: it is new
	build := o.build(from, folder, &l)
	defer build.Formats.Close()
	report, err := indexer.Build(ctx, build)
	if err != nil {
		discard(folder, err)
		return Result{}, fmt.Errorf("add %s: %w", idOf(l.Name, l.Version), err)
	}
	e, err := read(folder)
	if err != nil {
		return Result{}, err
	}
	return Result{Entry: e, Unchanged: before.Index == e.Index && before.Revision == e.Revision && before.Digest == e.Digest, Problems: report.Problems, LeftOut: append(report.LeftOut, from.LeftOut...)}, nil
}

// discard removes the folder of a library of which nothing was made, unless
// another process is making it.
func discard(folder string, err error) {
	if f := fault.Of(err); (f == nil || f.Code != "locked") && building(folder) {
		_ = os.RemoveAll(folder)
	}
}

// fetching is the progress of a source that is brought page by page.
func (o Options) fetching() func(done, total int) {
	if o.Progress == nil {
		return nil
	}
	return func(done, total int) { o.Progress(indexer.Progress{Phase: "fetch", Done: done, Total: total}) }
}

// build is how the library l is built of the docs in from.
func (o Options) build(from *source.Source, folder string, l *artifact.Library) indexer.Options {
	build := indexer.Options{
		Dir: from.Dir, Named: from.Shown(), Out: folder, Library: l, PlainTexts: !o.Texts, GitIgnore: !o.NoGitIgnore && o.Made == nil,
		Embedder: o.Embedder, Progress: o.Progress,
	}
	if !o.Texts {
		build.Description = l.Name + " documentation"
	}
	if o.Made != nil {
		return build
	}
	build.Formats = formats.New(formats.Options{CountOnly: from.MarkdownOnly})
	for _, name := range leftOut {
		if path.Base(from.Path) != name {
			build.Exclude = append(build.Exclude, name)
		}
	}
	return build
}

// Update builds a library again from where it came from. A repository that is
// still at the same commit is not fetched, and neither is a reference that still
// leads to the same digest. o gives what is not recorded: AllowFile, PlainHTTP,
// Verify, Embedder and Progress.
func (s Shelf) Update(ctx context.Context, e Entry, o Options) (Result, error) {
	if e.Source == "" {
		return Result{}, fault.New("bad_library", fmt.Sprintf("%s does not say where it came from", e.ID()), "add it again: deskhand add SOURCE --name "+e.Name)
	}
	if strings.HasPrefix(e.Source, MadePrefix) {
		if o.Remake == nil {
			return Result{}, fault.New("bad_library", fmt.Sprintf("%s is made from a dependency", e.ID()), "run deskhand add --deps in the folder of the project")
		}
		return o.Remake(ctx, s, e, o)
	}
	o.Source, o.Path, o.Name, o.Version, o.Texts, o.known = e.Source, e.Path, e.Name, e.Version, e.texts, e.Revision
	if o.Path == "." {
		o.Path = ""
	}
	if oci.IsAddress(e.Source) {
		o.known = e.Digest
	}
	r, err := s.Add(ctx, o)
	if errors.Is(err, source.ErrUnchanged) {
		return Result{Entry: e, Unchanged: true, Problems: []indexer.Problem{}}, nil
	}
	return r, err
}
