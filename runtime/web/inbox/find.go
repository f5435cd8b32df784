package inbox

import (
	"cmp"
	"context"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// Count returns how many questions are open, for the navigation.
func (in *Inbox) Count(ctx context.Context) (int, error) {
	hub, err := in.options.Hub(ctx)
	if err != nil {
		return 0, err
	}
	return hub.Count(ctx, elicit.Filter{})
}

// Find returns the open questions that contain all the words, in the order of the
// list; see [page.Shell].
func (in *Inbox) Find(ctx context.Context, words string, limit int) (found []page.Found, err error) {
	if !mayAnswer(ctx) {
		return nil, nil
	}
	hub, err := in.options.Hub(ctx)
	if err != nil {
		return nil, err
	}
	list, err := hub.List(ctx, elicit.Filter{Limit: mostShown})
	if err != nil {
		return nil, err
	}
	f := filter{Words: words}
	for i := range list.Requests {
		if r := &list.Requests[i]; f.match(r) && len(found) < limit {
			found = append(found, page.Found{Name: cmp.Or(page.Line(r.Heading()), "A question"), Path: "/inbox/" + r.ID, Kind: "question"})
		}
	}
	return found, nil
}
