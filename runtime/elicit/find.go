package elicit

import (
	"context"
	"strings"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/store"
)

// Newest names a request in place of its ID: the newest one that waits for a person,
// or else the newest of all.
const Newest = "newest"

// leastPart is the length of the shortest part of an ID that names a request.
const leastPart = 4

// Find is [Hub.Settled] for what a person types: an ID, at least four characters from
// the end or from the start of one, or [Newest]. If attempt is not empty, only the
// requests of this attempt count. If sole is true, [Newest] is refused while several
// requests wait, because another one may arrive between reading and answering. Faults:
// unknown_request, ambiguous_id.
func (h *Hub) Find(ctx context.Context, part, attempt string, sole bool) (Request, error) {
	id, err := h.idOf(ctx, part, attempt, sole)
	if err != nil {
		return Request{}, err
	}
	return h.Settled(ctx, id)
}

func (h *Hub) idOf(ctx context.Context, part, attempt string, sole bool) (id string, err error) {
	err = h.db.View(ctx, func(tx *store.Tx) error {
		if part == Newest {
			id, err = newestID(ctx, tx, attempt, sole)
			return err
		}
		id = part
		low := strings.ToUpper(strings.TrimPrefix(strings.ToLower(part), idPrefix))
		if len(low) < leastPart || len(low) >= idLength || strings.ContainsFunc(low, func(r rune) bool { return (r < '0' || r > '9') && (r < 'A' || r > 'Z') }) {
			return nil // [Hub.Get] reports it
		}
		clause, args := Filter{Statuses: everyStatus, AttemptID: attempt}.where(access.Of(ctx))
		found, err := requestIDs(ctx, tx, clause+" AND (id LIKE ? OR id LIKE ?) ORDER BY asked DESC LIMIT 2", append(args, idPrefix+low+"%", idPrefix+"%"+low)...)
		switch {
		case err != nil:
			return err
		case len(found) > 1:
			return reject(AmbiguousID, "", "several questions begin or end with %q, for example %s and %s", brief(part), found[0], found[1])
		case len(found) == 1:
			id = found[0]
		}
		return nil
	})
	return id, err
}

var everyStatus = []Status{Open, ExpiredOpen, Completed}

func newestID(ctx context.Context, tx *store.Tx, attempt string, sole bool) (string, error) {
	c := access.Of(ctx)
	clause, args := Filter{AttemptID: attempt}.where(c)
	found, err := requestIDs(ctx, tx, clause+" ORDER BY asked DESC, id DESC LIMIT 2", args...)
	if err == nil && len(found) == 0 {
		clause, args = Filter{Statuses: everyStatus, AttemptID: attempt}.where(c)
		found, err = requestIDs(ctx, tx, clause+" ORDER BY asked DESC, id DESC LIMIT 1", args...)
	}
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", reject(UnknownRequest, "", "there is no question yet")
	case len(found) > 1 && sole:
		return "", reject(AmbiguousID, "", "several questions are open, so %q could be another one than you mean", Newest)
	}
	return found[0], nil
}
