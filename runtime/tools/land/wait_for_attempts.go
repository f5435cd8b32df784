package land

import (
	"context"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

type waitForAttemptsIn struct {
	IDs     []contract.UUID `json:"attempt_ids" required:"true" min:"1" max:"50" doc:"IDs of 1 to 50 attempts to wait for, from start_task_attempt or list_task_attempts."`
	Until   string          `json:"until" enum:"all,any" default:"\"all\"" doc:"all waits until every attempt has ended; any waits until one has ended. Default all."`
	Timeout *int64          `json:"timeout" min:"0" max:"1800000" default:"300000" doc:"How long to wait, in milliseconds: 0 to check without waiting, up to 1800000. Default 300000. Your client may end the call earlier."`
}

// defaultWait is how long the call waits if it does not say, as its schema tells.
const defaultWait = 5 * time.Minute

// Waited is the result of wait_for_attempts.
type Waited struct {
	Ended    bool           `json:"ended" doc:"Whether all attempts have ended, or any, as requested."`
	Attempts []AttemptState `json:"attempts" doc:"Current state of each attempt, in the order of attempt_ids."`
	Hint     *string        `json:"hint" doc:"What to do next. Null if there is no hint."`
}

// AttemptState is an attempt's current state.
type AttemptState struct {
	ID        contract.UUID `json:"attempt_id" doc:"The attempt."`
	State     string        `json:"state" enum:"idle,running,completed,failed" doc:"State of the newest process; idle if there is none."`
	Failure   *string       `json:"failure_summary" doc:"Why it failed, in one line. Null unless state is failed."`
	WaitsFor  *string       `json:"waits_for" enum:"person,place,starter" doc:"What it is waiting for: a person, a free slot, or its starter. Null if it is not waiting."`
	Questions int           `json:"pending_questions" doc:"Number of its questions that are waiting for a person."`
}

func (o Options) waitForAttempts() contract.Tool {
	return work.Define(o.Work, work.Described{
		Name: "wait_for_attempts", Title: "Wait until attempts end", Additive: true, Idempotent: true,
		UseWhen: "you have started attempts and have nothing else to do until all of them, or the first one, have ended.",
		Next:    "get_attempt_changes for completed attempts, tail_attempt_logs for failed ones; the same call again while ended is false.",
		Avoid:   "calling get_attempt_status in a loop instead; waiting although other work does not depend on the attempts.",
	}, func(ctx context.Context, caller contract.Caller, in waitForAttemptsIn) (out Waited, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		ids := make([]string, len(in.IDs))
		for i, id := range in.IDs {
			ids[i] = string(id)
		}
		states, ended, err := look(ctx, m, ids)
		if err != nil {
			return out, err
		}
		every, wait := in.Until != "any", defaultWait
		if in.Timeout != nil {
			wait = time.Duration(*in.Timeout) * time.Millisecond
		}
		if enough := ended == len(ids) || !every && ended > 0; !enough && wait > 0 {
			says := func() string { return "Waiting for the end of " + text.Count(len(ids), "attempt") }
			_, err := o.Desk.Held(ctx, caller, wait, says, func(ctx context.Context) error { return m.AwaitEnds(ctx, ids, every) })
			if err != nil {
				return out, err
			}
			if states, ended, err = look(ctx, m, ids); err != nil {
				return out, err
			}
		}
		out.Attempts, out.Ended = states, ended == len(ids) || !every && ended > 0
		if !out.Ended {
			hint := o.Work.Named("The attempts have not ended yet: call wait_for_attempts again, or do other work in the meantime.")
			out.Hint = &hint
		}
		return out, nil
	})
}

// look returns the attempts' states, and how many attempts have ended.
func look(ctx context.Context, m Manager, ids []string) (states []AttemptState, ended int, err error) {
	for _, id := range ids {
		s, err := m.Status(ctx, id)
		if err != nil {
			return nil, 0, err
		}
		if s.Ended() {
			ended++
		}
		states = append(states, AttemptState{contract.UUID(s.ID), string(s.State), textOrNull(s.Failure), textOrNull(string(s.WaitsFor)), s.Questions})
	}
	return states, ended, nil
}

var _ Manager = (*tasks.Manager)(nil)
