package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tools/docs"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

// workRoom is the store of tasks and the people who are asked about them, opened
// by the first call that needs it.
type workRoom struct {
	app *app
	log *slog.Logger

	mu      sync.Mutex
	db      *store.DB // nil until open
	hub     *elicit.Hub
	tell    func() // sends the last spans
	manager *tasks.Manager
	// serve is [tasks.Options.Serve], which a runner has.
	serve func(ctx context.Context, attempt tasks.Attempt, process tasks.Process) (url, token string, stop func(), err error)
}

func (w *workRoom) open(ctx context.Context) (*tasks.Manager, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.manager != nil {
		return w.manager, nil
	}
	place, err := w.app.settings.place()
	if err != nil {
		return nil, err
	}
	o, err := w.app.tasksOptions()
	if err != nil {
		return nil, err
	}
	options, tell, err := w.app.hubOptions(w.log)
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, place, append(tasks.Rooms(), elicit.Room())...)
	if err != nil {
		tell()
		return nil, err
	}
	options.Settle = nil // what follows looks for dead runners itself
	w.db, w.hub, w.tell = db, elicit.New(db, options), tell
	o.Log, o.Questions, o.FollowQuestions, o.Serve, o.Ask = w.log, w.count, w.followQuestions, w.serve, w.ask
	o.TurnEnded = w.turnEnded
	w.manager = tasks.New(db, o)
	return w.manager, nil
}

// close ends what open has opened.
func (w *workRoom) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.manager == nil {
		return
	}
	w.manager.Close()
	w.hub.Close()
	if err := w.db.Close(); err != nil && w.log != nil {
		w.log.Warn("store not closed", "error", err)
	}
	w.tell()
}

// tools are those over work, worded as those over docs, for a process that runs
// in dir.
func (w *workRoom) tools(ctx context.Context, as docs.Options, dir string) ([]contract.Tool, error) {
	o := work.Options{
		Open:   func(ctx context.Context) (work.Manager, error) { return w.open(ctx) },
		Prefix: as.Prefix, MaxAnswerBytes: as.MaxAnswerBytes,
		Questions: w.questions, Pauses: w.pauses, Show: w.show, Take: w.take,
	}
	m, err := w.open(ctx)
	if err != nil {
		return nil, err
	}
	if o.AttemptID, err = m.AttemptAt(ctx, dir); err != nil {
		return nil, err
	}
	return work.Tools(o), nil
}

func (w *workRoom) waiting(ctx context.Context, attemptID string) ([]elicit.Request, error) {
	if w.hub == nil {
		return nil, errors.New("the store is not open")
	}
	list, err := w.hub.List(ctx, elicit.Filter{AttemptID: attemptID})
	return list.Requests, err
}

// count is how many questions of the run of an attempt wait for a person. One
// that has outlived its run holds up nothing.
func (w *workRoom) count(ctx context.Context, attemptID string) (n int, err error) {
	requests, err := w.waiting(ctx, attemptID)
	for _, r := range requests {
		if r.TurnEnd == nil {
			n++
		}
	}
	return n, err
}

// questions are those that wait, and those that have outlived their run.
func (w *workRoom) questions(ctx context.Context, attemptID string) (list []work.Question, err error) {
	requests, err := w.waiting(ctx, attemptID)
	for _, r := range requests {
		list = append(list, work.Question{ID: r.ID, Text: shortened(r.Message, 200), Asked: contract.Time{Time: r.CreatedAt.Time}, Standing: r.Standing()})
	}
	return list, err
}

// visitor is what a door can do with a client that follows a run.
type visitor interface {
	CanShow(r *elicit.Request) bool
	Put(r *elicit.Request)
	Actions(r *elicit.Request) []elicit.Action
	Unattended(r *elicit.Request) bool
}

// show lets a client show what waits for a person in an attempt.
func (w *workRoom) show(ctx context.Context, attemptID string, client any) error {
	v, ok := client.(visitor)
	if !ok {
		return nil
	}
	requests, err := w.waiting(ctx, attemptID)
	for i := range requests {
		if v.CanShow(&requests[i]) {
			v.Put(&requests[i])
		}
	}
	return err
}

// take does what a client's person has answered.
func (w *workRoom) take(ctx context.Context, attemptID string, client any) error {
	v, ok := client.(visitor)
	if !ok {
		return nil
	}
	requests, err := w.waiting(ctx, attemptID)
	for i := range requests {
		if err == nil {
			err = w.hub.Take(ctx, v.Actions(&requests[i]), v.Unattended(&requests[i]))
		}
	}
	return err
}

// pauses are the times for which an attempt has waited for a person: an asker is
// let go at the deadline, even if somebody answers later.
func (w *workRoom) pauses(ctx context.Context, attemptID string) (list []work.Pause, err error) {
	if w.hub == nil {
		return nil, errors.New("the store is not open")
	}
	page, err := w.hub.List(ctx, elicit.Filter{AttemptID: attemptID, Statuses: []elicit.Status{elicit.Open, elicit.ExpiredOpen, elicit.Completed}, Limit: 1000})
	for _, r := range page.Requests {
		p := work.Pause{ID: r.ID, Text: shortened(r.Message, 200), Paused: contract.Time{Time: r.CreatedAt.Time}}
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
