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

// watcher builds an index from a folder whenever something in the folder changes.
type watcher struct {
	options indexer.Options
	// make builds the index into options.Out.
	make     func(context.Context) (indexer.Report, error)
	events   *fsnotify.Watcher
	log      *slog.Logger
	failed   string            // the last failure logged, so it is logged only once
	problems []indexer.Problem // the last problems logged
	// phrases is the path of the phrases file that builds read, if that file is
	// outside the folder; otherwise it is empty.
	phrases string
	// why holds the reason for which there is no index even though a build has ended.
	// It is nil if no build failed.
	why atomic.Pointer[error]
	// built is closed when the first build has ended, or has taken firstWait.
	built chan struct{}
}

const (
	// firstWait is how long lists and calls wait for the first build. Most clients ask for
	// the list of tools only once, and wait a few seconds for it.
	firstWait = 2 * time.Second
	// settle is how long a folder must be quiet before it is built, because editors and
	// checkouts write many files in a row.
	settle = 300 * time.Millisecond
	// rescan builds even without an event, because systems drop some events and not
	// every file system reports changes. A build without changes costs a few
	// percent of a full build.
	rescan = time.Minute
)

// newWatcher returns an error if dir is not a folder. It does not check whether the
// pages can be built.
func newWatcher(dir, out string, log *slog.Logger) (*watcher, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New("misuse", "--watch "+dir+": there is no such folder", "pass the docs folder")
	case err == nil && !info.IsDir():
		return nil, fault.New("misuse", "--watch "+dir+" is a file, not a folder", "pass its folder: "+filepath.Dir(dir))
	case err != nil:
		return nil, fmt.Errorf("watch: %w", err)
	}
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	w := &watcher{options: indexer.Options{Dir: dir, Out: out}, events: events, log: log, built: make(chan struct{})}
	w.make = func(ctx context.Context) (indexer.Report, error) { return indexer.Build(ctx, w.options) }
	return w, nil
}

// run builds the index, and rebuilds it on every change until ctx ends. It closes
// w.built when the first build has ended, or after firstWait.
func (w *watcher) run(ctx context.Context) {
	defer w.events.Close()
	built := sync.OnceFunc(func() { close(w.built) })
	defer time.AfterFunc(firstWait, built).Stop()
	defer built()
	w.follow(w.options.Dir)
	if err := w.build(ctx); err != nil && ctx.Err() == nil {
		if !w.servable() {
			w.why.Store(&err)
		}
		w.tell(err)
	}
	built()
	w.loop(ctx)
}

// later returns an error that says why there is no index yet.
func (w *watcher) later() error {
	if err := w.why.Load(); err != nil {
		hint := "fix the problem; the docs are checked again whenever they change"
		if f := fault.Of(*err); f != nil && f.Hint != "" {
			hint = f.Hint
		}
		return fault.New("no_index", "The docs cannot be searched because their index could not be built: "+(*err).Error()+".", hint)
	}
	f := fault.New("index_building", "The index of these docs is being built for the first time, so they cannot be searched yet.", "Call again in a few seconds.")
	f.Retryable = true
	return f
}

// servable reports whether there is an index, even a stale one.
func (w *watcher) servable() bool {
	r, err := artifact.Open(w.options.Out)
	if err == nil {
		r.Close()
	}
	return err == nil
}

// follow watches dir and its subfolders. The next rescan finds changes in folders that
// cannot be watched.
func (w *watcher) follow(dir string) {
	filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil
		}
		if path != w.options.Dir && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules") {
			return fs.SkipDir // node_modules has more folders than a system can watch
		}
		if err := w.events.Add(path); err != nil {
			w.log.Debug("cannot watch the folder", "folder", path, "error", err)
		}
		return nil
	})
}

// followPhrases watches the folder of the phrases file if it is outside the docs folder.
// Other changes in that folder do not start a build.
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

// strange reports whether path is neither in the docs nor the phrases file.
func (w *watcher) strange(path string) bool {
	return !within(w.options.Dir, path) && resolved(path) != resolved(w.phrases)
}

// within reports whether path is dir or below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(resolved(dir), resolved(path))
	return err == nil && filepath.IsLocal(rel)
}

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

// writes reports whether path is a file that a build itself writes. This matters if the
// index is inside the watched folder.
func (w *watcher) writes(path string) bool {
	name := filepath.Base(path)
	own := name == artifact.MetadataFile || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".idx")
	return own && resolved(filepath.Dir(path)) == resolved(w.options.Out)
}

// resolved returns the absolute path. It resolves symbolic links in the part of
// the path that exists.
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
