package tasks

import (
	"context"
	"errors"

	"github.com/deskhand/deskhand/runtime/store"
)

// AwaitEnds waits until attempts have no running or waiting process. It waits
// for all attempts in the list, or for any one of them. Faults: not_found,
// invalid_argument.
func (m *Manager) AwaitEnds(ctx context.Context, attemptIDs []string, all bool) error {
	ids := make(map[string]bool, len(attemptIDs))
	for _, id := range attemptIDs {
		id, err := parseID("attempt_id", id)
		if err != nil {
			return err
		}
		ids[id] = true
	}
	w, err := m.Watch(ctx, -1, "")
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		enough, err := m.haveEnded(ctx, ids, all)
		if err != nil || enough {
			return err
		}
		for mine := false; !mine; {
			events, err := w.Next(ctx)
			if errors.Is(err, store.ErrGone) { // this watcher was too slow: check again, and watch from here
				mine, err = true, w.Resume(ctx, err)
			}
			if err != nil {
				return err
			}
			for _, e := range events {
				mine = mine || ids[e.AttemptID] || e.Type == TaskDeleted
			}
		}
	}
}

// haveEnded reports whether the attempts have ended: all of them if every is
// true, otherwise at least one. A deleted attempt counts as ended.
func (m *Manager) haveEnded(ctx context.Context, ids map[string]bool, every bool) (enough bool, err error) {
	err = m.db.View(ctx, func(tx *store.Tx) error {
		ended := 0
		for id := range ids {
			s, p, err := readStatus(ctx, tx, id)
			if err != nil {
				return err
			}
			if (p == nil || p.State.Ended()) && (s.Queued == nil || s.Queued.Discarded != "") {
				ended++
			}
		}
		enough = ended == len(ids) || !every && ended > 0
		return nil
	})
	return enough, err
}
