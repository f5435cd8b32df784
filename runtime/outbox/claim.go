package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

const (
	// SendTime is how long a way may take to send one message.
	SendTime = 45 * time.Second
	// claimTime is longer than SendTime: a process that has not recorded the result by
	// then counts as dead.
	claimTime = 2 * time.Minute
	// maxTries and maxAge are when a message is given up.
	maxTries = 15
	maxAge   = 24 * time.Hour
)

// Failure is the error of a try.
type Failure struct {
	Err error
	// Final reports that a repetition would fail in the same way.
	Final bool
	// After is the shortest pause that the receiver asked for; zero if it asked for none.
	After time.Duration
}

// Error implements [error].
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the reason.
func (f *Failure) Unwrap() error { return f.Err }

// Final returns an error after which a message is not sent again.
func Final(err error) error { return &Failure{Err: err, Final: true} }

// later is the error of a way that sends nothing before a time.
type later struct {
	at  time.Time
	why string
}

// Error implements [error].
func (l *later) Error() string { return l.why }

// Later returns the error of a way that sends a message no sooner than at, for example after
// quiet hours. It is no failure: the message has as many tries as before, and as much time.
func Later(at time.Time, why string) error { return &later{at, why} }

// ErrOver is the error of a way if a message is no longer needed.
var ErrOver = errors.New("the question has ended")

// Pauses between tries.
const (
	firstPause = 5 * time.Second
	maxPause   = 30 * time.Minute
	maxAfter   = 2 * time.Hour // of what a receiver asks for
)

// pause returns how long to wait after a number of tries. Messages that fail together are
// not repeated together.
func pause(tries int, after time.Duration) time.Duration {
	d := maxPause
	if tries < 8 {
		d = min(d, firstPause<<(2*(max(tries, 1)-1)))
	}
	d = d*3/4 + rand.N(d/2)
	return max(d, min(after, maxAfter))
}

// next claims the next message for a way. m is nil if none is due; then at is when the next
// one is, or the zero time.
func (b *Box) next(ctx context.Context, way, target, holder string) (m *Message, at time.Time, err error) {
	var now time.Time
	err = b.db.View(ctx, func(tx *store.Tx) error {
		now = tx.Now
		at, err = dueOf(ctx, tx, way, target)
		return err
	})
	if err != nil || at.IsZero() || at.After(now) {
		return nil, at, err
	}
	err = b.db.Update(ctx, func(tx *store.Tx) error {
		m, err = claim(ctx, tx, way, target, holder)
		if err == nil && m == nil {
			at, err = dueOf(ctx, tx, way, target)
		}
		return err
	})
	return m, at, err
}

// free selects messages of a way that no living process is sending. A claim that ends later
// than its length allows was made by a clock that was set back since.
const free = "state = 'waiting' AND way = ? AND target = ? AND (holder = '' OR until <= ? OR until > ?)"

func freeArgs(tx *store.Tx, way, target string) []any {
	return []any{way, target, tx.Now.UnixMilli(), tx.Now.Add(2 * claimTime).UnixMilli()}
}

// dueOf returns when the next message of a way can be claimed, or the zero time.
func dueOf(ctx context.Context, tx *store.Tx, way, target string) (time.Time, error) {
	var due sql.NullInt64
	err := tx.QueryRow(ctx, "SELECT MIN(CASE WHEN holder = '' OR until <= ? OR until > ? THEN due ELSE until END) FROM outbox WHERE state = 'waiting' AND way = ? AND target = ?",
		tx.Now.UnixMilli(), tx.Now.Add(2*claimTime).UnixMilli(), way, target).Scan(&due)
	if err != nil {
		return time.Time{}, fmt.Errorf("read messages: %w", err)
	}
	if !due.Valid {
		return time.Time{}, nil
	}
	return time.UnixMilli(due.Int64).UTC(), nil
}

// claim takes the message of a way that is due first. A message that has been claimed too
// often dies: it may be what ends the processes that send it.
func claim(ctx context.Context, tx *store.Tx, way, target, holder string) (*Message, error) {
	for {
		m, err := scan(tx.QueryRow(ctx, "SELECT "+columns+" FROM outbox WHERE "+free+" AND due <= ? ORDER BY due, id LIMIT 1",
			append(freeArgs(tx, way, target), tx.Now.UnixMilli())...))
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if m.Tries >= maxTries {
			if m.Error == "" {
				m.Error = "the processes that sent it ended"
			}
			if err := end(ctx, tx, m.ID, Dead, m.Error); err != nil {
				return nil, err
			}
			continue
		}
		m.Tries, m.holder = m.Tries+1, holder
		_, err = tx.Exec(ctx, "UPDATE outbox SET tries = ?, holder = ?, until = ? WHERE id = ?", m.Tries, holder, tx.Now.Add(claimTime).UnixMilli(), m.ID)
		if err != nil {
			return nil, fmt.Errorf("claim message: %w", err)
		}
		return &m, nil
	}
}

