package app

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/shelf"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/tools/docs"
)

// Libraries are the open libraries of a shelf. They are used and reloaded by one
// goroutine at a time; the federations that they gave may be used concurrently.
type Libraries struct {
	shelf   shelf.Shelf
	options search.Options
	log     *slog.Logger
	open    map[string]*search.Engine // by folder
	removed []*search.Engine          // off the shelf, and maybe still asked
	current *search.Federation
	opened  string // the state of the shelf before it was opened
}

// OpenLibraries opens the libraries of the shelf in dir: those with the ids or
// names only, or all if only is empty. A library that cannot be opened is logged
// and left out. Fault "no_library": there is none, or not one of only.
func OpenLibraries(dir string, only []string, o search.Options, log *slog.Logger) (*Libraries, error) {
	l := &Libraries{shelf: shelf.Shelf{Dir: dir}, options: o, log: log, open: map[string]*search.Engine{}}
	l.opened = l.state()
	entries, err := l.list()
	if err != nil {
		return nil, err
	}
	if len(only) > 0 {
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
	if len(l.current.Libraries()) == 0 {
		return nil, fault.New("no_library", "no library in "+dir+" can be opened", "see why with deskhand list, and build them again with deskhand update")
	}
	return l, nil
}

// list is what is on the shelf; what is no library is logged.
func (l *Libraries) list() ([]shelf.Entry, error) {
	entries, problems, err := l.shelf.List()
	for _, p := range problems {
		l.log.Warn("not served", "folder", p.Folder, "reason", p.Reason)
	}
	return entries, err
}

// use makes a federation of entries, with the engines that are open already.
func (l *Libraries) use(entries []shelf.Entry) {
	var all []search.Library
	here := map[string]*search.Engine{}
	for _, e := range entries {
		engine := l.open[e.Folder]
		if engine == nil {
			var err error
			if engine, err = search.OpenWith(e.Folder, l.options); err != nil {
				l.log.Warn("library not served", "library", e.ID(), "error", err)
				continue
			}
		} else if _, err := engine.Reload(); err != nil {
			l.log.Warn("library not reloaded, the old one serves on", "library", e.ID(), "error", err)
		}
		here[e.Folder] = engine
		all = append(all, search.Library{ID: e.ID(), Name: e.Name, Version: e.Version, Engine: engine})
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
	l.open, l.current = here, search.Federate(all)
}

// Federation is over the libraries as they are now.
func (l *Libraries) Federation() *search.Federation { return l.current }

// Close closes all; nobody asks them any more.
func (l *Libraries) Close() {
	for _, engine := range l.removed {
		engine.Close()
	}
	for _, engine := range l.open {
		engine.Close()
	}
}

// state tells one state of the shelf from another: the folders, and when each
// index was written.
func (l *Libraries) state() string {
	folders, err := os.ReadDir(l.shelf.Dir)
	if err != nil {
		return "" // it is gone
	}
	var b strings.Builder
	for _, f := range folders {
		if info, err := os.Stat(filepath.Join(l.shelf.Dir, f.Name(), artifact.MetadataFile)); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", f.Name(), info.ModTime().UnixNano(), info.Size())
		}
	}
	return b.String()
}

// reload opens what is on the shelf now.
func (l *Libraries) reload() error {
	entries, err := l.list()
	if err != nil {
		return err
	}
	l.use(entries)
	return nil
}

// docsTools are the tools over what is served; none while nothing is open.
func (l *docsServer) docsTools(o docs.Options) []contract.Tool {
	switch {
	case l.libraries != nil:
		return docs.ShelfTools(l.libraries.Federation(), o)
	case l.engine != nil:
		return docs.Tools(l.engine, o)
	}
	return nil
}

// hasDocs says whether docs are open.
func (l *docsServer) hasDocs() bool { return l.engine != nil || l.libraries != nil }

// followShelf serves libraries as they come and go.
func (l *docsServer) followShelf(before string) (now string) {
	now = l.libraries.state()
	if now == before || now == "" {
		return before
	}
	err := l.libraries.reload()
	if err == nil {
		err = l.republish()
	}
	if err != nil {
		l.log.Error("shelf not reloaded, the old libraries serve on", "shelf", l.shelf, "error", err)
		return before
	}
	l.log.Info("shelf reloaded", "shelf", l.shelf, "libraries", len(l.libraries.Federation().Libraries()))
	return now
}
