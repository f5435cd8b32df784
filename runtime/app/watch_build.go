package app

import (
	"context"
	"slices"
	"time"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/runtime/fault"
)

// lockWait is how long a build waits for another process that builds into the
// same folder, as when a client starts two servers at once.
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

// inTurn builds once no other process does, waiting for it with longer and
// longer pauses.
func (w *watcher) inTurn(ctx context.Context) (indexer.Report, error) {
	last := time.Now().Add(lockWait)
	for pause := settle; ; pause = min(2*pause, 5*time.Second) {
		report, err := indexer.Build(ctx, w.options)
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

// mostProblems is how many problems of a build are logged.
const mostProblems = 10

// tellProblems logs what is wrong with files, unless it is what was wrong
// before.
func (w *watcher) tellProblems(problems []indexer.Problem) {
	if slices.Equal(problems, w.problems) {
		return
	}
	w.problems = problems
	for _, p := range problems[:min(mostProblems, len(problems))] {
		w.log.Warn("problem in the docs", "problem", p.String())
	}
	if more := len(problems) - mostProblems; more > 0 {
		w.log.Warn("more problems in the docs; deskhand index --check lists them", "folder", w.options.Dir, "more", more)
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

// tell logs a failed build, each failure once.
func (w *watcher) tell(err error) {
	said := "the index build failed, serving the old index"
	if w.why.Load() != nil {
		said = "the index build failed, so the docs cannot be searched"
	}
	if err.Error() != w.failed {
		w.log.Error(said, "folder", w.options.Dir, "error", err)
	}
	w.failed = err.Error()
}
