package work

import (
	"context"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
)

type startTaskAttemptIn struct {
	TaskID    contract.UUID `json:"task_id" required:"true" doc:"ID of the task, from list_tasks or create_task."`
	Executor  string        `json:"executor" required:"true" visible:"true" doc:"Coding agent to run: an executor from list_executors."`
	Repos     []repoIn      `json:"repos" required:"true" min:"1" max:"50" doc:"1 to 50 repositories of the task's project to work on, without duplicates."`
	Variant   string        `json:"variant" visible:"true" doc:"One of the executor's variants. Default: its default_variant."`
	Prompt    string        `json:"prompt" visible:"true" max:"100000" doc:"Prompt for the agent, at most 100000 characters. Default: the task's title and description."`
	RequestID string        `json:"request_id" visible:"true" max:"200" doc:"Idempotency key, for example a new UUID, at most 200 characters: a retry with the same key and arguments returns the existing attempt. If omitted, every call starts an attempt."`
}

type repoIn struct {
	ID           contract.UUID `json:"repo_id" required:"true" doc:"A repository, from list_repos."`
	TargetBranch string        `json:"target_branch" visible:"true" doc:"Branch to start from and compare with. Default: the repository's default_target_branch."`
}

// Started is the result of start_task_attempt.
type Started struct {
	TaskID    contract.UUID  `json:"task_id" doc:"The task."`
	AttemptID contract.UUID  `json:"attempt_id" doc:"The new attempt."`
	Branch    string         `json:"workspace_branch" doc:"The attempt's git branch, in each repository."`
	SessionID *contract.UUID `json:"session_id" doc:"The agent's session. Null until the agent has started; then get_attempt_status returns it."`
	ProcessID *contract.UUID `json:"execution_process_id" doc:"The first process: the setup script if there is one, otherwise the agent."`
}

func (o Options) startTaskAttempt() contract.Tool {
	return lasting[Started](o, define(o, spec{
		name: o.name("start_task_attempt"), title: "Start an attempt", additive: true,
		about: about{
			useWhen: "a coding agent should work on a task, on its own git branch and in its own folder.",
			next:    "get_attempt_status until state is not running, tail_attempt_logs to watch it, get_attempt_changes for the result.",
			avoid:   "starting a second attempt to correct the first: follow_up continues it. A retry without request_id starts another attempt.",
		},
	}, func(ctx context.Context, in startTaskAttemptIn) (out Started, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		s, err := m.Start(ctx, tasks.StartRequest{
			TaskID: string(in.TaskID), Executor: in.Executor, Variant: in.Variant, Prompt: in.Prompt, RequestID: in.RequestID,
			Repos: each(in.Repos, func(r repoIn) tasks.RepoTarget {
				return tasks.RepoTarget{RepoID: string(r.ID), TargetBranch: r.TargetBranch}
			}),
		})
		if err != nil {
			return out, err
		}
		return startedOf(s), nil
	}))
}

// startedOf converts a started attempt to the tool's result.
func startedOf(s tasks.Started) Started {
	return Started{contract.UUID(s.TaskID), contract.UUID(s.AttemptID), s.Branch, idOrNull(s.SessionID), idOrNull(s.ProcessID)}
}
