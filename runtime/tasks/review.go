package tasks

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// AgainstTarget is a value of [ReviewQuery].With. It compares with the current
// target.
const AgainstTarget = "target"

// ReviewQuery specifies which attempt to review, and what to compare it with.
type ReviewQuery struct {
	AttemptID string
	// With selects what to compare with. If it is empty, the review shows what
	// the attempt itself has changed. Otherwise it is AgainstTarget, or the ID
	// of another attempt at the same task; the commits of the two attempts are
	// then compared.
	With string
	// Force also lists files that the guard would block.
	Force bool
	// NoSpace ignores changes of white space in the comparison of a file.
	NoSpace bool
	// Show reports whether [Manager.Review] also compares a file. Review calls it
	// for each file, in order. Nil means that no file is compared.
	Show func(c Change, viewed bool) bool
}

// Review lists an attempt's changes for a person to review.
type Review struct {
	Changes
	// Marks holds a fingerprint of each file's content, by path.
	Marks map[string]string
	// Viewed lists the files whose current content a person has marked as viewed.
	Viewed map[string]bool
	// Diffs holds the comparisons of the files that [ReviewQuery].Show selected, by path.
	Diffs map[string]worktree.Diff
}

// Review returns the changes of an attempt. The guard allows at least what
// [worktree.Relaxed] does, because a page loads most lines when they are needed. Faults: those of [Manager.Changes],
// and not_found if the attempt or branch to compare with does not exist.
func (m *Manager) Review(ctx context.Context, q ReviewQuery) (r Review, err error) {
	c, tree, err := m.compared(ctx, q)
	if err != nil {
		return r, err
	}
	seen, err := m.Viewed(ctx, c.ID)
	if err != nil {
		return r, err
	}
	r.Marks, r.Viewed = map[string]string{}, map[string]bool{}
	var found worktree.Changes
	found, r.Diffs, err = tree.ChangesWith(ctx, m.options.Guard.AtLeast(worktree.Relaxed), q.Force, q.NoSpace, func(files []worktree.FileChange) (shown []worktree.FileChange) {
		r.Marks = tree.Marks(files)
		for _, f := range files {
			r.Viewed[f.Path] = seen[f.Path] == r.Marks[f.Path]
			if q.Show != nil && q.Show(changeOf(f), r.Viewed[f.Path]) {
				shown = append(shown, f)
			}
		}
		return shown
	})
	r.Changes = changesOf(c, found)
	return r, err
}

// ReviewFile compares one file. path is as in [Review]. ok is false if the file
// has not changed.
func (m *Manager) ReviewFile(ctx context.Context, q ReviewQuery, path string) (d worktree.Diff, mark string, ok bool, err error) {
	_, tree, err := m.compared(ctx, q)
	if err != nil {
		return d, "", false, err
	}
	if d, ok, err = tree.Diff(ctx, path, q.NoSpace); err != nil || !ok {
		return d, "", false, err
	}
	return d, tree.Marks([]worktree.FileChange{d.FileChange})[d.Path], true, nil
}

// compared returns an attempt's checkout, and its tree set up for the comparison.
func (m *Manager) compared(ctx context.Context, q ReviewQuery) (c checkout, tree worktree.Tree, err error) {
	if c, err = m.reachable(ctx, q.AttemptID); err != nil || q.With == "" {
		return c, c.tree, err
	}
	commit := func(r worktree.Repo) (string, error) { return r.Resolve(ctx, r.Target) }
	if q.With != AgainstTarget {
		other, err := m.reachable(ctx, q.With)
		if err != nil {
			return c, tree, err
		}
		if other.TaskID != c.TaskID {
			return c, tree, refuse(NotFound, "choose an attempt at the same task", "attempt %s belongs to another task", q.With)
		}
		commit = func(r worktree.Repo) (string, error) {
			for _, o := range other.tree.Repos {
				if o.Name == r.Name && o.Ref != "" {
					return other.tree.Tip(ctx, o)
				}
			}
			return r.Resolve(ctx, other.tree.Branch)
		}
	}
	commits := map[string]string{}
	for _, r := range c.tree.Repos {
		if commits[r.Name], err = commit(r); err != nil {
			return c, tree, err
		}
	}
	return c, c.tree.Against(commits), nil
}

// Viewed returns the files that people have viewed, with the mark of the content that
// they saw.
func (m *Manager) Viewed(ctx context.Context, attemptID string) (seen map[string]string, err error) {
	seen = map[string]string{}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		rows, err := all(ctx, tx, func(row scanner) (one [2]string, err error) { return one, row.Scan(&one[0], &one[1]) },
			"SELECT path, mark FROM viewed WHERE attempt_id = ?", attemptID)
		for _, one := range rows {
			seen[one[0]] = one[1]
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the viewed files: %w", err)
	}
	return seen, nil
}

// SetViewed records that a person has viewed a file with the content that mark
// identifies. An empty mark removes the record.
func (m *Manager) SetViewed(ctx context.Context, attemptID, path, mark string) error {
	return m.reviewing(ctx, attemptID, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM viewed WHERE attempt_id = ? AND path = ?", attemptID, path)
		if err == nil && mark != "" {
			_, err = tx.Exec(ctx, "INSERT INTO viewed (attempt_id, path, mark, viewed_at) VALUES (?, ?, ?, ?)", attemptID, path, mark, millis(tx.Now))
		}
		return err
	})
}

