package tasks

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// allowing runs commit. If the check finds something that looks like a secret,
// allowing calls allow, once per repository. It remembers the allowed findings,
// so that landing the commit does not ask again.
func (m *Manager) allowing(ctx context.Context, c *checkout, check worktree.Check, allow func(what string) bool, commit func(worktree.Tree, ...worktree.Check) error) error {
	if err := m.loadAllowed(ctx, c); err != nil {
		return err
	}
	for {
		err := commit(c.tree, check)
		held := new(worktree.Held)
		if !errors.As(err, &held) || !allow(held.Message) {
			return err
		}
		if err := m.remember(ctx, c, held.Prints); err != nil {
			return err
		}
		if held.More { // without this, the loop would ask forever
			return commit(c.tree)
		}
	}
}

// loadAllowed reads the findings that were allowed in an attempt.
func (m *Manager) loadAllowed(ctx context.Context, c *checkout) error {
	var prints []string
	err := m.db.View(ctx, func(tx *store.Tx) (err error) {
		prints, err = all(ctx, tx, scanText, "SELECT print FROM allowed_secrets WHERE attempt_id = ?", c.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("read the allowed findings: %w", err)
	}
	c.tree.Allowed = map[string]bool{}
	for _, print := range prints {
		c.tree.Allowed[print] = true
	}
	return nil
}

// remember stores the findings that a person has allowed.
func (m *Manager) remember(ctx context.Context, c *checkout, prints []string) error {
	err := m.db.Update(ctx, func(tx *store.Tx) error {
		for _, print := range prints {
			_, err := tx.Exec(ctx, "INSERT INTO allowed_secrets (attempt_id, print, created_at) VALUES (?, ?, ?) ON CONFLICT (attempt_id, print) DO NOTHING", c.ID, print, millis(tx.Now))
			if err != nil {
				return err
			}
		}
		return tx.Audit(store.Record{Action: "attempt.secrets-allowed", Object: c.ID, Detail: fmt.Sprintf("%d findings", len(prints))})
	})
	if err != nil {
		return fmt.Errorf("store the allowed findings: %w", err)
	}
	c.tree.Allowed = maps.Clone(c.tree.Allowed) // checkouts share the map
	for _, print := range prints {
		c.tree.Allowed[print] = true
	}
	return nil
}
