package tasks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// GC removes worktrees that have not been used for a while. Branches stay, and
// a follow-up creates the worktree again. GC keeps worktrees that are in use.
// It also keeps a worktree if its work is not on the branch, or if no ref would
// reach its commits. A dry run only reports.
func (m *Manager) GC(ctx context.Context, g GC) (report GCReport, err error) {
	if g.AttemptID != "" {
		c, err := m.checkoutOf(ctx, g.AttemptID)
		if err != nil {
			return GCReport{}, err
		}
		g.AttemptID = c.ID
	}
	if err := m.clearLeftovers(ctx); err != nil {
		m.options.Log.Warn("cannot remove the remaining files of deleted attempts", "error", err)
	}
	if m.host != "" && !g.DryRun && g.AttemptID == "" {
		if err := m.pruneShared(ctx); err != nil {
			m.options.Log.Warn("cannot remove shared commits that are no longer needed", "error", err)
		}
	}
	found, now, err := m.worktrees(ctx)
	if err != nil {
		return GCReport{}, err
	}
	for _, f := range found {
		if g.AttemptID != "" && f.ID != g.AttemptID {
			continue
		}
		if f.item.Bytes, err = f.tree.Size(ctx); err != nil {
			return report, err
		}
		if f.item.Kept = m.reasonToRetain(g, f, now); f.item.Kept == "" {
			f.item.Ignored, f.item.Kept = reasonToKeep(ctx, g, f.tree)
		}
		if f.item.Kept == "" && !g.DryRun {
			f.item.Kept = m.collect(ctx, f.checkout)
		}
		f.item.Removed = f.item.Kept == ""
		report.Bytes += f.item.Bytes
		if f.item.Removed {
			report.Freed += f.item.Bytes
		}
		report.Worktrees = append(report.Worktrees, f.item)
	}
	if g.AttemptID == "" {
		left, err := m.leftoverItems(ctx)
		if err != nil {
			return report, err
		}
		for _, item := range left {
			report.Bytes += item.Bytes
			report.Worktrees = append(report.Worktrees, item)
		}
	}
	return report, nil
}

// reasonToKeep returns the files that git ignores in an attempt's folder. It
// also returns the reason why the folder's content prevents removal, or "" if
// nothing does.
func reasonToKeep(ctx context.Context, g GC, tree worktree.Tree) (ignored []string, why string) {
	s, err := tree.Survey(ctx)
	switch {
	case err != nil:
		return nil, errorText(err)
	case len(s.Holds) > 0:
		return s.Ignored, strings.Join(s.Holds, "; ")
	case g.KeepIgnored && len(s.Ignored) > 0:
		return s.Ignored, fmt.Sprintf("it contains %d files or folders that git ignores", len(s.Ignored))
	}
	return s.Ignored, ""
}

// leftoverItems returns the folders of deleted attempts that could not be
// removed.
func (m *Manager) leftoverItems(ctx context.Context) (items []GCItem, err error) {
	left, err := m.leftovers(ctx)
	if err != nil {
		return nil, err
	}
	for id, l := range left {
		item := GCItem{AttemptID: id, Title: "(deleted)", Status: Cancelled, Dir: l.Tree.Dir}
		if item.Bytes, err = l.Tree.Size(ctx); err != nil {
			return nil, err
		}
		if item.Ignored, item.Kept = reasonToKeep(ctx, GC{}, l.Tree); item.Kept == "" {
			item.Kept = "it could not be removed; deskhand will retry"
		}
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b GCItem) int { return strings.Compare(a.AttemptID, b.AttemptID) })
	return items, nil
}

// usedTree is a worktree, with data about its use for GC.
type usedTree struct {
	checkout
	item    GCItem
	running bool
}