func end(ctx context.Context, tx *store.Tx, id string, state State, why string) error {
	_, err := tx.Exec(ctx, "UPDATE outbox SET state = ?, holder = '', until = 0, ended = ?, error = ? WHERE id = ?", state, tx.Now.UnixMilli(), why, id)
	if err != nil {
		return fmt.Errorf("end message: %w", err)
	}
	return nil
}

// finish records the result of a try. It does nothing if another process has claimed the
// message since, or a person has dropped it.
func (b *Box) finish(ctx context.Context, m *Message, remote string, failed error) (state State, err error) {
	err = b.db.Update(ctx, func(tx *store.Tx) error {
		var holder string
		var since int64
		err := tx.QueryRow(ctx, "SELECT holder, since FROM outbox WHERE id = ? AND state = ?", m.ID, Waiting).Scan(&holder, &since)
		if errors.Is(err, sql.ErrNoRows) || err == nil && holder != m.holder {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read message: %w", err)
		}
		failure, wait := &Failure{Err: failed}, new(later)
		errors.As(failed, &failure)
		switch {
		case errors.As(failed, &wait):
			state = Waiting
			at := max(wait.at.UnixMilli(), tx.Now.Add(time.Second).UnixMilli())
			if _, err := tx.Exec(ctx, "UPDATE outbox SET holder = '', until = 0, tries = ?, since = ?, due = ?, error = ? WHERE id = ?",
				m.Tries-1, at, at, brief(failed), m.ID); err != nil {
				return fmt.Errorf("record message: %w", err)
			}
			return nil
		case failed == nil:
			state = Sent
			if _, err := tx.Exec(ctx, "UPDATE outbox SET remote = ? WHERE id = ?", remote, m.ID); err != nil {
				return fmt.Errorf("record message: %w", err)
			}
			return end(ctx, tx, m.ID, state, "")
		case errors.Is(failed, ErrOver):
			state = Dropped
			return end(ctx, tx, m.ID, state, brief(failed))
		case failure.Final, m.Tries >= maxTries, tx.Now.Sub(time.UnixMilli(since)) > maxAge:
			state = Dead
			return end(ctx, tx, m.ID, state, brief(failed))
		}
		state = Waiting
		_, err = tx.Exec(ctx, "UPDATE outbox SET holder = '', until = 0, due = ?, error = ? WHERE id = ?",
			tx.Now.Add(pause(m.Tries, failure.After)).UnixMilli(), brief(failed), m.ID)
		if err != nil {
			return fmt.Errorf("record message: %w", err)
		}
		return nil
	})
	return state, err
}

// Failed stores a message whose first try failed, for a sender that tries itself at once. If
// the message is stored already, it counts as tried once more.
func (b *Box) Failed(ctx context.Context, m New, failed error) error {
	return b.db.Update(ctx, func(tx *store.Tx) error {
		id := ID(m.Once)
		old, err := scan(tx.QueryRow(ctx, "SELECT "+columns+" FROM outbox WHERE id = ?", id))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			if _, err := put(ctx, tx, []New{m}); err != nil {
				return err
			}
		case err != nil:
			return err
		case old.State != Waiting:
			if _, err := tx.Exec(ctx, "UPDATE outbox SET state = ?, tries = 0, since = ?, ended = 0 WHERE id = ?", Waiting, tx.Now.UnixMilli(), id); err != nil {
				return fmt.Errorf("store message: %w", err)
			}
			old.Tries = 0
		}
		failure := &Failure{Err: failed}
		if errors.As(failed, &failure); failure.Final {
			return end(ctx, tx, id, Dead, brief(failed))
		}
		_, err = tx.Exec(ctx, "UPDATE outbox SET tries = ?, due = ?, error = ? WHERE id = ?",
			old.Tries+1, tx.Now.Add(pause(old.Tries+1, failure.After)).UnixMilli(), brief(failed), id)
		if err != nil {
			return fmt.Errorf("store message: %w", err)
		}
		return wake(ctx, tx)
	})
}

