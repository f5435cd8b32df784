package tasks

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// AgainstTarget in [ReviewQuery] compares with the target as it is now.
const AgainstTarget = "target"

// ReviewQuery says what of an attempt is reviewed, and against what.
type ReviewQuery struct {
	AttemptID string
	// With is empty for what the attempt has changed, AgainstTarget, or the ID of
	// another attempt at the same task, of which what is committed counts.
	With string
	// Force lists what the guard would block.
	Force bool
	// NoSpace leaves out changes of white space, in [Manager.ReviewFile].
	NoSpace bool
}

// Review is what an attempt has changed, to be read by a person.
type Review struct {
	Changes
	// Marks tell the content of each file from any other, by path.
	Marks map[string]string
	// Viewed are the files that somebody has seen as they are now.
	Viewed map[string]bool
}

// Review lists what an attempt has changed. Faults are those of
// [Manager.Changes], and not_found for what it is compared with.
func (m *Manager) Review(ctx context.Context, q ReviewQuery) (r Review, err error) {
	c, tree, err := m.compared(ctx, q)
	if err != nil {
		return r, err
	}
	found, err := tree.Changes(ctx, *m.options.Guard, q.Force)
	if err != nil {
		return r, err
	}
	r.Changes = changesOf(c.ID, found)
	r.Marks, r.Viewed = tree.Marks(found.Files), map[string]bool{}
	seen, err := m.viewed(ctx, c.ID)
	for path, mark := range r.Marks {
		r.Viewed[path] = seen[path] == mark
	}
	return r, err
}

// ReviewFile compares one file, which path names as in [Review]. ok is false if
// it has not changed.
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

// compared is the checkout of an attempt, and its tree with what it is compared
// with.
func (m *Manager) compared(ctx context.Context, q ReviewQuery) (c checkout, tree worktree.Tree, err error) {
	if c, err = m.checkoutOf(ctx, q.AttemptID); err != nil || q.With == "" {
		return c, c.tree, err
	}
	branch := func(r worktree.Repo) string { return r.Target }
	if q.With != AgainstTarget {
		other, err := m.checkoutOf(ctx, q.With)
		if err != nil {
			return c, tree, err
		}
		if other.TaskID != c.TaskID {
			return c, tree, refuse(NotFound, "choose an attempt at the same task", "attempt %s is of another task", q.With)
		}
		branch = func(worktree.Repo) string { return other.tree.Branch }
	}
	commits := map[string]string{}
	for _, r := range c.tree.Repos {
		if commits[r.Name], err = r.Resolve(ctx, branch(r)); err != nil {
			return c, tree, err
		}
	}
	return c, c.tree.Against(commits), nil
}

func (m *Manager) viewed(ctx context.Context, attemptID string) (seen map[string]string, err error) {
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
		return nil, fmt.Errorf("read what was viewed: %w", err)
	}
	return seen, nil
}

// SetViewed notes that somebody has seen a file with the content that mark tells.
// An empty mark takes that back.
func (m *Manager) SetViewed(ctx context.Context, attemptID, path, mark string) error {
	return m.reviewing(ctx, attemptID, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM viewed WHERE attempt_id = ? AND path = ?", attemptID, path)
		if err == nil && mark != "" {
			_, err = tx.Exec(ctx, "INSERT INTO viewed (attempt_id, path, mark, viewed_at) VALUES (?, ?, ?, ?)", attemptID, path, mark, millis(tx.Now))
		}
		return err
	})
}

// Comment is what a person says about lines of a file of an attempt.
type Comment struct {
	ID, AttemptID string
	Path          string // as in [Change]
	Old           bool   // the lines are those of the file as it was
	First, Last   int    // lines, counted from 1 and both included; 0: the whole file
	Quote         string // the lines as they were when the comment was written
	Body          string
	Rev           int64     // one more for each change; 0: a new one
	Sent          time.Time // zero: a draft
	Created       time.Time
}

// Comments are those of an attempt, oldest first.
func (m *Manager) Comments(ctx context.Context, attemptID string) (found []Comment, err error) {
	err = m.db.View(ctx, func(tx *store.Tx) error {
		found, err = all(ctx, tx, scanComment, "SELECT "+commentColumns+" FROM comments WHERE attempt_id = ? ORDER BY created_at, id", attemptID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read comments: %w", err)
	}
	return found, nil
}

const commentColumns = "id, attempt_id, path, old_side, first_line, last_line, quote, body, rev, sent_at, created_at"

func scanComment(row scanner) (c Comment, err error) {
	var old int
	var sent, created int64
	err = row.Scan(&c.ID, &c.AttemptID, &c.Path, &old, &c.First, &c.Last, &c.Quote, &c.Body, &c.Rev, &sent, &created)
	c.Old, c.Created = old == 1, at(created)
	if sent != 0 {
		c.Sent = at(sent)
	}
	return c, err
}

// maxComment is how long a comment may be, in bytes; its quote is cut there.
const maxComment = 32 << 10

// PutComment writes a draft: a new one if its ID is new or empty, else its body.
// If c.Rev is not 0, it is that of the text which was changed: a draft that
// somebody has changed since is left and returned with the fault conflict, and
// one that was sent likewise.
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
	err = m.reviewing(ctx, c.AttemptID, func(tx *store.Tx) error {
		before, err := all(ctx, tx, scanComment, "SELECT "+commentColumns+" FROM comments WHERE id = ? AND attempt_id = ?", c.ID, c.AttemptID)
		if err != nil {
			return err
		}
		if len(before) == 0 {
			c.Rev, c.Created, now = 1, tx.Now, c
			now.Rev, now.Created = 1, tx.Now
			_, err = tx.Exec(ctx, "INSERT INTO comments ("+commentColumns+", updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, 0, ?, ?)",
				c.ID, c.AttemptID, c.Path, flag(c.Old), c.First, c.Last, c.Quote, c.Body, millis(tx.Now), millis(tx.Now))
			return err
		}
		now = before[0]
		if !now.Sent.IsZero() {
			return refuse(Conflict, "write another comment", "this comment was sent already")
		}
		if c.Rev != 0 && c.Rev != now.Rev && c.Body != now.Body {
			return refuse(Conflict, "decide between the two texts", "this comment was changed somewhere else")
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

// DropComment takes a draft away. One that was sent stays.
func (m *Manager) DropComment(ctx context.Context, attemptID, id string) error {
	return m.reviewing(ctx, attemptID, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM comments WHERE id = ? AND attempt_id = ? AND sent_at = 0", id, attemptID)
		return err
	})
}

// SentComments notes that drafts went to the agent as they are in sent. One that
// was changed meanwhile stays a draft.
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

// reviewing changes what belongs to the review of an attempt, and tells who
// watches.
func (m *Manager) reviewing(ctx context.Context, attemptID string, do func(*store.Tx) error) error {
	return m.db.Update(ctx, func(tx *store.Tx) error {
		a, err := readAttempt(ctx, tx, attemptID)
		if err == nil {
			err = do(tx)
		}
		if err == nil {
			_, err = note(tx, Event{Type: ReviewChanged, TaskID: a.TaskID, AttemptID: a.ID})
		}
		return err
	})
}
