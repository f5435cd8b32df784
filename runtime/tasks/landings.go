package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// LandingState is the state of a landing.
type LandingState string

// States of a landing.
const (
	LandingBegun   LandingState = "begun"   // branches are being moved
	LandingDone    LandingState = "done"    // all branches have moved
	LandingUndoing LandingState = "undoing" // branches are being moved back
	LandingUndone  LandingState = "undone"
	LandingVoid    LandingState = "void" // the landing failed, and nothing has moved
)

// Kinds of landings.
const (
	landing  = "land"
	updating = "update"
)

// Landing is one move of branches for an attempt.
type Landing struct {
	ID, AttemptID string
	State         LandingState
	Created       time.Time
	landingData

	kind, host string
}

// landingData is the JSON content of a landing's row.
type landingData struct {
	How    worktree.How    `json:"how"`
	Target string          `json:"target"`
	Moves  []worktree.Move `json:"moves"`
	// Heads holds the landed commits of the attempt's branch. Bases holds the
	// commits at which the branch had diverged from the target. The keys are
	// repository names.
	Heads map[string]string `json:"heads"`
	Bases map[string]string `json:"bases"`
	// KeepBranch keeps the branch when the folder is removed.
	KeepBranch bool `json:"keep_branch,omitempty"`
}

const landingColumns = "id, attempt_id, kind, host, state, data, created_at"

func scanLanding(row scanner) (l Landing, err error) {
	var data string
	var created int64
	if err = row.Scan(&l.ID, &l.AttemptID, &l.kind, &l.host, &l.State, &data, &created); err != nil {
		return l, err
	}
	l.Created = at(created)
	return l, json.Unmarshal([]byte(data), &l.landingData)
}

// latestLanding returns an attempt's newest landing that has begun and was not
// reverted, or nil if there is none.
func latestLanding(ctx context.Context, tx *store.Tx, attemptID string) (*Landing, error) {
	found, err := all(ctx, tx, scanLanding, "SELECT "+landingColumns+` FROM landings
		WHERE attempt_id = ? AND kind = ? AND state IN ('begun', 'done', 'undoing') ORDER BY created_at DESC, id DESC LIMIT 1`, attemptID, landing)
	if err != nil {
		return nil, fmt.Errorf("read landings: %w", err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	return &found[0], nil
}

func insertLanding(ctx context.Context, tx *store.Tx, l Landing) error {
	data, err := json.Marshal(l.landingData)
	if err == nil {
		_, err = tx.Exec(ctx, "INSERT INTO landings ("+landingColumns+", updated_at) VALUES ("+marks(8)+")",
			l.ID, l.AttemptID, l.kind, l.host, l.State, string(data), millis(tx.Now), millis(tx.Now))
	}
	if err != nil {
		return fmt.Errorf("write landing: %w", err)
	}
	return nil
}

func setLanding(ctx context.Context, tx *store.Tx, id string, s LandingState) error {
	if _, err := tx.Exec(ctx, "UPDATE landings SET state = ?, updated_at = ? WHERE id = ?", s, millis(tx.Now), id); err != nil {
		return fmt.Errorf("write landing: %w", err)
	}
	return nil
}
