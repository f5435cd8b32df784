package elicit

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"sync"

	"github.com/deskhand/deskhand/runtime/store"
)

// If a connection breaks after a commit, the acknowledgement is lost: the answer is
// in the store, but its person gets an error. A repeated answer must not be refused
// because of the first one.

// unsure records the completions whose commit was not acknowledged.
type unsure struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]bool
}

// mostUnsure far exceeds the number of requests that people answer while a
// database restarts.
const mostUnsure = 1000

// complete dispatches a completion. If the completion is not acknowledged,
// complete retries it once, and recognizes it when the person sends it again.
func (h *Hub) complete(ctx context.Context, a Action) (Change, error) {
	key := keyOf(a)
	a.Origin = h.origin(ctx) // not part of the key, because a repeated action may come over another connection
	a.Again = h.unsure.has(key)
	c, err := h.dispatch(ctx, a)
	if !errors.Is(err, store.ErrUncertain) {
		return c, err
	}
	h.unsure.add(key)
	a.Again = true
	again, err2 := h.dispatch(ctx, a)
	if err2 != nil && !errors.As(err2, new(*Rejection)) {
		return c, err
	}
	return again, err2
}

func keyOf(a Action) [sha256.Size]byte {
	data, err := json.Marshal(a)
	if err != nil {
		return [sha256.Size]byte{} // the store refuses it as well
	}
	return sha256.Sum256(data)
}

func (u *unsure) has(key [sha256.Size]byte) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.known[key]
}

func (u *unsure) add(key [sha256.Size]byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.known == nil || len(u.known) >= mostUnsure {
		u.known = map[[sha256.Size]byte]bool{}
	}
	u.known[key] = true
}
