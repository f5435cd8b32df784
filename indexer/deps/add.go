package deps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/scratch"
	"github.com/deskhand/deskhand/indexer/shelf"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Generator identifies the output of this package. It is changed whenever the same
// files would produce different pages, so that libraries are rebuilt.
const Generator = "deps-1"

// atOnce is the number of libraries that are built concurrently. It is low because at
// times, a single build uses all processors.
const atOnce = 2

// Options select what to add. The zero value selects the direct dependencies of the
// working folder.
type Options struct {
	// Dir is the folder in which the search for lock files starts. The search then
	// continues in the parent folders. If Dir is empty, the working folder is used.
	Dir string
	// All includes indirect dependencies.
	All bool
	// Fetch downloads missing packages with the project's own tools.
	Fetch bool
	// Shelf holds the embedder and the progress function. In the phase "making
	// libraries", the function's Done and Total count libraries. The other fields
	// of Shelf are ignored.
	Shelf shelf.Options
}

// Library is the result for one dependency.
type Library struct {
	shelf.Result
	Dependency Dependency `json:"dependency"`
	// Notes lists the parts that were omitted or included as plain text.
	Notes []string `json:"notes,omitempty"`
}

// Left is a dependency for which no library was built.
type Left struct {
	Dependency
	// Reason says why, and how to fix it if possible.
	Reason string `json:"reason"`
}

// Report is the result of Add. Every dependency is in one of its lists.
type Report struct {
	Libraries []Library `json:"libraries"`
	Left      []Left    `json:"without_docs"`
}

// Results returns the results of building the libraries.
func (r Report) Results() []shelf.Result {
	results := make([]shelf.Result, 0, len(r.Libraries))
	for _, l := range r.Libraries {
		results = append(results, l.Result)
	}
	return results
}

// Lines returns the messages to print in addition to the results.
func (r Report) Lines() (lines []string) {
	for _, l := range r.Libraries {
		for _, note := range l.Notes {
			lines = append(lines, l.ID()+": "+note)
		}
	}
	for _, l := range r.Left {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("did not add %s %s %s", l.Ecosystem, l.Name, l.Version))+": "+l.Reason)
	}
	return lines
}

// errNoDocs is the error for a dependency without docs.
var errNoDocs = errors.New("it has no Markdown and no documented API")

// Add builds a library for each dependency that has docs. If the shelf already has a
// library with the same version, generator and embedder, Add keeps it. If a
// dependency fails, Add lists it in Report.Left and continues with the others. Add
// returns the faults of Read, and an error if the shelf cannot be read or written.
func Add(ctx context.Context, s shelf.Shelf, o Options) (Report, error) {
	report := Report{Libraries: []Library{}, Left: []Left{}}
	list, err := Read(ctx, cmp.Or(o.Dir, "."), o.All)
	if err != nil {
		return report, err
	}
	there, _, err := s.List()
	if err != nil {
		return report, err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return report, fmt.Errorf("create the shelf: %w", err)
	}
	m := maker{shelf: s, options: o, names: named(list, there), there: there, total: len(list)}
	made := make([]Library, len(list))
	failed := make([]error, len(list))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, d := range list {
		g.Go(func() error {
			made[i], failed[i] = m.one(ctx, d)
			m.progress()
			return nil
		})
	}
	_ = g.Wait() // the functions in g always return nil
	for i, d := range list {
		if failed[i] == nil {
			report.Libraries = append(report.Libraries, made[i])
			continue
		}
		report.Left = append(report.Left, Left{made[i].dependencyOr(d), reasonOf(failed[i])})
	}
	return report, ctx.Err()
}

func (l Library) dependencyOr(d Dependency) Dependency {
	if l.Dependency.Name == "" {
		return d
	}
	return l.Dependency
}

// reasonOf returns an error's message with its hint.
func reasonOf(err error) string {
	if f := fault.Of(err); f != nil && f.Hint != "" {
		return printable(f.Message + "; " + f.Hint)
	}
	return printable(err.Error())
}

type maker struct {
	shelf   shelf.Shelf
	options Options
	names   map[string]string // names of libraries, by source and version
	there   []shelf.Entry

	mu          sync.Mutex
	done, total int
}

func (m *maker) progress() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done++
	if show := m.options.Shelf.Progress; show != nil {
		show(indexer.Progress{Phase: "making libraries", Done: m.done, Total: m.total})
	}
}

// named chooses a name on the shelf for each dependency. This is the dependency's name,
// or ECOSYSTEM/NAME if the shelf has a library from another source with the
// dependency's name.
func named(list []Dependency, there []shelf.Entry) map[string]string {
	taken := map[string]string{} // sources, by ID in lower case
	names := map[string]string{} // by source and version
	for _, e := range there {
		from, _ := madeFrom(e)
		taken[strings.ToLower(e.ID())] = from
		names[from+"@"+e.Version] = e.Name
	}
	for _, d := range list {
		key := d.source() + "@" + d.Version
		if names[key] != "" {
			continue
		}
		names[key] = d.Name
		id := strings.ToLower(d.Name + "@" + d.Version)
		if of, has := taken[id]; has && of != d.source() {
			names[key] = string(d.Ecosystem) + "/" + d.Name
		} else {
			taken[id] = d.source()
		}
	}
	return names
}

