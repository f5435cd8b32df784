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

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/store"
)

// requestIDLifetime is how long a request ID is remembered. No client retries
// for that long.
const requestIDLifetime = 7 * 24 * time.Hour

const maxRequestID = 200

// Scopes of request IDs. They are stored.
const (
	scopeCreate   = "task"
	scopeStart    = "start"
	scopeFollowUp = "follow-up"
)

// request is a call that a client may repeat. One transaction does the call's
// work and records the result. A repeated call therefore finds the first call's
// result, or nothing if the first call failed or its process died. Concurrent
// calls with the same ID run one after the other, across processes.
type request struct {
	// scope is the kind of request, one of the scopes above. An ID may be used once per
	// scope.
	scope string
	// id is the caller's ID for the request. If it is empty, every call is a new
	// request.
	id string
	// asked holds the call's arguments, and payload holds them with every
	// default filled in. Two calls count as the same request if either value is
	// the same: a caller may give a default explicitly, and a default may have
	// changed since the first call. A nil payload means that the defaults are
	// not known yet, so the calls cannot be compared.
	asked, payload any
}

// scopeFor returns the scope of the caller. Callers that do not see the same projects share
// no IDs, so none finds the result of another.
func (r request) scopeFor(ctx context.Context) string {
	c := access.Of(ctx)
	if c.Everything() {
		return r.scope
	}
	return fmt.Sprintf("%s %s %t %s", r.scope, c.Name, c.Confined, strings.Join(c.Projects, " "))
}

// result reports whether the request was made before. If it was, the earlier
// result is decoded into the variable to which the parameter into points.
func (r request) result(ctx context.Context, tx *store.Tx, into any) (found bool, err error) {
	if r.id == "" {
		return false, nil
	}
	var digest, result string
	err = tx.QueryRow(ctx, "SELECT digest, result FROM once WHERE scope = ? AND key = ?", r.scopeFor(ctx), r.id).Scan(&digest, &result)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read request ID: %w", err)
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
			"request_id %q was already used for a different request", brief(r.id))
	}
	if err := json.Unmarshal([]byte(result), into); err != nil {
		return false, fmt.Errorf("decode result of request %s: %w", brief(r.id), err)
	}
	return true, nil
}

// remember stores the result of a request, and deletes results older than
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
		return fmt.Errorf("delete old request IDs: %w", err)
	}
	_, err = tx.Exec(ctx, "INSERT INTO once (scope, key, digest, result, created_at) VALUES (?, ?, ?, ?, ?)",
		r.scopeFor(ctx), r.id, asked+payload, string(data), tx.Now.UnixMilli())
	if err != nil {
		return fmt.Errorf("store request ID: %w", err)
	}
	return nil
}

// digests returns the digests of asked and payload. The store holds both concatenated,
// or only payload's if an earlier version wrote it.
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

// previousResult returns the result of a request that was made before, or nil
// if there is none. Call it before checking anything that may have changed
// since the first call.
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

// idempotent runs do in a transaction, unless the request was made before. It
// returns the result of do, or the earlier result.
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
