package a2a

import (
	"context"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// Runner runs this installation's agents. Its methods may be called
// concurrently. Faults that they return are shown to the client. The fault code
// "not_found" means that the attempt does not exist.
type Runner interface {
	// Start starts an agent with a prompt and returns its attempt's ID. Calls
	// with the same key start it only once.
	Start(ctx context.Context, prompt, key string) (attempt string, err error)
	// Look returns the attempt's current state.
	Look(ctx context.Context, attempt string) (Run, error)
	// Stop stops the attempt's agent.
	Stop(ctx context.Context, attempt string) error
}

// The states of a [Run].
const (
	Working   = a2a.TaskStateWorking
	Completed = a2a.TaskStateCompleted
	Failed    = a2a.TaskStateFailed
	Canceled  = a2a.TaskStateCanceled
)

// Run is the current state of an attempt.
type Run struct {
	State  a2a.TaskState
	Text   string    // the agent's final message, or why it failed
	Branch string    // the branch with its work
	Active time.Time // time of the last activity
}

// start starts an agent with a message's text as the prompt.
func (s *Server) start(ctx context.Context, m *a2a.Message) (attempt string, err error) {
	prompt := textOf(m)
	if prompt == "" {
		return "", invalid("the message has no task: send a text part")
	}
	return s.o.Runner.Start(ctx, prompt, "a2a:"+m.ID)
}

// running reads a run-task task. An open question of the agent takes precedence
// over the run's state.
func (s *Server) running(ctx context.Context, t *task) (now snapshot, err error) {
	if s.o.Runner == nil {
		return now, fault.New("no_skill", "the task used the skill "+RunSkill+", which is no longer available", "")
	}
	now.task = t
	err = s.db.View(ctx, func(tx *store.Tx) error {
		now.seq = tx.Seq
		return nil
	})
	if err != nil {
		return now, fmt.Errorf("read feed: %w", err)
	}
	run, err := s.o.Runner.Look(ctx, t.subject)
	if err != nil {
		return now, err
	}
	asks, err := s.hub.List(ctx, elicit.Filter{AttemptID: t.subject, Statuses: []elicit.Status{elicit.Open}})
	if err != nil {
		return now, fmt.Errorf("read the agent's questions: %w", err)
	}
	if n := len(asks.Requests); n > 0 && run.State == Working {
		now.open = &asks.Requests[n-1] // the list is newest first, so this is the oldest
		now.view = t.view(now.open)
		return now, nil
	}
	data := map[string]any{"attemptId": t.subject, "branch": run.Branch}
	parts := []*a2a.Part{a2a.NewDataPart(data)}
	if run.Text != "" {
		parts = append([]*a2a.Part{a2a.NewTextPart(run.Text)}, parts...)
	}
	now.view = t.as(run.State, string(run.State), run.Active, parts)
	if run.State == Completed {
		now.view.Artifacts = []*a2a.Artifact{{ID: a2a.ArtifactID(string(t.id) + "-result"), Name: "result", Parts: parts}}
	}
	return now, nil
}
