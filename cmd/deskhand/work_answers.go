package main

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

// An answer that nobody of an attempt waits for any more, as its agent has ended,
// becomes a follow-up. Any process may see to that, and all at once: the id of
// the question is the follow-up's request_id.

// answersFor is how long an answer is looked at. A day is longer than people
// leave a server stopped, and shorter than request ids are kept.
const answersFor = 24 * time.Hour

// followAnswers delivers late answers until ctx ends.
func (w *workRoom) followAnswers(ctx context.Context) {
	m, err := w.open(ctx)
	if err != nil {
		return // whoever calls a tool is told
	}
	wake := make(chan struct{}, 1)
	var watching sync.WaitGroup
	watching.Go(func() { w.watchAnswers(ctx, wake) })
	watching.Go(func() { watchEnds(ctx, m, wake) })
	defer watching.Wait()
	for {
		if err := w.deliverAll(ctx, m); err != nil && ctx.Err() == nil {
			w.log.Warn("late answers not delivered", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-time.After(time.Minute):
		}
	}
}

func (w *workRoom) watchAnswers(ctx context.Context, wake chan<- struct{}) {
	list, err := w.hub.List(ctx, elicit.Filter{Limit: 1})
	if err != nil {
		return // the minute is left
	}
	watch, err := w.hub.Watch(ctx, list.Seq, "")
	if err != nil {
		return
	}
	defer watch.Close()
	for {
		changes, err := watch.Next(ctx)
		if err != nil {
			return
		}
		if slices.ContainsFunc(changes, func(c elicit.Change) bool { return c.Action.Type == elicit.CompletedBy }) {
			rouse(wake)
		}
	}
}

func watchEnds(ctx context.Context, m *tasks.Manager, wake chan<- struct{}) {
	watch, err := m.Watch(ctx, -1, "")
	if err != nil {
		return
	}
	defer watch.Close()
	for {
		events, err := watch.Next(ctx)
		if err != nil {
			return
		}
		if slices.ContainsFunc(events, func(e tasks.Event) bool { return e.Type == tasks.ProcessEnded }) {
			rouse(wake)
		}
	}
}

func rouse(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default: // somebody will look anyway
	}
}

func (w *workRoom) deliverAll(ctx context.Context, m *tasks.Manager) error {
	list, err := w.hub.List(ctx, elicit.Filter{Statuses: []elicit.Status{elicit.Completed}, Limit: 200})
	if err != nil {
		return err
	}
	for _, r := range list.Requests {
		if r.Context.AttemptID == "" || !r.Accepted() || !r.CollectedAt.IsZero() || time.Since(r.Completion.At.Time) > answersFor {
			continue
		}
		err = errors.Join(err, w.deliver(ctx, m, r))
	}
	return err
}

// deliver tells the agent of an attempt what a person has answered, if it does
// not know.
func (w *workRoom) deliver(ctx context.Context, m *tasks.Manager, r elicit.Request) error {
	missed, err := missed(ctx, m, r)
	if err != nil || !missed {
		return err
	}
	_, err = m.FollowUp(ctx, tasks.FollowUpRequest{
		Action: tasks.Queue, AttemptID: r.Context.AttemptID, Prompt: lateAnswer(&r), RequestID: "answer-" + r.ID,
	})
	if fault.Of(err) != nil {
		return nil // the attempt is gone, or its agent takes no follow-up
	}
	if err == nil {
		_, err = w.hub.Wait(ctx, r.ID) // which notes that it was fetched
	}
	return err
}

// missed says that the agent which asked has ended, and without the answer. One
// that a person has stopped, or whose task is over, is left in peace.
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
	if !newest.State.Ended() || newest.State == tasks.Killed {
		return false, nil
	}
	return r.Completion.Late || r.AskerGone || r.Completion.At.After(newest.Completed), nil
}

// lateAnswer is a prompt with what was asked and what was answered.
func lateAnswer(r *elicit.Request) string {
	var b strings.Builder
	b.WriteString("You asked a person, and ended before the answer came. It is here now; go on with it.\n")
	for i, a := range asktools.OutputOf(r).Answers {
		if i < len(r.Questions) {
			fmt.Fprintf(&b, "\nQuestion: %s\n", r.Questions[i].Message)
		}
		fmt.Fprintf(&b, "Answer: %s\n", strings.Join(answerTexts(a), ", "))
	}
	return b.String()
}
