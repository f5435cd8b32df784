package main

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/artifact"
)

// watcher builds an index from a folder whenever something in it changes.
type watcher struct {
	options indexer.Options
	events  *fsnotify.Watcher
	log     *slog.Logger
	failed  string // the last failure told, so that it is told once
}

// settle is how long a folder must be quiet before it is built: editors and
// checkouts write many files in a row.
const settle = 300 * time.Millisecond

// rescan builds even without an event: systems drop some, and not every file
// system tells. An unchanged build costs a few percent of a full one.
const rescan = time.Minute

func newWatcher(dir, out string, log *slog.Logger) (*watcher, error) {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	return &watcher{options: indexer.Options{Dir: dir, Out: out}, events: events, log: log}, nil
}

func (w *watcher) close() { w.events.Close() }

// first builds before anything is served; an index that is there already can
// serve while a folder that does not build is mended.
func (w *watcher) first(ctx context.Context) error {
	w.follow(w.options.Dir)
	err := w.build(ctx)
	if err == nil {
		return nil
	}
	if r, openErr := artifact.Open(w.options.Out); openErr == nil {
		w.log.Error("index not built, the old one serves", "folder", w.options.Dir, "error", err)
		return r.Close()
	}
	return err
}

func (w *watcher) build(ctx context.Context) error {
	report, err := indexer.Build(ctx, w.options)
	if err != nil {
		return err
	}
	for _, p := range report.Problems {
		w.log.Debug("problem in corpus", "problem", p.String())
	}
	if report.FilesNew+report.FilesChanged+report.FilesDeleted > 0 {
		w.log.Info("index built", "folder", w.options.Dir, "files", report.Files, "chunks", report.Chunks,
			"new", report.FilesNew, "changed", report.FilesChanged, "deleted", report.FilesDeleted, "problems", len(report.Problems))
	}
	return nil
}

// follow watches dir and the folders below it. What cannot be watched is found
// by the next rescan.
func (w *watcher) follow(dir string) {
	filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil
		}
		if path != w.options.Dir && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		if err := w.events.Add(path); err != nil {
			w.log.Debug("folder not watched", "folder", path, "error", err)
		}
		return nil
	})
}

// run rebuilds until ctx ends.
func (w *watcher) run(ctx context.Context) {
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
			if event.Has(fsnotify.Create) {
				w.follow(event.Name)
			}
			if !event.Has(fsnotify.Chmod) || event.Op != fsnotify.Chmod {
				timer.Reset(settle)
			}
		case err := <-w.events.Errors:
			w.log.Debug("watch", "folder", w.options.Dir, "error", err)
			timer.Reset(settle)
		case <-timer.C:
			w.rebuild(ctx)
			timer.Reset(rescan)
		}
	}
}

func (w *watcher) rebuild(ctx context.Context) {
	err := w.build(ctx)
	if err == nil || ctx.Err() != nil {
		w.failed = ""
		return
	}
	if err.Error() != w.failed {
		w.log.Error("index not built, the old one serves on", "folder", w.options.Dir, "error", err)
	}
	w.failed = err.Error()
}
