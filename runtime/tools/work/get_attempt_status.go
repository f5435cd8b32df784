package work

import (
	"context"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
)

type getAttemptStatusIn struct {
	ID contract.UUID `json:"attempt_id" required:"true" doc:"ID of the attempt, from start_task_attempt, list_tasks or list_task_attempts."`
}

// Status is the result of get_attempt_status.
type Status struct {
	AttemptID contract.UUID  `json:"attempt_id" doc:"The requested attempt."`
	TaskID    contract.UUID  `json:"task_id" doc:"The attempt's task."`
	Branch    string         `json:"workspace_branch" doc:"The attempt's git branch, in each of its repositories."`
	Created   contract.Time  `json:"created_at" doc:"When the attempt was created."`
	Updated   contract.Time  `json:"updated_at" doc:"When the attempt was last changed."`
	SessionID *contract.UUID `json:"latest_session_id" doc:"Newest session. Null before the agent has started."`
	ProcessID *contract.UUID `json:"latest_execution_process_id" doc:"Newest process: setup script, agent or cleanup script. Null before the first."`
	State     string         `json:"state" enum:"idle,running,completed,failed" doc:"State of the newest process; idle if there is none. A stopped process counts as failed."`
	Active    *contract.Time `json:"last_activity_at" doc:"Time of the attempt's last activity. Null if there was none."`
	Failure   *string        `json:"failure_summary" doc:"Why it failed, in one line. Null unless state is failed."`
	Executor  *string        `json:"latest_session_executor" doc:"Executor of the newest session. Null without a session."`
	Waiting   bool           `json:"waiting_for_slot" doc:"Whether it is waiting because the maximum number of attempts is running."`
	WaitsFor  *string        `json:"waits_for" enum:"person,place,starter" doc:"What it is waiting for: a person's answer; a slot ('place'), if the maximum number is running; or its starter, if only the caller that started it can continue. Null if it is not waiting."`
	Usage     Usage          `json:"usage" doc:"Total usage of all runs, as far as their agents report it."`
	Questions int            `json:"pending_questions" doc:"Number of the run's questions that are waiting for a person."`
	Open      []Question     `json:"questions" doc:"The run's open questions, at most 10."`
	Queued    *QueuedMessage `json:"queued" doc:"The follow-up that is waiting or was discarded. Null if there is none."`
	Work      *string        `json:"work_state" enum:"on_branch,off_branch,landed" doc:"Whether all work is on workspace_branch, or on its target. Null while it runs."`
	WorkNotes []string       `json:"work_notes" doc:"Why work is not on the branch, with other notes for a person."`
	Ahead     int            `json:"ahead" doc:"Commits of the branch missing from its target, in all repositories. 0 while the attempt runs."`
	Behind    int            `json:"behind" doc:"Commits of the target missing from the branch. 0 while the attempt runs."`
	Conflicts []string       `json:"conflicts" doc:"Paths changed on both sides that git cannot merge, at most 100."`
	Landed    bool           `json:"landed" doc:"Whether the work has landed on the target."`
}

// Usage is the total consumption of the agents' runs.
type Usage struct {
	TokensIn  int64   `json:"input_tokens" doc:"Tokens that the agent's model read."`
	TokensOut int64   `json:"output_tokens" doc:"Tokens that the agent's model wrote."`
	Cost      float64 `json:"cost_usd" doc:"Cost in US dollars, as the agent reports it or computed from the price table. If cost_known is false, the true cost is higher."`
	Read      int64   `json:"cache_read_tokens" doc:"Part of input_tokens that came from the vendor's cache."`
	Write     int64   `json:"cache_write_tokens" doc:"Part of input_tokens that was written to the vendor's cache."`
	Known     bool    `json:"cost_known" doc:"False if the agent of a run did not report all its tokens, or a price is unknown."`
}

// Question is a question that is waiting for a person.
type Question struct {
	ID    string        `json:"id" doc:"ID of the question, elc_..., for the person's inbox."`
	Text  string        `json:"text" doc:"The question, at most 200 characters."`
	Asked contract.Time `json:"asked_at" doc:"When it was asked."`
	// Standing is empty while the run that asked continues.
	Standing string `json:"standing,omitempty" doc:"How the run that asked ended, if it has ended: an answer then starts a follow-up. pending_questions does not count such a question."`
}

func (o Options) getAttemptStatus() contract.Tool {
	return define(o, spec{
		name: o.name("get_attempt_status"), title: "Get an attempt's status", readOnly: true,
		about: about{
			useWhen: "you want to know whether an attempt is running, succeeded or failed, and what it is waiting for.",
			next:    "get_attempt_changes if it has completed, tail_attempt_logs if it failed or to watch it, follow_up to continue.",
			avoid:   "polling it in a loop: tail_attempt_logs with after_entry_index and wait_ms waits for you.",
		},
	}, func(ctx context.Context, in getAttemptStatusIn) (out Status, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		s, err := m.Status(ctx, string(in.ID))
		if err != nil {
			return out, err
		}
		out = statusOf(s)
		if o.Questions != nil {
			questions, err := o.Questions(ctx, s.ID)
			if err != nil {
				return out, err
			}
			out.Open = append(out.Open, questions[:min(len(questions), 10)]...)
		}
		return out, nil
	})
}

// maxConflicts is the maximum number of conflicting paths in a result.
const maxConflicts = 100

// statusOf converts an attempt's status to the tool's result, without the text of
// its questions.
func statusOf(s tasks.AttemptStatus) Status {
	ahead, behind, conflicts := 0, 0, []string{}
	for _, d := range s.Distances {
		ahead, behind, conflicts = ahead+d.Ahead, behind+d.Behind, append(conflicts, d.Conflicts...)
	}
	return Status{
		AttemptID: contract.UUID(s.ID), TaskID: contract.UUID(s.TaskID), Branch: s.Branch, Created: stamp(s.Created), Updated: stamp(s.Updated),
		SessionID: idOrNull(s.SessionID), ProcessID: idOrNull(s.ProcessID), State: string(s.State), Active: timeOrNull(s.Active),
		Failure: textOrNull(s.Failure), Executor: textOrNull(s.Executor), Waiting: s.Waiting, WaitsFor: textOrNull(string(s.WaitsFor)),
		Usage:     Usage{s.Usage.TokensIn, s.Usage.TokensOut, float64(s.Usage.Cost) / 1e6, s.Usage.CacheRead, s.Usage.CacheWrite, s.Usage.Known()},
		Questions: s.Questions, Open: []Question{}, Queued: queuedOf(s.Queued),
		Work: textOrNull(s.Work.State), WorkNotes: each(s.Work.Notes[:min(len(s.Work.Notes), maxNamed)], func(n string) string { return shorten(n, 1000) }),
		Ahead: ahead, Behind: behind, Conflicts: conflicts[:min(len(conflicts), maxConflicts)], Landed: s.Work.State == tasks.LandedWork,
	}
}
