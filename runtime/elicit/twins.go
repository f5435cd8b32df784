package elicit

import (
	"context"

	"github.com/deskhand/deskhand/runtime/store"
)

// mostTwins is the maximum number of requests that Twins returns. It is rare for a
// client to have the same question open twice.
const mostTwins = 20

// Twins returns the requests from the same source that ask the same question as r
// and can still be answered: newest first, at most 20.
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