// one builds the library for d unless the shelf already has it.
func (m *maker) one(ctx context.Context, d Dependency) (Library, error) {
	if err := ctx.Err(); err != nil {
		return Library{}, err
	}
	if e, ok := m.onShelf(d); ok {
		return Library{Result: shelf.Result{Entry: e, Unchanged: true, Problems: []indexer.Problem{}}, Dependency: d}, nil
	}
	if !d.onDisk() && m.options.Fetch && !strings.HasPrefix(d.Why, refused) {
		done, err := fetch(ctx, &d)
		if done != nil {
			defer done()
		}
		if err != nil {
			return Library{}, err
		}
	}
	if !d.onDisk() {
		return Library{}, errors.New(d.Why)
	}
	name := cmp.Or(m.names[d.source()+"@"+d.Version], d.Name)
	result, notes, err := makeLibrary(ctx, m.shelf, name, d, m.options.Shelf)
	return Library{Result: result, Dependency: d, Notes: notes}, err
}

// onShelf returns the library on the shelf that was built for d, if there is one.
func (m *maker) onShelf(d Dependency) (shelf.Entry, bool) {
	i := slices.IndexFunc(m.there, func(e shelf.Entry) bool {
		from, _ := madeFrom(e)
		return from == d.source() && e.Version == d.Version && current(e, m.options.Shelf)
	})
	if i < 0 {
		return shelf.Entry{}, false
	}
	return m.there[i], true
}

// madeFrom returns the source and revision of a library. This also works for a
// library that another user built and pushed to a registry, if it has the
// dependency's name on this shelf.
func madeFrom(e shelf.Entry) (from, revision string) {
	if o := e.Origin; o != nil {
		of, made := strings.CutPrefix(o.Source, shelf.MadePrefix)
		_, name, _ := strings.Cut(of, "/")
		if made && (name == e.Name || of == e.Name) {
			return o.Source, o.Revision
		}
	}
	return e.Source, e.Revision
}

// current reports whether this version of deskhand would build the same library
// as e.
func current(e shelf.Entry, o shelf.Options) bool {
	vectors := ""
	if e.Embedding != nil {
		vectors = e.Embedding.String()
	}
	wanted := ""
	if o.Embedder != nil {
		wanted = o.Embedder.Name()
	}
	_, revision := madeFrom(e)
	return revision == Generator && vectors == wanted
}

// makeLibrary writes the pages of d to a temporary folder and indexes them.
func makeLibrary(ctx context.Context, s shelf.Shelf, name string, d Dependency, o shelf.Options) (shelf.Result, []string, error) {
	dir, err := scratch.New("deps")
	if err != nil {
		return shelf.Result{}, nil, fmt.Errorf("create a folder for %s: %w", d.Name, err)
	}
	defer dir.Close()
	if d.Dir == "" {
		from, err := unpack(ctx, &d, d.archive)
		if err != nil {
			return shelf.Result{}, nil, err
		}
		defer from.Close()
	}
	p, err := write(ctx, dir.Path, d)
	if err != nil {
		return shelf.Result{}, nil, err
	}
	if p.count() == 0 {
		err := errNoDocs
		if len(p.notes) > 0 {
			err = fmt.Errorf("%w; left out: %s", err, strings.Join(p.notes[:min(len(p.notes), 3)], ", "))
		}
		return shelf.Result{}, nil, err
	}
	r, err := s.Add(ctx, shelf.Options{
		Source: dir.Path, Name: name, Version: d.Version, NoGitIgnore: true, Embedder: o.Embedder,
		Made: &shelf.Made{Source: d.source(), Revision: Generator},
	})
	return r, p.notes, err
}

func write(ctx context.Context, dir string, d Dependency) (*pages, error) {
	p := &pages{dir: dir, files: map[string]bool{}}
	r := readerOf(d.Ecosystem)
	if r == nil {
		return nil, fmt.Errorf("the ecosystem %s is not supported", d.Ecosystem)
	}
	if err := r.pages(ctx, p, d); err != nil {
		return nil, err
	}
	return p, nil
}

// Remake rebuilds a library on the shelf; it is used as shelf.Options.Remake. If the
// library is from the current generator, it is kept, because a version of a package
// never changes. The search for the package starts in the working folder. Remake
// returns fault "no_dependency" if the package is not on this disk.
func Remake(ctx context.Context, s shelf.Shelf, e shelf.Entry, o shelf.Options) (shelf.Result, error) {
	if current(e, o) {
		return shelf.Result{Entry: e, Unchanged: true, Problems: []indexer.Problem{}}, nil
	}
	ecosystem, name, _ := strings.Cut(strings.TrimPrefix(e.Source, shelf.MadePrefix), "/")
	d := Dependency{Ecosystem: Ecosystem(ecosystem), Name: name, Version: e.Version}
	missing := func(why string) error {
		return fault.New("no_dependency", fmt.Sprintf("cannot rebuild %s: %s", e.ID(), why), "run \"deskhand add --deps\" in the folder of a project that uses it")
	}
	if readerOf(d.Ecosystem) == nil {
		return shelf.Result{}, missing("this version of deskhand does not support " + printable(e.Source))
	}
	list, err := Read(ctx, ".", true)
	if err == nil {
		if i := slices.IndexFunc(list, func(x Dependency) bool { return x.source() == e.Source && x.Version == e.Version && x.onDisk() }); i >= 0 {
			d = list[i]
		}
	}
	if !d.onDisk() {
		dir, err := os.Getwd()
		if err != nil {
			return shelf.Result{}, fmt.Errorf("find the working directory: %w", err)
		}
		d.at = dir
		locate(newDisk(ctx, dir), &d)
	}
	if !d.onDisk() {
		return shelf.Result{}, missing(d.Why)
	}
	r, _, err := makeLibrary(ctx, s, e.Name, d, o)
	return r, err
}
