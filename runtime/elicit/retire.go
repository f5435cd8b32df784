package elicit

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/deskhand/deskhand/runtime/store"
)

// Retire gives up a name that another person gets, in that transaction. What the name's
// former person asked belongs to former from then on, a name that nobody can have. What is
// open and addressed to that person is addressed to former, until the owner of the
// installation hands it over. Who answered what is not changed.
func (h *Hub) Retire(ctx context.Context, tx *store.Tx, name, former string) error {
	for _, query := range []string{
		"UPDATE requests SET person = ? WHERE person = ?",
		"UPDATE request_notices SET person = ? WHERE person = ?",
	} {
		if _, err := tx.Exec(ctx, query, former, name); err != nil {
			return fmt.Errorf("retire the name of a person: %w", err)
		}
	}
	open, err := queryRequests(ctx, tx, "WHERE status <> ?", Completed)
	if err != nil {
		return err
	}
	for i := range open {
		if err := h.retireIn(ctx, tx, &open[i], name, former); err != nil {
			return err
		}
	}
	return nil
}

// retireIn gives up a name in an open request.
func (h *Hub) retireIn(ctx context.Context, tx *store.Tx, r *Request, name, former string) error {
	if r.Source.Person == former { // hubs that have cached the row read it again
		data, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		change := changeOf(r, data)
		if _, err := tx.Exec(ctx, change.Query, change.Args...); err != nil {
			return fmt.Errorf("write request: %w", err)
		}
	}
	var actions []Action
	if r.Held != nil && r.Held.By == name {
		actions = append(actions, Action{Type: TakenBack})
	}
	if r.claimedBy() == name {
		actions = append(actions, Action{Type: Unclaimed})
	}
	if who := r.Audience; who.Principal == name {
		who.Principal = former
		actions = append(actions, Action{Type: Reassigned, Audience: &who})
	}
	for _, a := range actions {
		a.RequestID, a.By, a.Above = r.ID, h.options.Principal, true
		if a.Type == TakenBack {
			a.By, a.Roles = r.Held.By, r.Held.Roles
		}
		c, err := h.apply(ctx, tx, r, a)
		if err != nil {
			return err
		}
		r = c.Request
	}
	h.recent.forget(r.ID)
	return nil
}
