package app

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/shelf"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/tools/docs"
)

// Libraries holds a shelf's open libraries. Only one goroutine at a time may use or
// reload it. The federations it returns may be used concurrently.
type Libraries struct {
	shelf   shelf.Shelf
	options search.Options
	log     *slog.Logger
	open    map[string]*search.Engine // by folder
	removed []*search.Engine          // no longer on the shelf, but maybe still in use
	current atomic.Pointer[search.Federation]
	opened  string // the shelf's state before it was opened
	project project
	own     string // an index served with the shelf, or ""
}

// OpenLibraries opens the libraries on the shelf in dir: those with the given IDs or
// names, or all if only is empty. The lock files of the folder in select their versions; if
// in is empty, none do. A library that cannot be opened is logged and skipped.
// OpenLibraries returns the fault "no_library" if there are no libraries, or if one of
// the given libraries is missing.
func OpenLibraries(dir string, only []string, in string, o search.Options, log *slog.Logger) (*Libraries, error) {
	return OpenWithIndex(dir, "", only, in, o, log)
}

// OpenWithIndex works like OpenLibraries, but own, unless it is empty, is the folder of an
// index that is one more library. The shelf may then have no libraries.
func OpenWithIndex(dir, own string, only []string, in string, o search.Options, log *slog.Logger) (*Libraries, error) {
	l := &Libraries{shelf: shelf.Shelf{Dir: dir}, own: own, options: o, log: log, open: map[string]*search.Engine{}, project: project{dir: in}}
	l.opened = l.state()
	entries, err := l.list()
	if err != nil {
		return nil, err
	}
	l.project.read(log)
	if own != "" {
		if entries, err = l.withOwn(entries); err != nil {
			return nil, err
		}
	}
	if len(only) > 0 {
		entries = l.project.last(entries)
		var chosen []shelf.Entry
		for _, id := range only {
			e, err := shelf.Among(entries, id)
			if err != nil {
				return nil, err
			}
			chosen = append(chosen, e)
		}
		entries = chosen
	}
	if len(entries) == 0 {
		return nil, fault.New("no_library", "there are no libraries in "+dir, "add one: deskhand add SOURCE")
	}
	l.use(entries)
	if len(l.current.Load().Libraries()) == 0 {
		return nil, fault.New("no_library", "no library in "+dir+" can be opened", "see the reasons with \"deskhand list\", then rebuild them: deskhand update")
	}
	return l, nil
}

// list returns the shelf's libraries. It logs folders that are not libraries.
func (l *Libraries) list() ([]shelf.Entry, error) {
	entries, problems, err := l.shelf.Look()
	for _, p := range problems {
		l.log.Warn("not served", "folder", p.Folder, "reason", p.Reason)
	}
	return entries, err
}

// use creates a federation of entries. It reuses engines that are already open.
func (l *Libraries) use(entries []shelf.Entry) {
	var all []search.Library
	here := map[string]*search.Engine{}
	for i, engine := range l.engines(entries) {
		if e := entries[i]; engine != nil {
			here[e.Folder] = engine
			all = append(all, search.Library{ID: e.ID(), Name: e.Name, Version: e.Version, Engine: engine, Locked: e.Folder == l.own || l.project.locked.Has(e)})
		}
	}
	for _, engine := range l.removed {
		engine.Close()
	}
	l.removed = nil
	for folder, engine := range l.open {
		if here[folder] == nil {
			l.removed = append(l.removed, engine)
		}
	}
	l.open = here
	f := search.Federate(all)
	f.KeepIn(l.shelf.Dir)
	l.current.Store(f)
}

// engines opens or reloads the engine of each entry, several at a time. An engine that
// cannot be opened is nil.
func (l *Libraries) engines(entries []shelf.Entry) []*search.Engine {
	engines := make([]*search.Engine, len(entries))
	var workers sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(entries)); i = next.Add(1) - 1 {
				engines[i] = l.engine(entries[i])
			}
		})
	}
	workers.Wait()
	return engines
}

func (l *Libraries) engine(e shelf.Entry) *search.Engine {
	engine := l.open[e.Folder]
	if engine == nil {
		engine, err := search.OpenDescribed(e.Folder, e.Described(), l.options)
		if err != nil {
			l.log.Warn("cannot serve a library", "library", e.ID(), "error", err)
			return nil
		}
		return engine
	}
	if engine.Current(e.Described()) {
		return engine
	}
	if _, err := engine.Reload(); err != nil {
		l.log.Warn("cannot reload a library; serving the old one", "library", e.ID(), "error", err)
	}
	return engine
}

// Federation returns the federation of the current libraries.
func (l *Libraries) Federation() *search.Federation { return l.current.Load() }

// Close closes all libraries. Call it after the last search.
func (l *Libraries) Close() {
	for _, engine := range l.removed {
		engine.Close()
	}
	for _, engine := range l.open {
		engine.Close()
	}
}

// state identifies the shelf's contents by the folders and the time at which each
// index was written, and the contents of the project's lock files.
func (l *Libraries) state() string {
	folders, err := os.ReadDir(l.shelf.Dir)
	if err != nil && (l.own == "" || !errors.Is(err, fs.ErrNotExist)) {
		return "" // the shelf is gone
	}
	var b strings.Builder
	for _, f := range folders {
		if info, err := os.Stat(filepath.Join(l.shelf.Dir, f.Name(), artifact.MetadataFile)); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", f.Name(), info.ModTime().UnixNano(), info.Size())
		}
	}
	if l.own != "" {
		if info, err := os.Stat(filepath.Join(l.own, artifact.MetadataFile)); err == nil {
			b.WriteString("own" + fileState(info))
		}
	}
	return b.String() + l.project.state()
}

