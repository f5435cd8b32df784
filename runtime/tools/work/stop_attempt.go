package work

import (
	"context"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
)

type stopAttemptIn struct {
	ID    contract.UUID `json:"attempt_id" required:"true" doc:"Attempt to stop, from list_task_attempts."`
	Force bool          `json:"force" default:"false" doc:"Kill the agent and its children at once, where it would be asked to end first and killed after some seconds. Default false."`
}

// Stopped is the answer of stop_attempt.
type Stopped struct {
	AttemptID contract.UUID `json:"attempt_id" doc:"The attempt that was asked for."`
	Force     bool          `json:"force" doc:"Whether it was killed at once."`
	Stopped   bool          `json:"stopped" doc:"Whether something ran and was stopped. False: nothing ran, which is no failure."`
	State     string        `json:"state" enum:"idle,running,completed,failed" doc:"Where the attempt stands now."`
}

func (o Options) stopAttempt() contract.Tool {
	return define(o, spec{
		name: o.name("stop_attempt"), title: "Stop an attempt", idempotent: true,
		about: about{
			useWhen: "the running agent or script of an attempt shall end now. What it has written stays, uncommitted.",
			next:    "get_attempt_changes for what was done, or follow_up to go on.",
			avoid:   "force=true at first: an agent that is asked to end can still save its conversation.",
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

// stoppedOf words how a stop went.
func stoppedOf(s tasks.Stopped) Stopped {
	return Stopped{contract.UUID(s.AttemptID), s.Force, s.Stopped, string(s.State)}
}
