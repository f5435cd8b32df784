package work

import (
	"context"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
)

type stopAttemptIn struct {
	ID    contract.UUID `json:"attempt_id" required:"true" doc:"Attempt to stop, from list_task_attempts."`
	Force bool          `json:"force" default:"false" doc:"Kill the agent and its children immediately instead of asking it to exit and killing it after some seconds. Default false."`
}

// Stopped is the result of stop_attempt.
type Stopped struct {
	AttemptID contract.UUID `json:"attempt_id" doc:"The requested attempt."`
	Force     bool          `json:"force" doc:"Whether it was killed immediately."`
	Stopped   bool          `json:"stopped" doc:"Whether a process was running and was stopped. False is not an error; it means that no process was running."`
	State     string        `json:"state" enum:"idle,running,completed,failed" doc:"The attempt's current state."`
}

func (o Options) stopAttempt() contract.Tool {
	return define(o, spec{
		name: o.name("stop_attempt"), title: "Stop an attempt", idempotent: true,
		about: about{
			useWhen: "an attempt's running agent or script should stop now. Its uncommitted changes stay.",
			next:    "get_attempt_changes for what was done, or follow_up to continue.",
			avoid:   "force=true at first: an agent that is asked to exit can still save its conversation.",
		},
	}, func(ctx context.Context, in stopAttemptIn) (out Stopped, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		s, err := m.Stop(ctx, string(in.ID), in.Force)
		if err != nil {
			return out, err
		}
		return stoppedOf(s), nil
	})
}

// stoppedOf converts the outcome of a stop to the tool's result.
func stoppedOf(s tasks.Stopped) Stopped {
	return Stopped{contract.UUID(s.AttemptID), s.Force, s.Stopped, string(s.State)}
}
