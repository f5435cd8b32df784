package main

import (
	"context"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// A question ends with what asked it, in the transaction in which that ends. One
// that was handed back as pending stays: its answer starts a follow-up.

// turnEnded implements [tasks.Options.TurnEnded].
func (w *workRoom) turnEnded(ctx context.Context, tx *store.Tx, e tasks.TurnEnd) error {
	t := elicit.AttemptTurn{AttemptID: e.AttemptID, Over: e.Over != ""}
	switch {
	case t.Over:
		t.Reason = map[string]string{"done": elicit.TaskDone, "cancelled": elicit.TaskCancelled, "deleted": elicit.TaskDeleted}[e.Over]
	case e.State == tasks.Completed:
		t.Reason = elicit.TurnCompleted
	case e.State == tasks.Killed:
		t.Reason = elicit.TurnStopped
	default:
		t.Reason = elicit.TurnFailed
	}
	return w.hub.EndAttemptTurn(ctx, tx, t)
}

// endTurns implements [elicit.Options.Settle] for processes that run no attempts:
// opening the tasks ends what runners left behind that died.
func (a *app) endTurns(ctx context.Context) error {
	w := &workRoom{app: a}
	defer w.close()
	_, err := w.open(ctx)
	return err
}
