package board

import (
	"context"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// tellWait is how long a message waits for an agent to start or stop. After
// that, the person is told to retry. tellEvery is the interval between checks.
const (
	tellWait  = 20 * time.Second
	tellEvery = 150 * time.Millisecond
)

// tell sends a message to an attempt's agent: send does so immediately, queue
// does so after the current run, and interrupt stops the current run first. If
// a session is about to begin, tell waits for it, because the attempt's page
// exists before the session.
func (b *Board) tell(ctx context.Context, m *tasks.Manager, how string, q tasks.FollowUpRequest) error {
	q.Action = tasks.Send
	if how == "queue" {
		q.Action = tasks.Queue
	}
	if how == "interrupt" && q.Prompt != "" {
		if _, err := m.Stop(ctx, q.AttemptID, false); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, tellWait)
	defer cancel()
	defer context.AfterFunc(b.stopped, cancel)()
	for {
		_, err := m.FollowUp(ctx, q)
		f := fault.Of(err)
		wait := f != nil && f.Retryable && (f.Code == tasks.NoSession || f.Code == tasks.AttemptRunning && how == "interrupt")
		if !wait {
			return err
		}
		select {
		case <-ctx.Done():
			return f
		case <-time.After(tellEvery):
		}
	}
}
