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

// leftOut lists folders with third-party code or build output. The docs of a library
// exclude these folders unless the library's path includes them.
var leftOut = []string{"node_modules", "vendor", ".venv", "venv", "target", "dist", ".git"}

// Options configure how a library is added. Source is required.
type Options struct {
	// Source, Path and AllowFile are passed to package source.
	Source, Path string
	AllowFile    bool
	// Name and Version are the library's name and version. If one of them is
	// empty, a default derived from the address is used.
	Name, Version string
	// Texts allows models to receive the tool descriptions, instructions and
	// prompts that come with the library.
	Texts bool
	// NoGitIgnore includes files that a .gitignore file matches.
	NoGitIgnore bool
	// Embedder computes the vectors. If it is nil, the index has no vectors.
	Embedder embed.Embedder
	// If Progress is not nil, it is called with the progress of the build.
	Progress func(indexer.Progress)
	// Made is set if Source is a folder that was created only for this library. In
	// this case, the whole folder is used, and Made is recorded instead of the
	// folder's path.
	Made *Made
	// Remake rebuilds a library whose source is [Made]. Update calls it. If it is nil,
	// Update returns an error for such a library.
	Remake func(context.Context, Shelf, Entry, Options) (Result, error)
	// PlainHTTP disables TLS for registries. For a registry on this machine, TLS is
	// always disabled.
	PlainHTTP bool
	// Verify reads a pulled index again after it is written, and checks every
	// byte.
	Verify bool

	known    string // the revision of the library on the shelf, or its digest if it is from a registry
	recorded string // the source to record, or empty to record the actual source
	// locked is what the library must match before it replaces that on the shelf, or nil.
	locked *Locked
}

// Made identifies where a library's docs were generated from.
type Made struct {
	// Source begins with [MadePrefix], for example "dep:go/github.com/spf13/cobra".
	// Revision is the generator's revision.
	Source, Revision string
}

// MadePrefix is the prefix of the source of a library that was generated from a
// dependency.
const MadePrefix = "dep:"

// Result is the result of adding or updating one library.
type Result struct {
	Entry
	// Unchanged is true if the index is the same as before.
	Unchanged bool `json:"unchanged"`
	// Problems lists the problems in the pages.
	Problems []indexer.Problem `json:"problems"`
	// LeftOut counts files that may contain docs but were not converted to pages.
	LeftOut []formats.Left `json:"left_out,omitempty"`
}

// Add fetches the docs from a source and builds the library. If the library already
// exists, Add rebuilds it. It returns the faults of source.Open and indexer.Build,
// and fault "bad_library".
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
		Source: cmp.Or(o.recorded, from.Address), Path: from.Path, Revision: from.Revision, Digest: from.Digest, Licence: from.Licence, Texts: o.Texts, NoGitIgnore: o.NoGitIgnore,
	}
	if o.Made != nil {
		l.Source, l.Revision, l.Path = o.Made.Source, o.Made.Revision, "."
	}
	if err := CheckName(l.Name, l.Version); err != nil {
		return Result{}, err
	}
	if err := s.create(); err != nil {
		return Result{}, err
	}
	if err := o.locked.hasDigest(l.Name, l.Version, from.Digest); err != nil {
		return Result{}, err
	}
	folder := s.folderOf(idOf(l.Name, l.Version))
	before, _ := read(folder) // if the library cannot be read, it is treated as new
	build := o.build(from, folder, &l)
	defer build.Formats.Close()
	report, err := indexer.Build(ctx, build)
	if err != nil {
		return Result{}, s.notAdded(folder, idOf(l.Name, l.Version), err)
	}
	e, err := read(folder)
	if err != nil {
		return Result{}, err
	}
	return Result{Entry: e, Unchanged: before.Index == e.Index && before.Revision == e.Revision && before.Digest == e.Digest, Problems: report.Problems, LeftOut: append(report.LeftOut, from.LeftOut...)}, nil
}

// create creates the shelf's folder if it does not exist.
func (s Shelf) create() error {
	err := os.MkdirAll(s.Dir, 0o755)
	if denied := s.denied(err); denied != nil {
		return denied
	}
	if err != nil {
		return fmt.Errorf("create the shelf: %w", err)
	}
	return nil
}

// notAdded returns the error for a library that could not be built. It removes the library's
// folder if nothing was built in it, unless another process is building the library.
func (s Shelf) notAdded(folder, id string, err error) error {
	if f := fault.Of(err); f != nil && f.Code == "locked" {
		return &fault.Fault{Code: f.Code, Message: "another process is adding " + id, Hint: "wait until it finishes, then retry", Retryable: true}
	}
	if building(folder) {
		_ = os.RemoveAll(folder)
	}
	if denied := s.denied(err); denied != nil {
		return denied
	}
	return fmt.Errorf("add %s: %w", id, err)
}

// fetching returns a progress function for a source whose pages are downloaded one
// by one, or nil if o has no progress function.
func (o Options) fetching() func(done, total int) {
	if o.Progress == nil {
		return nil
	}
	return func(done, total int) { o.Progress(indexer.Progress{Phase: "fetch", Done: done, Total: total}) }
}

// build returns the options for building the library l from the docs in from.
func (o Options) build(from *source.Source, folder string, l *artifact.Library) indexer.Options {
	build := indexer.Options{
		Dir: from.Dir, Named: from.Shown(), Out: folder, Library: l, PlainTexts: !o.Texts, GitIgnore: !o.NoGitIgnore && o.Made == nil, GitExcludes: !from.Copied(),
		Embedder: o.Embedder, Progress: o.Progress,
	}
	if !o.Texts {
		build.Description = l.Name + " documentation"
	}
	if o.locked != nil {
		build.Accept = func(i artifact.Index) error { return o.locked.hasIndex(l.Name, l.Version, i) }
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

// Update rebuilds a library from its source. It fetches nothing if a repository is
// still at the same commit, or if a reference still resolves to the same digest. The
// options AllowFile, PlainHTTP, Verify, Embedder and Progress are not recorded, so
// they come from o.
func (s Shelf) Update(ctx context.Context, e Entry, o Options) (Result, error) {
	if e.Source == "" {
		return Result{}, fault.New("bad_library", fmt.Sprintf("%s does not record its source", e.ID()), "add it again: deskhand add SOURCE --name "+e.Name)
	}
	if strings.HasPrefix(e.Source, MadePrefix) {
		if o.Remake == nil {
			return Result{}, fault.New("bad_library", fmt.Sprintf("%s is built from a dependency", e.ID()), "run \"deskhand add --deps\" in the project's folder")
		}
		return o.Remake(ctx, s, e, o)
	}
	o.Source, o.Path, o.Name, o.Version, o.Texts, o.known = e.Source, e.Path, e.Name, e.Version, e.texts, e.Revision
	o.NoGitIgnore = e.noGitIgnore
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