func (m *Manager) worktrees(ctx context.Context) (found []usedTree, now time.Time, err error) {
	err = m.db.View(ctx, func(tx *store.Tx) error {
		now = tx.Now
		attempts, err := all(ctx, tx, scanAttempt, "SELECT "+attemptColumns+" FROM attempts a WHERE a.host = ? ORDER BY a.created_at, a.id", m.host)
		if err != nil {
			return err
		}
		for _, a := range attempts {
			if _, err := os.Lstat(a.Dir); err != nil && a.removed != 0 {
				continue // it is already removed; an interrupted removal is repeated
			}
			c, err := readCheckout(ctx, tx, a.ID)
			if err != nil {
				return err
			}
			t, err := readTask(ctx, tx, a.TaskID)
			if err != nil {
				return err
			}
			p, err := latestProcess(ctx, tx, a.ID)
			if err != nil {
				return err
			}
			u := usedTree{checkout: c, running: p != nil && !p.State.Ended()}
			u.item = GCItem{AttemptID: a.ID, TaskID: t.ID, Title: t.Title, Status: t.Status, Dir: a.Dir, LastUsed: a.Updated}
			found = append(found, u)
		}
		return nil
	})
	return found, now, err
}

// reasonToRetain returns the reason why a worktree must stay because of its
// age, status or use. It returns "" if GC may remove the worktree.
func (m *Manager) reasonToRetain(g GC, u usedTree, now time.Time) string {
	age, limit := now.Sub(u.item.LastUsed), g.OlderThan
	if limit == 0 && g.AttemptID == "" {
		retain, ok := m.options.Retain[u.item.Status]
		if !ok {
			return fmt.Sprintf("its task is %s", u.item.Status)
		}
		limit = retain
	}
	switch {
	case u.running:
		return "it is running"
	case g.AttemptID == "" && age < limit:
		return fmt.Sprintf("it was used %v ago", age.Round(time.Second))
	}
	return ""
}

// collect removes a worktree, or returns the reason why it cannot. It first
// marks the row, under the lock. A process that starts in the meantime waits,
// and then creates the worktree again.
func (m *Manager) collect(ctx context.Context, c checkout) (kept string) {
	unlock, err := m.lockTree(ctx, c.ID)
	if err != nil {
		return err.Error()
	}
	defer unlock()
	mark := func(removed int) (bool, error) {
		marked := false
		err := m.db.Update(ctx, func(tx *store.Tx) error {
			p, err := latestProcess(ctx, tx, c.ID)
			if err != nil || p != nil && !p.State.Ended() {
				return err
			}
			marked = true
			_, err = tx.Exec(ctx, "UPDATE attempts SET removed = ? WHERE id = ?", removed, c.ID)
			return err
		})
		return marked, err
	}
	marked, err := mark(1)
	if err == nil && !marked {
		return "it is running"
	}
	if err == nil {
		m.stopDev(ctx, c.ID)
		killOrphans(c.ID) // nothing may write into the folder any more
		err = c.tree.Remove(ctx, false)
	}
	if err == nil {
		if err := m.forgetShared(ctx, c); err != nil {
			m.options.Log.Warn("cannot remove shared commits", "attempt_id", c.ID, "error", err)
		}
		if l := c.landed; l != nil && l.State == LandingDone && !l.KeepBranch {
			c.tree.DropLanded(ctx)
		}
		if err := m.removeSpools(ctx, c.ID); err != nil {
			m.options.Log.Warn("cannot remove spools", "attempt_id", c.ID, "error", err)
		}
		return ""
	}
	if _, e := mark(0); e != nil {
		err = errors.Join(err, e)
	}
	return err.Error()
}

// removeSpools removes the spool files of an attempt's runs. The files' content
// is in the log.
func (m *Manager) removeSpools(ctx context.Context, attemptID string) error {
	processes, err := m.Processes(ctx, attemptID)
	if err != nil {
		return err
	}
	var problems []error
	for _, p := range processes {
		if p.State.Ended() {
			problems = append(problems, os.RemoveAll(m.runDir(p.ID)))
		}
	}
	return errors.Join(problems...)
}
