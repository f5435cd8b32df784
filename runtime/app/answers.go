package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	asktools "github.com/deskhand/deskhand/runtime/tools/ask"
)

// If an attempt's agent ended before it received an answer, the answer becomes a
// follow-up. Any process may deliver it, and several may try concurrently: the question's
// ID is the follow-up's request_id.

// answersFor is how long deskhand tries to deliver an answer. People rarely leave a
// server stopped for as long as a day, and request IDs are kept for longer than that.
const answersFor = elicit.AnswersFor

// followAnswers delivers late answers until ctx ends.
func (a *App) followAnswers(ctx context.Context) {
	m, err := a.Work(ctx)
	if err != nil {
		return // the next tool call reports the error
	}
	wake := make(chan struct{}, 1)
	var watching sync.WaitGroup
	watching.Go(func() { a.watchAnswers(ctx, wake) })
	watching.Go(func() { watchEnds(ctx, m, wake) })
	defer watching.Wait()
	for {
		if err := a.deliverAll(ctx, m); err != nil && ctx.Err() == nil {
			a.log.Warn("late answers not delivered", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-time.After(time.Minute):
		}
	}
}

func (a *App) watchAnswers(ctx context.Context, wake chan<- struct{}) {
	hub, err := a.Hub(ctx)
	if err != nil {
		return // followAnswers checks again within a minute
	}
	list, err := hub.List(ctx, elicit.Filter{Limit: 1})
	if err != nil {
		return
	}
	watch, err := hub.Watch(ctx, list.Seq, "")
	if err != nil {
		return
	}
	wakeOn(ctx, watch, wake, func(c elicit.Change) bool { return c.Action.Type == elicit.CompletedBy })
}

func watchEnds(ctx context.Context, m *tasks.Manager, wake chan<- struct{}) {
	watch, err := m.Watch(ctx, -1, "")
	if err != nil {
		return
	}
	wakeOn(ctx, watch, wake, func(e tasks.Event) bool { return e.Type == tasks.ProcessEnded })
}

// wakeOn signals wake for each event that concerns it, and if it may have missed one, until
// ctx ends or the store is closed. It closes w.
func wakeOn[T any](ctx context.Context, w interface {
	Next(context.Context) ([]T, error)
	Resume(context.Context, error) error
	Close()
}, wake chan<- struct{}, concerns func(T) bool) {
	defer w.Close()
	for {
		events, err := w.Next(ctx)
		missed := err != nil
		if w.Resume(ctx, err) != nil {
			return
		}
		if missed || slices.ContainsFunc(events, concerns) {
			signal(wake)
		}
	}
}

func signal(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default: // a check is already due
	}
}

func (a *App) deliverAll(ctx context.Context, m *tasks.Manager) error {
	hub, err := a.Hub(ctx)
	if err != nil {
		return err
	}
	list, err := hub.List(ctx, elicit.Filter{Statuses: []elicit.Status{elicit.Completed}, Undelivered: true, OfAttempts: true, Limit: 200})
	if err != nil {
		return err
	}
	for _, r := range list.Requests {
		if !Tells(&r) || time.Since(r.Completion.At.Time) > answersFor {
			continue
		}
		err = errors.Join(err, a.deliver(ctx, m, r))
	}
	return err
}

// deliver sends an answer to the attempt's agent if the agent did not receive it.
func (a *App) deliver(ctx context.Context, m *tasks.Manager, r elicit.Request) error {
	missed, err := missed(ctx, m, r)
	if err != nil || !missed {
		return err
	}
	_, err = m.FollowUp(ctx, tasks.FollowUpRequest{
		Action: tasks.Queue, AttemptID: r.Context.AttemptID, Prompt: lateAnswer(&r), RequestID: "answer-" + r.ID, OfStarter: true,
	})
	if fault.Of(err) != nil {
		return nil // the attempt no longer exists, or its agent accepts no follow-ups
	}
	if err == nil {
		var hub *elicit.Hub
		if hub, err = a.Hub(ctx); err == nil {
			err = hub.Delivered(ctx, r)
		}
	}
	return err
}

// Tells reports whether r holds something that the agent must act on: an answer, or the
// reason why there is no answer. Budget questions are the runner's and not the agent's.
func Tells(r *elicit.Request) bool {
	return r.Context.AttemptID != "" && r.Trigger != elicit.TaskGate && r.Undelivered() && (r.Accepted() || r.Completion.Note != "")
}

// TellAttempt delivers a new answer to the attempt that asked the question, if an
// attempt asked it. It needs no running server.
func (a *App) TellAttempt(ctx context.Context, r elicit.Request) error {
	if !Tells(&r) {
		return nil
	}
	m, err := a.Work(ctx)
	if err != nil {
		return err
	}
	return a.deliver(ctx, m, r)
}

// missed reports whether the agent that asked has ended without receiving the answer. It
// returns false if the task is over, or if a person stopped the agent after answering.
func missed(ctx context.Context, m *tasks.Manager, r elicit.Request) (bool, error) {
	c, err := m.Context(ctx, r.Context.AttemptID)
	if fault.Of(err) != nil || err == nil && (c.Task.Status == tasks.Done || c.Task.Status == tasks.Cancelled) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	processes, err := m.Processes(ctx, r.Context.AttemptID)
	if err != nil || len(processes) == 0 {
		return false, err
	}
	newest := slices.MaxFunc(processes, func(a, b tasks.Process) int { return a.Created.Compare(b.Created) })
	if !newest.State.Ended() || newest.State == tasks.Killed && !r.Completion.At.After(newest.Completed) {
		return false, nil
	}
	return true, nil
}

// lateAnswer returns a prompt with the questions and the person's answers.
func lateAnswer(r *elicit.Request) string {
	var b strings.Builder
	b.WriteString("You asked a person a question, and your turn ended before the answer arrived. Here is the answer; continue with it.\n")
	if !r.Accepted() {
		for _, q := range r.Questions {
			fmt.Fprintf(&b, "\nQuestion: %s\n", q.Message)
		}
		fmt.Fprintf(&b, "The person %s and gave no answer. Do not assume one.\n", r.Completion.Words())
	}
	for i, a := range asktools.OutputOf(r).Answers {
		if i < len(r.Questions) {
			fmt.Fprintf(&b, "\nQuestion: %s\n", r.Questions[i].Message)
		}
		fmt.Fprintf(&b, "Answer: %s\n", strings.Join(a.Texts(), ", "))
	}
	if note := r.Completion.Note; note != "" {
		fmt.Fprintf(&b, "\nThe person's note: %s\n", note)
	}
	return b.String()
}