// Comment is a person's comment on lines of a file in an attempt.
type Comment struct {
	ID, AttemptID string
	Path          string // as in [Change]
	Old           bool   // the lines are those of the old file
	First, Last   int    // lines, counted from 1, inclusive; 0 means the whole file
	Quote         string // the lines' text when the comment was written
	Opposite      string // digest of the new lines that replaced old ones when the comment was written; empty if unknown
	Body          string
	Rev           int64     // incremented by each change; 0 for a new comment
	Sent          time.Time // zero for a draft
	Created       time.Time
}

// Comments returns an attempt's comments, oldest first.
func (m *Manager) Comments(ctx context.Context, attemptID string) (found []Comment, err error) {
	err = m.db.View(ctx, func(tx *store.Tx) error {
		if err := withinAttempt(ctx, tx, attemptID, "attempt_id", attemptID); err != nil {
			return err
		}
		found, err = all(ctx, tx, scanComment, "SELECT "+commentColumns+" FROM comments WHERE attempt_id = ? ORDER BY created_at, id", attemptID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read comments: %w", err)
	}
	return found, nil
}

const commentColumns = "id, attempt_id, path, old_side, first_line, last_line, quote, opposite, body, rev, sent_at, created_at"

func scanComment(row scanner) (c Comment, err error) {
	var old int
	var sent, created int64
	err = row.Scan(&c.ID, &c.AttemptID, &c.Path, &old, &c.First, &c.Last, &c.Quote, &c.Opposite, &c.Body, &c.Rev, &sent, &created)
	c.Old, c.Created = old == 1, at(created)
	if sent != 0 {
		c.Sent = at(sent)
	}
	return c, err
}

// maxComment is the maximum length of a comment in bytes. A longer quote is truncated.
const maxComment = 32 << 10

// maxOpposite is the maximum length of a comment's Opposite in bytes.
const maxOpposite = 64

// PutComment stores a draft. If the ID is new or empty, PutComment creates the
// draft; otherwise it replaces the draft's body. If c.Rev is not 0, it is the
// revision that was edited. If the stored draft has changed since that
// revision, or was sent, PutComment leaves it unchanged and returns it with the
// fault idempotency_conflict.
func (m *Manager) PutComment(ctx context.Context, c Comment) (now Comment, err error) {
	if c.ID == "" {
		c.ID = newID()
	}
	if c.ID, err = parseID("comment_id", c.ID); err != nil {
		return now, err
	}
	if err := checkText("comment", c.Body, maxComment); err != nil {
		return now, err
	}
	c.Quote = strings.ToValidUTF8(c.Quote[:min(len(c.Quote), maxComment)], "")
	c.Opposite = strings.ToValidUTF8(c.Opposite[:min(len(c.Opposite), maxOpposite)], "")
	err = m.reviewing(ctx, c.AttemptID, func(tx *store.Tx) error {
		before, err := all(ctx, tx, scanComment, "SELECT "+commentColumns+" FROM comments WHERE id = ? AND attempt_id = ?", c.ID, c.AttemptID)
		if err != nil {
			return err
		}
		if len(before) == 0 {
			c.Rev, c.Created, now = 1, tx.Now, c
			now.Rev, now.Created = 1, tx.Now
			_, err = tx.Exec(ctx, "INSERT INTO comments ("+commentColumns+", updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, ?, ?)",
				c.ID, c.AttemptID, c.Path, flag(c.Old), c.First, c.Last, c.Quote, c.Opposite, c.Body, millis(tx.Now), millis(tx.Now))
			return err
		}
		now = before[0]
		if !now.Sent.IsZero() {
			return refuse(Conflict, "write another comment", "this comment was already sent")
		}
		if c.Rev != 0 && c.Rev != now.Rev && c.Body != now.Body {
			return refuse(Conflict, "choose one of the two texts", "this comment was changed elsewhere")
		}
		now.Body, now.Rev = c.Body, now.Rev+1
		_, err = tx.Exec(ctx, "UPDATE comments SET body = ?, rev = rev + 1, updated_at = ? WHERE id = ?", c.Body, millis(tx.Now), c.ID)
		return err
	})
	return now, err
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// DropComment deletes a draft. A comment that was sent stays.
func (m *Manager) DropComment(ctx context.Context, attemptID, id string) error {
	return m.reviewing(ctx, attemptID, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM comments WHERE id = ? AND attempt_id = ? AND sent_at = 0", id, attemptID)
		return err
	})
}

// SentComments records that the drafts in sent went to the agent. If a draft
// has changed in the meantime, it stays a draft.
func (m *Manager) SentComments(ctx context.Context, attemptID string, sent []Comment) error {
	return m.reviewing(ctx, attemptID, func(tx *store.Tx) error {
		for _, c := range sent {
			if _, err := tx.Exec(ctx, "UPDATE comments SET sent_at = ? WHERE id = ? AND attempt_id = ? AND rev = ? AND sent_at = 0",
				millis(tx.Now), c.ID, attemptID, c.Rev); err != nil {
				return err
			}
		}
		return nil
	})
}

// reviewing updates an attempt's review data and notifies watchers.
func (m *Manager) reviewing(ctx context.Context, attemptID string, do func(*store.Tx) error) error {
	return m.db.Update(ctx, func(tx *store.Tx) error { return reviewingIn(ctx, tx, attemptID, do) })
}

func reviewingIn(ctx context.Context, tx *store.Tx, attemptID string, do func(*store.Tx) error) error {
	a, err := readAttempt(ctx, tx, attemptID)
	if err == nil {
		err = do(tx)
	}
	if err == nil {
		_, err = note(tx, Event{Type: ReviewChanged, TaskID: a.TaskID, AttemptID: a.ID})
	}
	return err
}
