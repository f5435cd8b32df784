package tasks

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/deskhand/deskhand/runtime/store"
)

// Retire gives up a name that another person gets, in that transaction: the attempts of the
// name's former person belong to former, a name that nobody can have, so that their agents
// never use the new person's credentials. It fails with code [AttemptRunning] while one of
// their agents runs.
func Retire(ctx context.Context, tx *store.Tx, name, former string) error {
	var attempt string
	err := tx.QueryRow(ctx, "SELECT attempt_id FROM processes WHERE person = ? AND state = ? ORDER BY ordinal LIMIT 1", name, Running).Scan(&attempt)
	if err == nil {
		return retryable(AttemptRunning, "stop it first, or wait until it ends",
			"attempt %s still runs for the former person %s, and its agent must not use another person's credentials", attempt, name).WithCase("", "attempt", attempt)
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("look for attempts of a person: %w", err)
	}
	for _, table := range []string{"attempts", "processes", "queued"} {
		if _, err := tx.Exec(ctx, "UPDATE "+table+" SET person = ? WHERE person = ?", former, name); err != nil {
			return fmt.Errorf("retire the name of a person: %w", err)
		}
	}
	return nil
}