// reload opens the shelf's current libraries.
func (l *Libraries) reload() error {
	entries, err := l.list()
	if err != nil {
		return err
	}
	l.project.read(l.log)
	if l.own != "" {
		if entries, err = l.withOwn(entries); err != nil {
			return err
		}
	}
	l.use(entries)
	return nil
}

// withOwn returns the project's own index followed by the entries of the shelf. Its name is
// that of the project's folder, unless a library of the shelf has that name.
func (l *Libraries) withOwn(entries []shelf.Entry) ([]shelf.Entry, error) {
	name := ownName(l.own)
	taken := func(name string) bool {
		return slices.ContainsFunc(entries, func(e shelf.Entry) bool { return e.Name == name })
	}
	if taken(name) {
		for n := 1; taken(name); n++ {
			name = "project" + strings.Repeat("-docs", n-1)
		}
	}
	own, err := shelf.Unlisted(l.own, name)
	if err != nil {
		return nil, err
	}
	return append([]shelf.Entry{own}, entries...), nil
}

// ownName returns the name of the project that has its index in dir: that of the folder that
// holds .deskhand, or else of the index's folder.
func ownName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	name := filepath.Base(dir)
	if up := filepath.Dir(dir); filepath.Base(up) == ".deskhand" {
		name = filepath.Base(filepath.Dir(up))
	}
	if shelf.CheckName(name, "") != nil {
		return "project"
	}
	return name
}

// docsTools returns the docs tools, or nil if no docs are open.
func (l *docsServer) docsTools(o docs.Options) []contract.Tool {
	switch {
	case l.libraries.Load() != nil:
		return docs.ShelfTools(l.libraries.Load().Federation(), o)
	case l.engine != nil:
		return docs.Tools(l.engine, o)
	}
	return nil
}

// hasDocs reports whether docs are open.
func (l *docsServer) hasDocs() bool { return l.engine != nil || l.libraries.Load() != nil }

// openShelf opens the libraries in the folder shelf.
func (l *docsServer) openShelf(shelf string) error {
	libraries, err := OpenWithIndex(shelf, l.own, l.only, l.project, l.searching, l.log)
	if err == nil {
		l.libraries.Store(libraries)
	}
	return err
}

// missing returns the error that the docs tools give while there is neither an
// index nor a library. The agent reads this error, because hosts do not show a
// server's log.
func (l *docsServer) missing() error {
	if l.own != "" {
		if _, err := os.Stat(filepath.Join(l.own, artifact.MetadataFile)); err != nil {
			return fault.New("no_index", "There are no docs to search: there is no index in "+l.own+".",
				"Run `deskhand index DIR -o "+l.own+"` with the folder of the docs, or omit --index to serve only the libraries in "+l.shelf+". Then search again.")
		}
	}
	if l.shelf != "" {
		return fault.New("no_library", "There are no docs to search: "+l.shelf+" has no libraries.",
			"Run `deskhand add --deps` for the project's dependencies, or `deskhand add SOURCE`. Then search again.")
	}
	if artifact.HoldsPages(l.dir) {
		return fault.New("no_index", "There are no docs to search: "+l.dir+" holds markdown, not an index.",
			"Run `deskhand index "+l.dir+"`, or serve the folder with `deskhand serve --watch "+l.dir+"`. Then search again.")
	}
	return fault.New("no_index", "There are no docs to search: there is no index in "+l.dir+".",
		"Run `deskhand index DIR` with the folder of the docs, or `deskhand add --deps` for the project's dependencies. Then search again.")
}

// Shelves returns the shelf that a server serves, the index that it serves with this shelf,
// and the shelf that it does not serve because it serves an index. Each is empty if there is
// none.
func (a *App) Shelves() (served, own, beside string) {
	d, err := a.config.Docs.Get()
	if err != nil {
		return "", "", ""
	}
	return d.Shelf, d.Own, d.Beside
}

// appeared returns the shelf to serve if no docs were open so far and libraries now exist.
// Otherwise, it returns "". The parameter last is the index that was last opened.
func (l *docsServer) appeared(last folderState) string {
	if last != (folderState{}) {
		return ""
	}
	dir := l.shelf
	if dir == "" && l.shelfLater != nil && l.state().metadata == "" {
		dir, _ = l.shelfLater() // after an error, the next tick tries again
	}
	if dir == "" {
		return ""
	}
	state := (&Libraries{shelf: shelf.Shelf{Dir: dir}, own: l.own}).state()
	if state == l.tried {
		return "" // it is empty, or nothing in it could be opened
	}
	l.tried = state
	return dir
}

// useShelf starts to serve a shelf, and returns its state. It returns "" if no library can be
// opened.
func (l *docsServer) useShelf(dir string) (state string) {
	err := l.openShelf(dir)
	if err == nil {
		err = l.republish()
	}
	if err != nil {
		l.log.Debug("shelf not served yet", "shelf", dir, "error", err)
		return ""
	}
	libraries := l.libraries.Load()
	l.log.Info("serving the shelf", "shelf", dir, "libraries", len(libraries.Federation().Libraries()))
	return libraries.opened
}

// followShelf reloads the shelf if its state differs from the given one, and
// returns the state that is now served.
func (l *docsServer) followShelf(before string) (now string) {
	libraries := l.libraries.Load()
	now = libraries.state()
	if now == before || now == "" {
		return before
	}
	err := libraries.reload()
	if err == nil {
		err = l.republish()
	}
	if err != nil {
		l.log.Error("cannot reload the shelf; serving the old libraries", "shelf", l.shelf, "error", err)
		return before
	}
	l.log.Info("shelf reloaded", "shelf", l.shelf, "libraries", len(libraries.Federation().Libraries()))
	return now
}
