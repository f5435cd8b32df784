package app

import (
	"context"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// glance is the maximum time for which a change in an attempt's questions may go
// unnoticed if the feed does not report the change.
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

// tellQuestions does the work of followQuestions until an error occurs.
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

// untilConcerned waits until the result of take may have changed.
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

// openQuestions holds those questions of a run that are waiting for a person. It
// excludes a question from an earlier run, unless an agent is waiting for it
// again.
type openQuestions struct {
	attemptID string
	since     time.Time
	known     map[string]bool // open questions of the attempt
	returned  map[string]bool // questions from earlier runs that this run is waiting for
}

// take records the open questions and reports whether the run is waiting for one of
// them.
func (o *openQuestions) take(list elicit.List) (waits bool) {
	o.known = map[string]bool{}
	for _, r := range list.Requests {
		o.known[r.ID] = true
		ours := !r.CreatedAt.Time.Before(o.since) || o.returned[r.ID]
		waits = waits || ours && !r.AskerGone && !r.HandedBack // otherwise the agent is doing something else
	}
	return waits
}

// concerns reports whether an action may change the result of take.
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
