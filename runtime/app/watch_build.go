package app

import (
	"context"
	"slices"
	"time"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/runtime/fault"
)

// lockWait is how long a build waits for another process that builds into the same
// folder, for example if a client starts two servers at the same time.
const lockWait = time.Minute

func (w *watcher) build(ctx context.Context) error {
	w.followPhrases()
	report, err := w.inTurn(ctx)
	if ctx.Err() == nil && !locked(err) {
		w.tellProblems(report.Problems)
	}
	if err == nil && report.FilesNew+report.FilesChanged+report.FilesDeleted > 0 {
		w.log.Info("index built", "folder", w.options.Dir, "files", report.Files, "chunks", report.Chunks,
			"new", report.FilesNew, "changed", report.FilesChanged, "deleted", report.FilesDeleted, "problems", len(report.Problems))
	}
	return err
}

// inTurn builds as soon as no other process is building into the folder. It checks
// for other processes with increasing pauses.
func (w *watcher) inTurn(ctx context.Context) (indexer.Report, error) {
	last := time.Now().Add(lockWait)
	for pause := settle; ; pause = min(2*pause, 5*time.Second) {
		report, err := w.make(ctx)
		if !locked(err) || time.Now().After(last) {
			return report, err
		}
		select {
		case <-ctx.Done():
			return report, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func locked(err error) bool {
	f := fault.Of(err)
	return f != nil && f.Code == "locked"
}

// mostProblems is the maximum number of problems logged for a build.
const mostProblems = 10

// tellProblems logs a build's problems, unless they are the same as last time.
func (w *watcher) tellProblems(problems []indexer.Problem) {
	if slices.Equal(problems, w.problems) {
		return
	}
	w.problems = problems
	for _, p := range problems[:min(mostProblems, len(problems))] {
		w.log.Warn("problem in the docs", "problem", p.String())
	}
	if more := len(problems) - mostProblems; more > 0 {
		w.log.Warn("more problems in the docs; to list them, run: deskhand index --check", "folder", w.options.Dir, "more", more)
	}
}

func (w *watcher) rebuild(ctx context.Context) {
	err := w.build(ctx)
	if err == nil || ctx.Err() != nil {
		w.failed = ""
		w.why.Store(nil)
		return
	}
	if w.why.Load() != nil {
		w.why.Store(&err)
	}
	w.tell(err)
}

// tell logs a failed build. It does not repeat the same failure.
func (w *watcher) tell(err error) {
	said := "the index build failed; serving the old index"
	if w.why.Load() != nil {
		said = "the index build failed, so the docs cannot be searched"
	}
	if err.Error() != w.failed {
		w.log.Error(said, "folder", w.options.Dir, "error", err)
	}
	w.failed = err.Error()
}
