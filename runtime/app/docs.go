package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/gaps"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/tools/docs"
	"github.com/deskhand/deskhand/runtime/web/views"
)

// docsServer serves an index that may be replaced while the server runs, and publishes
// the tools for its corpus.
type docsServer struct {
	dir       string
	tools     docs.Options
	searching search.Options
	more      []contract.Tool // tools served in addition to the docs tools
	advice    []string        // instructions for the tools in more
	views     *views.Views    // shown by clients next to calls; nil if there are none
	door      *upstreamDoor   // the upstreams, whose tools are also served; nil if there are none
	publish   sync.Mutex      // held while a new catalog is published
	log       *slog.Logger
	engine    *search.Engine // nil until open
	shelf     string         // served instead of dir; empty if there is none
	only      []string       // the shelf's libraries to serve; if empty, all of them
	own       string         // an index to serve with the shelf; may be empty
	project   string         // folder of the project whose lock files select versions; may be empty
	beside    string         // a shelf that is not served because dir is; may be empty
	// shelfLater returns the shelf to serve if there is no index, or "". It may be nil.
	shelfLater func() (string, error)
	libraries  atomic.Pointer[Libraries] // nil until open, or if there is no shelf
	tried      string                    // state of the last shelf that follow tried to serve
	server     *mcpserver.Server
	// The function later returns an error that says why there are no docs yet. If
	// it is nil, missing docs are an error.
	later func() error
	// opened is the folder's state before it was opened, so the server notices a
	// build that ends in the meantime.
	opened folderState
	// Both are nil if this server builds no index itself: built is closed when the first
	// build has ended or has taken long, and current once what was built is served.
	built, current chan struct{}
}

// openEngine opens the index or the shelf. If neither exists and l.later is set, the docs
// tools answer with the error of l.later until an index or a shelf exists.
func (l *docsServer) openEngine() (err error) {
	if l.shelf != "" {
		err = l.openShelf(l.shelf)
	} else {
		l.opened = l.state()
		l.engine, err = search.OpenWith(l.dir, l.searching)
	}
	if f := fault.Of(err); f != nil && (f.Code == "no_artifact" || f.Code == "no_library") && l.later != nil {
		l.opened, l.engine = folderState{}, search.OpenLater(l.dir, l.searching, l.later)
		return nil
	}
	return err
}

func (l *docsServer) open(o mcpserver.Options) error {
	if err := l.openEngine(); err != nil {
		return err
	}
	if err := l.serve(o); err != nil {
		l.close()
		l.engine = nil
		l.libraries.Store(nil)
		return err
	}
	l.tellOfIndex()
	return nil
}

// serve creates the MCP server from the current catalog.
func (l *docsServer) serve(o mcpserver.Options) error {
	l.publish.Lock()
	defer l.publish.Unlock()
	catalog, err := l.catalog()
	if err == nil {
		o.Expected = Expected
		l.server, err = mcpserver.New(o, catalog)
		if l.door != nil && err == nil {
			l.door.relist = l.server.PersonalChanged
		}
	}
	return err
}

// republish replaces the server's catalog with the current one.
func (l *docsServer) republish() error {
	l.publish.Lock()
	defer l.publish.Unlock()
	if l.server == nil {
		return nil // serve will read the current catalog
	}
	catalog, err := l.catalog()
	if err == nil {
		err = l.server.Replace(catalog)
	}
	if err != nil {
		return fmt.Errorf("publish tools: %w", err)
	}
	return nil
}

// changed republishes the catalog after an upstream's tools have changed.
func (l *docsServer) changed() {
	if err := l.republish(); err != nil {
		l.log.Error("cannot publish the upstreams' tools", "error", err)
	}
}

// catalog returns everything that is served. It omits an upstream's tool if the tool's
// name is already taken.
func (l *docsServer) catalog() (c contract.Catalog, err error) {
	switch {
	case l.libraries.Load() != nil:
		c = docs.ShelfCatalog(l.libraries.Load().Federation(), l.tools)
	case l.engine != nil:
		c, err = docs.Catalog(l.engine, l.tools)
	}
	c.Tools = append(c.Tools, l.more...)
	if l.views != nil && err == nil {
		l.views.Enter(&c)
	}
	if err == nil {
		scoped(&c, l.tools.Prefix)
	}
	l.instruct(&c)
	if l.door == nil || err != nil {
		return c, err
	}
	for _, t := range l.door.Tools() {
		if slices.ContainsFunc(c.Tools, func(own contract.Tool) bool { return own.Name == t.Name }) {
			l.log.Warn("skipped an upstream's tool because its name is taken: set a prefix for the upstream", "tool", t.Name)
			continue
		}
		c.Tools = append(c.Tools, t)
	}
	if len(l.door.personal.Upstreams) > 0 {
		c.ToolsOf, c.ElsewhereOf = l.door.toolsOf, l.door.elsewhereOf
	}
	c.Elsewhere = l.door.Elsewhere(
		func(name string) bool {
			return slices.ContainsFunc(c.Prompts, func(own contract.Prompt) bool { return own.Name == name })
		},
		func(uri string) bool {
			return slices.ContainsFunc(c.Resources, func(own contract.Resource) bool { return own.URI == uri })
		})
	return c, nil
}

