package tasks

import (
	"context"
	"fmt"
	"slices"

	"github.com/deskhand/deskhand/runtime/store"
)

// Limits of transcripts.
const (
	defaultTurns = 20
	maxTurns     = 200
)

// Messages returns one page of a session's transcript. Faults:
// ambiguous_target, mixed_pagination, no_session_yet.
func (m *Manager) Messages(ctx context.Context, q MessageQuery) (page MessagePage, err error) {
	if q.Before != nil && q.After != nil {
		return MessagePage{}, mixedPagination()
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		s, err := target(ctx, tx, q.AttemptID, q.SessionID)
		if err != nil {
			return err
		}
		page, err = readTurns(ctx, tx, s.ID, q)
		page.AttemptID = s.AttemptID
		return err
	})
	return page, err
}

func mixedPagination() error {
	return refuse(MixedPagination, "use only one of them",
		"two paging parameters were passed together")
}

func readTurns(ctx context.Context, tx *store.Tx, sessionID string, q MessageQuery) (page MessagePage, err error) {
	limit := defaultTurns
	if q.Limit > 0 {
		limit = min(q.Limit, maxTurns)
	}
	where, order, args := "session_id = ?", "DESC", []any{sessionID}
	switch {
	case q.Before != nil:
		where, args = where+" AND entry_index < ?", append(args, *q.Before)
	case q.After != nil:
		where, order, args = where+" AND entry_index > ?", "ASC", append(args, *q.After)
	}
	turns, err := all(ctx, tx, scanTurn, "SELECT entry_index, id, process_id, prompt, summary, created_at, updated_at FROM turns WHERE "+
		where+" ORDER BY entry_index "+order+" LIMIT ?", append(args, limit+1)...)
	if err != nil {
		return page, fmt.Errorf("read transcript: %w", err)
	}
	if page.More = len(turns) > limit; page.More {
		turns = turns[:limit]
	}
	page.SessionID, page.Turns = sessionID, turns
	if q.After != nil {
		page.NextAfter = q.After
		if len(turns) > 0 {
			page.NextAfter = &turns[len(turns)-1].Index
		}
		return page, nil
	}
	slices.Reverse(turns)
	if page.More {
		page.Next = &turns[0].Index
	}
	return page, nil
}

func scanTurn(row scanner) (t Turn, err error) {
	var created, updated int64
	err = row.Scan(&t.Index, &t.ID, &t.ProcessID, &t.Prompt, &t.Summary, &created, &updated)
	t.Created, t.Updated = at(created), at(updated)
	return t, err
}

// target returns the session that a call refers to: the named session, or the
// newest session of the named attempt.
func target(ctx context.Context, tx *store.Tx, attemptID, sessionID string) (s Session, err error) {
	switch {
	case attemptID != "" && sessionID != "":
		return s, refuse(AmbiguousTarget, "name either an attempt or a session", "attempt_id and session_id were both given")
	case attemptID == "" && sessionID == "":
		return s, refuse(AmbiguousTarget, "name either an attempt or a session", "neither attempt_id nor session_id was given")
	case sessionID != "":
		if sessionID, err = parseID("session_id", sessionID); err != nil {
			return s, err
		}
		return readSession(ctx, tx, sessionID)
	}
	if attemptID, err = parseID("attempt_id", attemptID); err != nil {
		return s, err
	}
	if _, err := readAttempt(ctx, tx, attemptID); err != nil {
		return s, err
	}
	if s, err = latestSession(ctx, tx, attemptID); err != nil || s.ID != "" {
		return s, err
	}
	last, err := latestProcess(ctx, tx, attemptID)
	if err != nil {
		return s, err
	}
	if last != nil && last.State.Ended() {
		return s, refuse(NoSession, "check why it failed, and start a new attempt",
			"attempt %s ended before its agent had a session", attemptID).WithCase(NoSessionEver, "attempt", attemptID)
	}
	return s, retryable(NoSession, "try again when its agent has started",
		"attempt %s has no session yet", attemptID).WithCase("", "attempt", attemptID)
}
