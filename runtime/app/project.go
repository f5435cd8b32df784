package app

import (
	"cmp"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/deskhand/deskhand/indexer/deps"
	"github.com/deskhand/deskhand/indexer/shelf"
)

// project is the project that a shelf is searched for. Its lock files select versions of
// the libraries.
type project struct {
	dir    string // empty if there is none
	locked deps.Locked
	failed string // the last error logged, so it is logged only once
	looked time.Time
	seen   string
}

// read reads the lock files. Problems are only logged, because the libraries can be
// searched without lock files.
func (p *project) read(log *slog.Logger) {
	if p.dir == "" {
		return
	}
	dir, err := filepath.Abs(p.dir)
	if err == nil {
		p.locked, err = deps.ReadLocked(dir)
	}
	why := ""
	if err != nil {
		why = err.Error()
	}
	if why != "" && why != p.failed {
		log.Warn("ignored a lock file that selects versions of libraries", "error", why)
	}
	p.failed = why
}

// lockEvery is how often lock files are checked for changes.
const lockEvery = time.Second

// state identifies the contents of the lock files, as of at most lockEvery ago.
func (p *project) state() string {
	if p.dir == "" || time.Since(p.looked) < lockEvery {
		return p.seen
	}
	if dir, err := filepath.Abs(p.dir); err == nil {
		p.looked, p.seen = time.Now(), deps.LockState(dir)
	}
	return p.seen
}

// last returns the entries with the project's own behind all others, because the last of
// several versions is the one that a name alone selects.
func (p *project) last(entries []shelf.Entry) []shelf.Entry {
	rank := func(e shelf.Entry) int {
		if p.locked.Has(e) {
			return 1
		}
		return 0
	}
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b shelf.Entry) int { return cmp.Compare(rank(a), rank(b)) })
	return entries
}
