package shelf

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/oci"
	"github.com/deskhand/deskhand/indexer/source"
	"github.com/deskhand/deskhand/runtime/fault"
)

// pull downloads a library's index from a registry.
func (s Shelf) pull(ctx context.Context, o Options) (Result, error) {
	if o.Path != "" {
		return Result{}, fault.New("bad_library", "--path cannot be used with a library from a registry, which is already an index", "omit --path")
	}
	ref, err := oci.Parse(o.Source)
	if err != nil {
		return Result{}, err
	}
	l, err := oci.Find(ctx, ref, oci.Options{PlainHTTP: o.PlainHTTP, Known: o.known, Progress: o.moved("pulling")})
	if errors.Is(err, oci.ErrUnchanged) {
		return Result{}, source.ErrUnchanged
	}
	if err != nil {
		return Result{}, err
	}
	m := o.received(l)
	if err := errors.Join(checkStrings(m), CheckName(m.Library.Name, m.Library.Version)); err != nil {
		return Result{}, err
	}
	if err := s.create(); err != nil {
		return Result{}, err
	}
	if err := o.locked.hasIndex(m.Library.Name, m.Library.Version, m.Index); err != nil {
		return Result{}, err
	}
	folder := s.folderOf(idOf(m.Library.Name, m.Library.Version))
	before, _ := read(folder) // if the library cannot be read, it is treated as new
	if err := artifact.Receive(folder, m, func(w io.Writer) error { return l.Fetch(ctx, w) }); err != nil {
		return Result{}, s.notAdded(folder, idOf(m.Library.Name, m.Library.Version), err)
	}
	if o.Verify {
		if err := verify(folder); err != nil {
			return Result{}, err
		}
	}
	e, err := read(folder)
	if err != nil {
		return Result{}, err
	}
	return Result{Entry: e, Unchanged: before.Index == e.Index && before.Digest == e.Digest, Problems: []indexer.Problem{}}, nil
}

func verify(folder string) error {
	r, err := artifact.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(r.Verify(), r.Close())
}

// moved returns a progress function for the transfer of an index, which counts
// bytes. It returns nil if o has no progress function.
func (o Options) moved(phase string) func(done, total int64) {
	if o.Progress == nil {
		return nil
	}
	return func(done, total int64) {
		o.Progress(indexer.Progress{Phase: phase, Done: int(done >> 10), Total: int(total >> 10)})
	}
}

// received returns the metadata of a library from a registry, in the form in which
// this shelf stores it.
func (o Options) received(l *oci.Library) artifact.Metadata {
	m, was := l.Metadata, *l.Metadata.Library
	origin := was.Origin
	if origin == nil {
		origin = &artifact.Origin{Source: was.Source, Path: was.Path, Revision: was.Revision, Digest: was.Digest}
	}
	m.Library = &artifact.Library{
		Name: cmp.Or(o.Name, was.Name), Version: cmp.Or(o.Version, was.Version), Licence: was.Licence,
		Source: cmp.Or(o.recorded, l.Reference.String()), Path: ".", Digest: l.Digest, Texts: o.Texts, Origin: origin,
	}
	if !o.Texts {
		plain(&m)
	}
	return m
}

// plain removes from m everything that the publisher wrote for models, as a build
// without Texts does. It also removes values that a build never writes.
func plain(m *artifact.Metadata) {
	m.CorpusDescription = m.Library.Name + " documentation"
	m.ToolDescriptions, m.Instructions, m.Prompts = nil, "", nil
	m.Folders = maps.Clone(m.Folders)
	maps.DeleteFunc(m.Folders, func(_, note string) bool { return len(note) > maxNote })
	m.Terms = slices.DeleteFunc(slices.Clone(m.Terms), func(term string) bool {
		return len(term) > maxTerm || strings.ContainsFunc(term, unicode.IsControl)
	})
	m.Terms = m.Terms[:min(len(m.Terms), maxTerms)]
}

// Limits on the terms and notes that are kept from a library in a registry.
const (
	maxTerms = 60
	maxTerm  = 64
	maxNote  = 4096
)

// maxString is the maximum length of each string that describes the origin of an
// untrusted library.
const maxString = 2048

func checkStrings(m artifact.Metadata) error {
	l := m.Library
	for _, s := range []string{l.Licence, l.Origin.Source, l.Origin.Path, l.Origin.Revision, l.Origin.Digest} {
		if len(s) > maxString || strings.ContainsFunc(s, unicode.IsControl) {
			return fault.New("bad_artifact", l.Source+" is refused: the description of its origin is too long or contains control characters", "ask its owner to push it again")
		}
	}
	return nil
}

// Push sends a library to a registry. It uses only PlainHTTP and Progress from o.
// annotations are added to the library's annotations. Push returns the faults of
// oci.Parse and oci.Push.
func (s Shelf) Push(ctx context.Context, e Entry, address string, annotations map[string]string, o Options) (oci.Pushed, error) {
	ref, err := oci.Parse(address)
	if err != nil {
		return oci.Pushed{}, err
	}
	return oci.Push(ctx, e.Folder, ref, oci.Options{PlainHTTP: o.PlainHTTP, Annotations: annotations, Progress: o.moved("pushing")})
}