// tellOfIndex logs a warning if the index's vectors are unusable or its
// description was edited.
func (l *docsServer) tellOfIndex() {
	if l.libraries.Load() != nil {
		return
	}
	if l.engine.Metadata().Edited() {
		l.log.Warn("corpus_description in metadata.json was changed after the build; deskhand serves the changed text. To restore it, run: deskhand index", "index", l.dir)
	}
	if l.beside != "" {
		l.log.Info("serving the index only; the libraries on the shelf are not served", "index", l.dir, "shelf", l.beside, "hint", "to serve the libraries instead, run: deskhand serve --shelf "+l.beside)
		l.beside = "" // once is enough
	}
	if err := l.engine.Mute(); err != nil {
		l.log.Warn("keyword search only", "index", l.dir, "error", err)
	}
}

// recorder returns a function that records questions for which a search of the index in
// dir found little. If recording fails, the search still answers; only the first
// failure is logged.
func (a *App) recorder(dir string) (func(query string, filters map[string]string, found search.Found), error) {
	state, err := a.config.StateDir.Get()
	if err != nil {
		return nil, err
	}
	log, failed := gaps.In(state), sync.Once{}
	return func(query string, filters map[string]string, found search.Found) {
		if err := log.Add(dir, query, filters, found); err != nil {
			failed.Do(func() { a.log.Warn("cannot record questions with poor results", "error", err) })
		}
	}, nil
}

// close closes the index. Call close after the last search.
func (l *docsServer) close() {
	if libraries := l.libraries.Load(); libraries != nil {
		libraries.Close()
	}
	if l.engine == nil {
		return
	}
	if err := l.engine.Close(); err != nil {
		l.log.Warn("cannot close the index", "index", l.dir, "error", err)
	}
}

// folderState identifies the contents of an index folder by the sizes and
// modification times of metadata.json and the data files. The field metadata is
// empty if there is no metadata.json.
type folderState struct{ metadata, data string }

func (l *docsServer) state() folderState {
	var s folderState
	if info, err := os.Stat(filepath.Join(l.dir, artifact.MetadataFile)); err == nil {
		s.metadata = fileState(info)
	}
	files, _ := filepath.Glob(filepath.Join(l.dir, "index-*.idx")) // fails only for a bad pattern
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			s.data += info.Name() + fileState(info)
		}
	}
	return s
}

func fileState(info os.FileInfo) string {
	return fmt.Sprintf(" %d %d\n", info.ModTime().UnixNano(), info.Size())
}

// followEvery is how often the folder is checked for a new index.
const followEvery = 500 * time.Millisecond

// follow replaces the served index when the folder contains a new index, until ctx
// ends. When built is closed it does so immediately, and then closes current.
func (l *docsServer) follow(ctx context.Context) {
	f := &follower{docsServer: l, last: l.opened, gone: l.opened.metadata == ""}
	if libraries := l.libraries.Load(); libraries != nil {
		f.shelved = libraries.opened
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	built := l.built
	for {
		select {
		case <-ctx.Done():
			if built != nil {
				close(l.current)
			}
			return
		case <-tick.C:
			f.look()
		case <-built:
			f.look()
			built = nil
			close(l.current)
		}
	}
}

// follower knows which index or shelf its docsServer served last.
type follower struct {
	*docsServer
	last    folderState // of the index
	failed  error       // why the index in the state last was not opened
	gone    bool        // there is no index, and this was logged
	shelved string      // state of the shelf
}

// look replaces the served index or shelf if there is a new one. If a new index cannot be
// opened, look retries when any of its files has changed, because a program that copies
// an index may write metadata.json before the data file.
func (f *follower) look() {
	if f.libraries.Load() != nil {
		f.shelved = f.followShelf(f.shelved)
		return
	}
	if shelf := f.appeared(f.last); shelf != "" {
		f.shelved = f.useShelf(shelf)
		return
	}
	if f.shelf != "" {
		return // the index folder is not served
	}
	now := f.state()
	if f.gone = f.logGone(f.gone, now); f.gone || now.metadata == f.last.metadata && (f.failed == nil || now.data == f.last.data) {
		return
	}
	f.last = now
	err := f.reload()
	if err != nil && (f.failed == nil || err.Error() != f.failed.Error()) {
		f.log.Error("cannot reload the index; serving the old one", "index", f.dir, "error", err)
	}
	f.failed = err
}

// logGone logs, once, that the folder no longer holds an index.
func (l *docsServer) logGone(before bool, now folderState) (gone bool) {
	gone = now.metadata == ""
	if gone && !before {
		l.log.Warn("the index folder no longer exists; serving the open index", "index", l.dir)
	}
	return gone
}

// reload switches to the folder's current index and publishes the tools for its corpus.
func (l *docsServer) reload() error {
	changed, err := l.engine.Reload()
	if err != nil || !changed {
		return err
	}
	if err := l.republish(); err != nil {
		return err
	}
	stats := l.engine.Metadata().Stats
	l.log.Info("index reloaded", "index", l.dir, "files", stats.TotalFiles, "chunks", stats.TotalChunks)
	l.tellOfIndex()
	return nil
}