// Done records that a message of [Box.Failed] was sent since, if there is one.
func (b *Box) Done(ctx context.Context, once string) error {
	var open int
	err := b.db.View(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(ctx, "SELECT COUNT(*) FROM outbox WHERE id = ? AND state IN ('waiting', 'dead')", ID(once)).Scan(&open)
	})
	if err != nil || open == 0 {
		return err
	}
	return b.db.Update(ctx, func(tx *store.Tx) error { return end(ctx, tx, ID(once), Sent, "") })
}

// prune gives up messages that no process can send, and deletes old ones and old links.
func (b *Box) prune(ctx context.Context) error {
	return b.db.UpdateFast(ctx, func(tx *store.Tx) error {
		ago := func(d time.Duration) int64 { return tx.Now.Add(-d).UnixMilli() }
		for _, s := range []struct {
			query string
			args  []any
		}{
			{"UPDATE outbox SET state = 'dead', holder = '', ended = ?, error = CASE WHEN error = '' THEN 'no running server sends to this address' ELSE error END " +
				"WHERE state = 'waiting' AND since < ? AND (holder = '' OR until <= ?)", []any{tx.Now.UnixMilli(), ago(maxAge + time.Hour), tx.Now.UnixMilli()}},
			{"DELETE FROM outbox WHERE state IN ('sent', 'dropped') AND ended < ?", []any{ago(keepEnded)}},
			{"DELETE FROM outbox WHERE state = 'dead' AND ended < ?", []any{ago(keepDead)}},
			{"DELETE FROM outbox WHERE state = 'dead' AND id NOT IN (SELECT id FROM outbox WHERE state = 'dead' ORDER BY ended DESC, id LIMIT ?)", []any{maxDead}},
			{"DELETE FROM outbox_links WHERE expires < ?", []any{ago(keepEnded)}},
		} {
			if _, err := tx.Exec(ctx, s.query, s.args...); err != nil {
				return fmt.Errorf("prune outbox: %w", err)
			}
		}
		return nil
	})
}

// Over tells the outbox that a question has ended: messages about it are not sent any more,
// and again returns, for a message that was sent, one that says so, or nil.
func (b *Box) Over(ctx context.Context, request string, again func(Message) *New) error {
	var open int
	err := b.db.View(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(ctx, "SELECT COUNT(*) FROM outbox WHERE request = ? AND closed = 0", request).Scan(&open)
	})
	if err != nil || open == 0 {
		return err
	}
	return b.db.Update(ctx, func(tx *store.Tx) error {
		all, err := query(ctx, tx, "WHERE request = ? AND closed = 0", request)
		if err != nil {
			return err
		}
		var more []New
		for _, m := range all {
			switch {
			case m.Reason == Update:
			case m.State == Waiting && m.holder == "" && m.Reason != Ended:
				if err := end(ctx, tx, m.ID, Dropped, ErrOver.Error()); err != nil {
					return err
				}
			case m.State == Waiting && m.Reason != Ended:
				continue // it is being sent: it is closed when that has ended
			case m.State == Sent && m.Reason != Ended:
				if one := again(m); one != nil {
					more = append(more, *one)
				}
			}
			if _, err := tx.Exec(ctx, "UPDATE outbox SET closed = 1 WHERE id = ?", m.ID); err != nil {
				return fmt.Errorf("close message: %w", err)
			}
		}
		_, err = put(ctx, tx, more)
		if err != nil {
			return err
		}
		for _, m := range more {
			if _, err := tx.Exec(ctx, "UPDATE outbox SET remote = (SELECT remote FROM outbox WHERE id = ?), closed = 1 WHERE id = ?", m.Once, ID(m.Once)); err != nil {
				return fmt.Errorf("store message: %w", err)
			}
		}
		return nil
	})
}

// Update is the reason of a message that brings what was sent before up to date. It is needed
// after the end of its question too.
const Update = "update"

// Ended is the reason of a message about the end of a question. Its [New.Once] is the ID of
// the message that it belongs to.
const Ended = "ended"

// Told returns to whom a way has messages about a question.
func (b *Box) Told(ctx context.Context, way, request string) (names []string, err error) {
	return b.texts(ctx, "SELECT DISTINCT shown FROM outbox WHERE request = ? AND way = ?", request, way)
}

// Unclosed returns the questions that messages were sent about and whose end the outbox has
// not been told of.
func (b *Box) Unclosed(ctx context.Context) (requests []string, err error) {
	return b.texts(ctx, "SELECT DISTINCT request FROM outbox WHERE closed = 0 AND request <> ''")
}

// texts returns the only column of a query.
func (b *Box) texts(ctx context.Context, query string, args ...any) (all []string, err error) {
	err = b.db.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var one string
			if err := rows.Scan(&one); err != nil {
				return err
			}
			all = append(all, one)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	return all, nil
}
