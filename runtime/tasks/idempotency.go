package tasks

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

// requestIDLifetime is how long a request ID is remembered: longer than any
// client retries.
const requestIDLifetime = 7 * 24 * time.Hour

const maxRequestID = 200

// Scopes of request IDs. They are in the store.
const (
	scopeCreate   = "task"
	scopeStart    = "start"
	scopeFollowUp = "follow-up"
)

// request is a call that a client may repeat. Its work and the record of its
// result are one transaction, so a repeated call finds the first call's result
// or, if that failed or died, nothing. Concurrent calls run one after the
// other, in any process.
type request struct {
	// scope is what is asked for, one of the scopes below: an id may be used once
	// in each.
	scope string
	// id is what the caller calls it; empty: every call is another one.
	id string
	// asked is what the call says, payload the same with every default filled
	// in. Two calls ask for the same if either is the same: a default may be
	// spelled out, and may have changed since the first call. Nil payload: the
	// defaults are not known yet, which cannot tell that two calls differ.
	asked, payload any
}

// result reports whether the request was made before, and decodes its result
// into "into".
func (r request) result(ctx context.Context, tx *store.Tx, into any) (found bool, err error) {
	if r.id == "" {
		return false, nil
	}
	var digest, result string
	err = tx.QueryRow(ctx, "SELECT digest, result FROM once WHERE scope = ? AND key = ?", r.scope, r.id).Scan(&digest, &result)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read request id: %w", err)
	}
	asked, payload, err := r.digests()
	if err != nil {
		return false, err
	}
	if !strings.HasPrefix(digest, asked) && (r.payload == nil || !strings.HasSuffix(digest, payload)) {
		if r.payload == nil {
			return false, nil
		}
		return false, refuse(Conflict, "use a new request_id for a new request, or repeat the first one unchanged to get its result",
			"request_id %q was used before, and asked for something else", brief(r.id))
	}
	if err := json.Unmarshal([]byte(result), into); err != nil {
		return false, fmt.Errorf("decode result of request %s: %w", brief(r.id), err)
	}
	return true, nil
}

// remember stores the result of a request, and deletes those older than
// requestIDLifetime.
func (r request) remember(ctx context.Context, tx *store.Tx, result any) error {
	if r.id == "" {
		return nil
	}
	asked, payload, err := r.digests()
	if err != nil {
		return err
	}
	data, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encode result of request: %w", err)
	}
	if _, err := tx.Exec(ctx, "DELETE FROM once WHERE created_at < ?", tx.Now.Add(-requestIDLifetime).UnixMilli()); err != nil {
		return fmt.Errorf("forget request ids: %w", err)
	}
	_, err = tx.Exec(ctx, "INSERT INTO once (scope, key, digest, result, created_at) VALUES (?, ?, ?, ?, ?)",
		r.scope, r.id, asked+payload, string(data), tx.Now.UnixMilli())
	if err != nil {
		return fmt.Errorf("remember request id: %w", err)
	}
	return nil
}

// digests returns the digests of asked and payload. The store has both
// concatenated, or only payload's if an earlier version wrote it.
func (r request) digests() (asked, payload string, err error) {
	if asked, err = digest(r.asked); err == nil {
		payload, err = digest(r.payload)
	}
	return asked, payload, err
}

func digest(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode request: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// previousResult returns the result of a request that was made before, or nil.
// Call it before checks of anything that may have changed since.
func previousResult[T any](ctx context.Context, m *Manager, r request) (*T, error) {
	if err := checkText("request_id", r.id, maxRequestID); err != nil || r.id == "" {
		return nil, err
	}
	var result T
	found := false
	err := m.db.View(ctx, func(tx *store.Tx) (err error) {
		found, err = r.result(ctx, tx, &result)
		return err
	})
	if err != nil || !found {
		return nil, err
	}
	return &result, nil
}

// idempotent runs do in a transaction unless the request was made before, and
// returns the result of this or that call.
func idempotent[T any](ctx context.Context, m *Manager, r request, do func(*store.Tx) (T, error)) (result T, err error) {
	err = m.db.Update(ctx, func(tx *store.Tx) error {
		found, err := r.result(ctx, tx, &result)
		if err != nil || found {
			return err
		}
		if result, err = do(tx); err != nil {
			return err
		}
		return r.remember(ctx, tx, result)
	})
	if err != nil {
		var none T
		return none, err
	}
	return result, nil
}
