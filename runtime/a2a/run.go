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

// Runner has agents of this installation work. Its methods may be called at once; their
// faults are for the client, and code "not_found" says that there is no such
// attempt.
type Runner interface {
	// Start has an agent work on a prompt and returns the id of the attempt. The
	// same key starts once.
	Start(ctx context.Context, prompt, key string) (attempt string, err error)
	// Look says where an attempt stands.
	Look(ctx context.Context, attempt string) (Run, error)
	// Stop ends what the agent does.
	Stop(ctx context.Context, attempt string) error
}

// Where an attempt may stand.
const (
	Working   = a2a.TaskStateWorking
	Completed = a2a.TaskStateCompleted
	Failed    = a2a.TaskStateFailed
	Canceled  = a2a.TaskStateCanceled
)

// Run is where an attempt stands.
type Run struct {
	State  a2a.TaskState
	Text   string    // what the agent said at the end, or why it failed
	Branch string    // where its work is
	Active time.Time // when something last happened
}

// start has an agent work on what a message says.
func (s *Server) start(ctx context.Context, m *a2a.Message) (attempt string, err error) {
	prompt := textOf(m)
	if prompt == "" {
		return "", invalid("there is nothing to do: send a text part")
	}
	return s.o.Runner.Start(ctx, prompt, "a2a:"+m.ID)
}

// running is a task of run-task: what its agent asks comes before where it
// stands.
func (s *Server) running(ctx context.Context, t *task) (now snapshot, err error) {
	if s.o.Runner == nil {
		return now, fault.New("no_skill", "the task was of the skill "+RunSkill+", which is no longer there", "")
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
		return now, fmt.Errorf("read what the agent asks: %w", err)
	}
	if n := len(asks.Requests); n > 0 && run.State == Working {
		now.open = &asks.Requests[n-1] // the list is newest first
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
