package elicit

import (
	"context"

	"github.com/deskhand/deskhand/runtime/store"
)

// mostTwins is the maximum number of requests that Twins returns. One client rarely
// has one question open twice.
const mostTwins = 20

// Twins returns the requests that ask the same as r from the same source and
// that a person can still answer: newest first, at most 20.
func (h *Hub) Twins(ctx context.Context, r Request) (twins []Request, err error) {
	if r, err = h.prepare(ctx, r); err != nil {
		return nil, err
	}
	err = h.db.View(ctx, func(tx *store.Tx) error {
		twins, err = queryRequests(ctx, tx, "WHERE digest = ? AND status IN (?, ?) ORDER BY asked DESC LIMIT ?", digest(r), Open, ExpiredOpen, mostTwins)
		return err
	})
	return twins, err
}
