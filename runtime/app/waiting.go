package app

import (
	"context"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// glance is how long a change of the questions of an attempt may go unnoticed if
// the feed says nothing of it.
const glance = 30 * time.Second

// followQuestions implements [tasks.Options.FollowQuestions].
func (a *App) followQuestions(ctx context.Context, attemptID string, since time.Time, tell func(bool)) {
	open := openQuestions{attemptID: attemptID, since: since.Truncate(time.Millisecond), returned: map[string]bool{}}
	for ctx.Err() == nil {
		if err := a.tellQuestions(ctx, &open, tell); err != nil && ctx.Err() == nil {
			a.log.Warn("cannot follow the attempt's questions", "attempt_id", attemptID, "error", err)
			pause(ctx, time.Second)
		}
	}
}

// tellQuestions is followQuestions until something goes wrong.
func (a *App) tellQuestions(ctx context.Context, open *openQuestions, tell func(bool)) error {
	hub, err := a.Hub(ctx)
	if err != nil {
		return err
	}
	var watch *elicit.Watcher
	for {
		list, err := hub.List(ctx, elicit.Filter{AttemptID: open.attemptID, Statuses: []elicit.Status{elicit.Open}})
		if err != nil {
			return err
		}
		tell(open.take(list))
		if watch == nil {
			if watch, err = hub.Watch(ctx, list.Seq, ""); err != nil {
				return err
			}
			defer watch.Close()
		}
		if err := open.untilConcerned(ctx, watch); err != nil {
			return err
		}
	}
}

// untilConcerned waits until take may say something else.
func (o *openQuestions) untilConcerned(ctx context.Context, watch *elicit.Watcher) error {
	glancing, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	for {
		changes, err := watch.Next(glancing)
		if err != nil {
			if glancing.Err() != nil {
				return ctx.Err()
			}
			return err
		}
		news := false
		for _, c := range changes {
			news = o.concerns(c.Action) || news
		}
		if news {
			return nil
		}
	}
}

// openQuestions are those of a run that wait for a person. One that an earlier
// run has left is none of them, unless somebody waits for it again.
type openQuestions struct {
	attemptID string
	since     time.Time
	known     map[string]bool // open questions of the attempt
	returned  map[string]bool // of earlier runs, and waited for in this one
}

// take looks at all that are open, and says whether the run waits for one.
func (o *openQuestions) take(list elicit.List) (waits bool) {
	o.known = map[string]bool{}
	for _, r := range list.Requests {
		o.known[r.ID] = true
		ours := !r.CreatedAt.Time.Before(o.since) || o.returned[r.ID]
		waits = waits || ours && !r.AskerGone && !r.HandedBack // then the agent does something else
	}
	return waits
}

// concerns reports whether an action may change what take says.
func (o *openQuestions) concerns(a elicit.Action) bool {
	switch a.Type {
	case elicit.Requested:
		return a.Request != nil && a.Request.Context.AttemptID == o.attemptID
	case elicit.AnswerChanged:
		return false
	case elicit.AskerReturned:
		if o.known[a.RequestID] {
			o.returned[a.RequestID] = true
		}
	}
	return o.known[a.RequestID]
}
