package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/fault"
)

// watcher builds an index from a folder whenever something in it changes.
type watcher struct {
	options  indexer.Options
	events   *fsnotify.Watcher
	log      *slog.Logger
	failed   string            // the last failure told, so that it is told once
	problems []indexer.Problem // the last ones told
	// phrases is a file that builds read and that lies outside of the folder;
	// empty: none.
	phrases string
	// why there is no index though a build has ended; nil: none has failed.
	why atomic.Pointer[error]
}

const (
	// firstWait is how long the first build may hold up serving: clients give a
	// server some seconds to answer.
	firstWait = 2 * time.Second
	// settle is how long a folder must be quiet before it is built: editors and
	// checkouts write many files in a row.
	settle = 300 * time.Millisecond
	// rescan builds even without an event: systems drop some, and not every file
	// system tells. An unchanged build costs a few percent of a full one.
	rescan = time.Minute
)

// newWatcher refuses a dir that is no folder; that its pages cannot be built is
// found out later.
func newWatcher(dir, out string, log *slog.Logger) (*watcher, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New("misuse", "--watch "+dir+": there is no such folder", "name the docs folder")
	case err == nil && !info.IsDir():
		return nil, fault.New("misuse", "--watch "+dir+" is a file, not a folder", "name the folder it lies in: "+filepath.Dir(dir))
	case err != nil:
		return nil, fmt.Errorf("watch: %w", err)
	}
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	return &watcher{options: indexer.Options{Dir: dir, Out: out}, events: events, log: log}, nil
}

// run builds, and again on every change until ctx ends. It calls ready once:
// when the first build has ended, or after firstWait. ready's error says that
// the first build failed before that and that there is no earlier index.
func (w *watcher) run(ctx context.Context, ready func(error)) {
	defer w.events.Close()
	var once sync.Once
	early := time.AfterFunc(firstWait, func() { once.Do(func() { ready(nil) }) })
	defer early.Stop()
	w.follow(w.options.Dir)
	err := w.build(ctx)
	if err != nil && ctx.Err() == nil && w.servable() {
		w.tell(err)
		err = nil
	}
	serves := true
	once.Do(func() {
		serves = err == nil
		ready(err)
	})
	if !serves {
		return
	}
	if err != nil && ctx.Err() == nil {
		w.why.Store(&err)
		w.tell(err)
	}
	w.loop(ctx)
}

// later is why there is no index yet.
func (w *watcher) later() error {
	if err := w.why.Load(); err != nil {
		hint := "fix it: the docs are checked again whenever they change"
		if f := fault.Of(*err); f != nil && f.Hint != "" {
			hint = f.Hint
		}
		return fault.New("no_index", "The docs cannot be searched, as their index could not be built: "+(*err).Error()+".", hint)
	}
	f := fault.New("index_building", "The index of these docs is being built for the first time, so they cannot be searched yet.", "Call again in a few seconds.")
	f.Retryable = true
	return f
}

// servable says that an index is there, if an older one.
func (w *watcher) servable() bool {
	r, err := artifact.Open(w.options.Out)
	if err == nil {
		r.Close()
	}
	return err == nil
}

// follow watches dir and the folders below it. What cannot be watched is found
// by the next rescan.
func (w *watcher) follow(dir string) {
	filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil
		}
		if path != w.options.Dir && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules") {
			return fs.SkipDir // node_modules has more folders than a system watches
		}
		if err := w.events.Add(path); err != nil {
			w.log.Debug("cannot watch the folder", "folder", path, "error", err)
		}
		return nil
	})
}

// followPhrases watches the folder of the file of phrases if the docs' folder does
// not have it. What else happens there is none of a build's business.
func (w *watcher) followPhrases() {
	file, err := indexer.PhrasesPath(w.options)
	if err != nil || file == "" || within(w.options.Dir, file) {
		w.phrases = ""
		return
	}
	if w.phrases != file {
		if err := w.events.Add(filepath.Dir(file)); err != nil {
			w.log.Debug("cannot watch the folder", "folder", filepath.Dir(file), "error", err)
		}
	}
	w.phrases = file
}

// strange says that path is outside of the docs, and not the file of phrases.
func (w *watcher) strange(path string) bool {
	return !within(w.options.Dir, path) && resolved(path) != resolved(w.phrases)
}

// within says whether path is dir or below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(resolved(dir), resolved(path))
	return err == nil && filepath.IsLocal(rel)
}

// loop rebuilds until ctx ends.
func (w *watcher) loop(ctx context.Context) {
	timer := time.NewTimer(rescan)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event, ok := <-w.events.Events:
			if !ok {
				return
			}
			if event.Op == fsnotify.Chmod || w.writes(event.Name) || w.strange(event.Name) {
				continue
			}
			if event.Has(fsnotify.Create) {
				w.follow(event.Name)
			}
			timer.Reset(settle)
		case err, ok := <-w.events.Errors:
			if !ok {
				return
			}
			w.log.Debug("watch", "folder", w.options.Dir, "error", err)
			timer.Reset(settle)
		case <-timer.C:
			w.rebuild(ctx)
			timer.Reset(rescan)
		}
	}
}

// writes says whether path is a file that a build itself writes, when the index
// lies in the folder that is watched.
func (w *watcher) writes(path string) bool {
	name := filepath.Base(path)
	own := name == artifact.MetadataFile || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".idx")
	return own && resolved(filepath.Dir(path)) == resolved(w.options.Out)
}

// resolved is path made absolute, without links as far as it exists.
func resolved(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if up := filepath.Dir(path); up != path {
		return filepath.Join(resolved(up), filepath.Base(path))
	}
	return path
}
