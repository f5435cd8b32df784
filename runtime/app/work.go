package app

import (
	"context"
	"slices"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	textutil "github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/tools/ask"
	"github.com/deskhand/deskhand/runtime/tools/docs"
	"github.com/deskhand/deskhand/runtime/tools/land"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

// workTools returns the work tools for a process that runs in dir, with the prefix and
// answer limit of the docs tools.
func (a *App) workTools(ctx context.Context, as docs.Options, dir string) ([]contract.Tool, error) {
	o := work.Options{
		Open:   func(ctx context.Context) (work.Manager, error) { return a.Work(ctx) },
		Prefix: as.Prefix, MaxAnswerBytes: as.MaxAnswerBytes,
		Questions: a.Questions, Pauses: a.Pauses, Show: a.show, Take: a.take,
	}
	m, err := a.Work(ctx)
	if err != nil {
		return nil, err
	}
	if o.AttemptID, err = m.AttemptAt(ctx, dir); err != nil {
		return nil, err
	}
	return work.Tools(o), nil
}

// addLand serves the land tools, which ask people with toolset. toolset is nil if the
// tools are only listed.
func (l *docsServer) addLand(a *App, toolset *ask.Toolset) {
	o := land.Options{
		Open: func(ctx context.Context) (land.Manager, error) { return a.Work(ctx) },
		Work: work.Options{Prefix: l.tools.Prefix, MaxAnswerBytes: l.tools.MaxAnswerBytes},
	}
	if toolset != nil {
		o.Desk = toolset
	}
	l.add(land.Instructions(o), land.Tools(o)...)
}

func (a *App) waiting(ctx context.Context, attemptID string) ([]elicit.Request, error) {
	hub, err := a.Hub(ctx)
	if err != nil {
		return nil, err
	}
	list, err := hub.List(ctx, elicit.Filter{AttemptID: attemptID})
	return list.Requests, err
}

// count returns how many questions of the attempt's current run wait for a person. A
// question that has outlived its run does not hold up the attempt.
func (a *App) count(ctx context.Context, attemptID string) (n int, err error) {
	requests, err := a.waiting(ctx, attemptID)
	for _, r := range requests {
		if r.TurnEnd == nil {
			n++
		}
	}
	return n, err
}

// Questions returns the attempt's open questions, including questions that
// outlived their run.
func (a *App) Questions(ctx context.Context, attemptID string) (list []work.Question, err error) {
	requests, err := a.waiting(ctx, attemptID)
	for _, r := range requests {
		list = append(list, work.Question{ID: r.ID, Text: textutil.Shorten(r.Message, 200), Asked: contract.Time{Time: r.CreatedAt.Time}, Standing: r.Standing()})
	}
	return list, err
}

// asked returns the text of the first open question of each attempt that asks one, by the
// attempt's ID.
func (a *App) asked(ctx context.Context) (map[string]string, error) {
	hub, err := a.Hub(ctx)
	if err != nil {
		return nil, err
	}
	list, err := hub.List(ctx, elicit.Filter{OfAttempts: true, Limit: 1000})
	asked := map[string]string{}
	for _, r := range slices.Backward(list.Requests) { // the first one stays
		asked[r.Context.AttemptID] = textutil.Shorten(r.Message, 200)
	}
	return asked, err
}

// visitor shows questions to a connected client that follows a run, and
// collects its answers.
type visitor interface {
	CanShow(r *elicit.Request) bool
	Put(r *elicit.Request)
	Actions(r *elicit.Request) []elicit.Action
	Unattended(r *elicit.Request) bool
}

// show lets a client show the attempt's questions that are waiting for a person.
func (a *App) show(ctx context.Context, attemptID string, client any) error {
	v, ok := client.(visitor)
	if !ok {
		return nil
	}
	requests, err := a.waiting(ctx, attemptID)
	for i := range requests {
		if v.CanShow(&requests[i]) {
			v.Put(&requests[i])
		}
	}
	return err
}

// take records the answers of a client's user.
func (a *App) take(ctx context.Context, attemptID string, client any) error {
	v, ok := client.(visitor)
	if !ok {
		return nil
	}
	hub, err := a.Hub(ctx)
	if err != nil {
		return err
	}
	requests, err := a.waiting(ctx, attemptID)
	for i := range requests {
		if err == nil {
			err = hub.Take(ctx, v.Actions(&requests[i]), v.Unattended(&requests[i]))
		}
	}
	return err
}

// Pauses returns the periods in which the attempt waited for a person. A period ends at
// the question's deadline, even if the answer comes later.
func (a *App) Pauses(ctx context.Context, attemptID string) (list []work.Pause, err error) {
	hub, err := a.Hub(ctx)
	if err != nil {
		return nil, err
	}
	page, err := hub.List(ctx, elicit.Filter{AttemptID: attemptID, Statuses: []elicit.Status{elicit.Open, elicit.ExpiredOpen, elicit.Completed}, Limit: 1000})
	for _, r := range page.Requests {
		p := work.Pause{ID: r.ID, Text: textutil.Shorten(r.Message, 200), Paused: contract.Time{Time: r.CreatedAt.Time}}
		end, outcome := r.Deadline.Time, string(elicit.Timeout)
		if c := r.Completion; c != nil && !c.Late {
			end, outcome = c.At.Time, string(c.Outcome)
		}
		if r.Status != elicit.Open {
			p.Resumed, p.Outcome = &contract.Time{Time: end}, &outcome
		}
		list = append(list, p)
	}
	return list, err
}
