package search

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/text"
)

// Library is a named index in a Federation.
type Library struct {
	// ID is unique in a federation: NAME, or NAME@VERSION. Name excludes the
	// version; libraries with the same name are versions of one library.
	ID, Name, Version string
	Engine            *Engine
	// Locked means that the project uses exactly this version.
	Locked bool
}

// Federation searches several libraries as one: word rarity, the best keyword score
// and the nearest cosine are computed over all libraries in scope. A Federation may
// be used concurrently. The caller of Federate still owns the engines.
type Federation struct {
	libraries []Library
	usual     []Library // the first ones of libraries, which a search of all searches
	analyzers chan *artifact.Analyzer
	words     atomic.Pointer[termIndex] // nil until it is built
	building  atomic.Bool
	read      sync.Once // reads words from its file
	dir       string    // see KeepIn
	searches  atomic.Int64
	idle      sync.Mutex
	timer     *time.Timer // guarded by idle; see forget
}

// Federate returns a Federation over libraries. Locked libraries come first. Other
// versions of a locked library come last, and only their ID selects them. Hits with equal
// scores are in the order of their libraries.
func Federate(libraries []Library) *Federation {
	locked := map[string]bool{}
	for _, l := range libraries {
		locked[l.Name] = locked[l.Name] || l.Locked
	}
	rank := func(l Library) int {
		switch {
		case l.Locked:
			return 0
		case locked[l.Name] && l.Version != "":
			return 2
		}
		return 1
	}
	f := &Federation{libraries: slices.Clone(libraries), analyzers: newAnalyzers()}
	slices.SortStableFunc(f.libraries, func(a, b Library) int { return rank(a) - rank(b) })
	f.usual = f.libraries
	if i := slices.IndexFunc(f.libraries, func(l Library) bool { return rank(l) == 2 }); i >= 0 {
		f.usual = f.libraries[:i]
	}
	return f
}

// Libraries returns the federation's libraries. The caller must not change the
// list.
func (f *Federation) Libraries() []Library { return f.libraries }

// Usual returns the libraries that a search of all searches: all except other versions of
// locked libraries. The caller must not change the list.
func (f *Federation) Usual() []Library { return f.usual }

// Named returns the library with this ID, or else the locked versions of the library with
// this name, or all versions if none is locked, or nil if there is no such library.
func (f *Federation) Named(id string) (found []Library) {
	for i, l := range f.libraries {
		if l.ID == id {
			return []Library{l}
		}
		if l.Name == id && i < len(f.usual) {
			found = append(found, l)
		}
	}
	return found
}

// Split splits LIBRARY:ID into the library and the ID of a chunk or page. An ID
// without a library belongs to the only library that contains it. Faults:
// "invalid_argument" if several libraries contain the ID, "chunk_not_found" if no
// library does.
func (f *Federation) Split(id string) (Library, string, error) {
	for _, l := range f.libraries {
		if rest, ok := strings.CutPrefix(id, l.ID+":"); ok {
			return l, rest, nil
		}
	}
	for i := len(f.libraries) - 1; i >= 0; i-- { // the last of several versions of a library
		if rest, ok := strings.CutPrefix(id, f.libraries[i].Name+":"); ok {
			versions := f.Named(f.libraries[i].Name)
			return versions[len(versions)-1], rest, nil
		}
	}
	having := havingPage(f.usual, id)
	if having == nil {
		having = havingPage(f.libraries[len(f.usual):], id)
	}
	switch len(having) {
	case 1:
		return having[0], id, nil
	case 0:
		if library, _, ok := strings.Cut(id, ":"); ok {
			return Library{}, "", fault.New("chunk_not_found", f.Unknown(library), "")
		}
		return Library{}, "", fault.New("chunk_not_found", fmt.Sprintf("Chunk ID '%s' not found. Use search_docs to discover valid chunk IDs.", shorten(id)), "")
	}
	ids := make([]string, 0, 5)
	for _, l := range having[:min(len(having), 5)] {
		ids = append(ids, l.ID+":"+shorten(id))
	}
	return Library{}, "", invalid(fmt.Sprintf("%d libraries have '%s'. Name one of them: %s", len(having), shorten(id), strings.Join(ids, ", ")))
}

// havingPage returns the libraries that have the page of this ID.
func havingPage(libraries []Library, id string) (having []Library) {
	page, _, _ := strings.Cut(id, "#")
	if page == "" {
		return nil
	}
	for _, l := range libraries {
		if ok, err := l.Engine.Has(page); err == nil && ok {
			having = append(having, l)
		}
	}
	return having
}

// LibraryHit is a hit and its library. The hit's ID does not include the library.
type LibraryHit struct {
	Library Library
	Hit
}

// LibraryPage is one page of hits from several libraries, best first. Its fields
// are like those of Page.
type LibraryPage struct {
	Hits    []LibraryHit
	Next    string
	Hint    *Hint
	Lexical string
}

// scope returns the libraries to search: those with the given ID or name, or the usual
// ones if that is empty. A library that does not have a filter's facet value is left out.
func (f *Federation) scope(library string, filters map[string]string) ([]Library, error) {
	all := f.usual
	if library != "" {
		if all = f.Named(library); all == nil {
			return nil, invalid(f.Unknown(library))
		}
	}
	if len(filters) == 0 {
		return all, nil
	}
	var in []Library
	for _, l := range all {
		taxonomy := l.Engine.Metadata().Taxonomy
		if !slices.ContainsFunc(slices.Collect(maps.Keys(filters)), func(k string) bool { return !slices.Contains(taxonomy[k].Values, filters[k]) }) {
			in = append(in, l)
		}
	}
	if in == nil {
		for _, k := range slices.Sorted(maps.Keys(filters)) {
			if !slices.ContainsFunc(all, func(l Library) bool { return l.Engine.Metadata().Taxonomy[k].Values != nil }) {
				return nil, invalid(fmt.Sprintf("Unexpected field '%s'", k))
			}
		}
		return nil, invalid("No library has all of these filter values. Leave some out.")
	}
	return in, nil
}

// Unknown returns what to answer if there is no library with this ID or name.
func (f *Federation) Unknown(library string) string {
	return fmt.Sprintf("There is no library '%s'.%s", shorten(library), f.similar(library))
}

// similar returns advice for an unknown library name: libraries with a similar
// name, or how to list them all.
func (f *Federation) similar(name string) string {
	var ids, names []string
	for _, l := range f.libraries {
		ids, names = append(ids, l.ID), append(names, l.Name)
	}
	if ids = text.Similar(name, ids, names); len(ids) == 0 {
		return " Call list_docs to see the libraries."
	}
	return " Did you mean " + strings.Join(ids, ", ") + "?"
}
