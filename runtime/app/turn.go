package app

import (
	"context"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// A question ends in the same transaction as the turn that asked it. If a call
// returned a question as pending, the question stays open, and its answer starts a
// follow-up.

// turnEnded implements [tasks.Options.TurnEnded].
func (a *App) turnEnded(ctx context.Context, tx *store.Tx, e tasks.TurnEnd) error {
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
	hub, err := a.Hub(ctx)
	if err != nil {
		return err
	}
	return hub.EndAttemptTurn(ctx, tx, t)
}

// endTurns implements [elicit.Options.Settle]. In a process that runs no attempts, it
// opens a manager for a moment, because that ends the turns that other processes
// lost.
func (a *App) endTurns(ctx context.Context) error {
	a.working.Lock()
	m := a.manager
	a.working.Unlock()
	if m != nil {
		return m.EndLost(ctx)
	}
	m, err := a.newManager(ctx) // creating the manager ends lost turns
	if err == nil {
		m.Close()
	}
	return err
}
