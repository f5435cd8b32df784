package work

import (
	"context"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
)

type listTaskAttemptsIn struct {
	TaskID contract.UUID `json:"task_id" required:"true" doc:"Task whose attempts to list, from list_tasks."`
}

// Attempts is the result of list_task_attempts.
type Attempts struct {
	TaskID          contract.UUID  `json:"task_id" doc:"The requested task."`
	Attempts        []Attempt      `json:"attempts" doc:"Its attempts, newest first."`
	Count           int            `json:"count" doc:"Number of attempts in this answer."`
	Truncated       bool           `json:"truncated" doc:"Whether some older attempts are not listed."`
	LatestAttemptID *contract.UUID `json:"latest_attempt_id" doc:"The most recently created attempt. Null if there is none."`
	LatestSessionID *contract.UUID `json:"latest_session_id" doc:"Newest session of the newest attempt. Null before its agent has started."`
}

// Attempt is one attempt.
type Attempt struct {
	ID        contract.UUID  `json:"attempt_id" doc:"ID of the attempt, for follow_up, get_attempt_status and others."`
	Branch    string         `json:"workspace_branch" doc:"The attempt's git branch, in each of its repositories."`
	Created   contract.Time  `json:"created_at" doc:"When the attempt was created."`
	Updated   contract.Time  `json:"updated_at" doc:"When the attempt was last changed, for example by a follow-up."`
	SessionID *contract.UUID `json:"latest_session_id" doc:"Newest session of the attempt. Null before the agent has started."`
	Executor  *string        `json:"latest_session_executor" doc:"Executor of the newest session. Null if there is none."`
}

func (o Options) listTaskAttempts() contract.Tool {
	return define(o, spec{
		name: o.name("list_task_attempts"), title: "List the attempts at a task", readOnly: true,
		about: about{
			useWhen: "you want all attempts at a task, or the attempt_id of an older one.",
			next:    "get_attempt_status with an attempt_id, or follow_up.",
			avoid:   "calling this only for the newest attempt: list_tasks has it.",
		},
	}, func(ctx context.Context, in listTaskAttemptsIn) (out Attempts, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		attempts, err := m.Attempts(ctx, string(in.TaskID))
		if err != nil {
			return out, err
		}
		return attemptsOf(string(in.TaskID), attempts), nil
	})
}

// mostAttempts keeps a result under 64 KiB. An attempt takes about 300 bytes.
const mostAttempts = 200

// attemptsOf converts a task's attempts to the tool's result, newest first.
func attemptsOf(taskID string, attempts []tasks.AttemptSummary) Attempts {
	list := each(attempts[:min(len(attempts), mostAttempts)], func(a tasks.AttemptSummary) Attempt {
		return Attempt{
			ID: contract.UUID(a.ID), Branch: a.Branch, Created: stamp(a.Created), Updated: stamp(a.Updated),
			SessionID: idOrNull(a.SessionID), Executor: textOrNull(a.Executor),
		}
	})
	out := Attempts{TaskID: contract.UUID(taskID), Attempts: list, Count: len(list), Truncated: len(list) < len(attempts)}
	if len(list) > 0 {
		out.LatestAttemptID, out.LatestSessionID = &list[0].ID, list[0].SessionID
	}
	return out
}
