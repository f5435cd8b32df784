package work

import (
	"context"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
)

type listTasksIn struct {
	ProjectID    contract.UUID `json:"project_id" required:"true" doc:"Project whose tasks to list, from list_projects."`
	Status       *string       `json:"status" enum:"todo,inprogress,inreview,done,cancelled" doc:"Only tasks with this status. Omit for all."`
	UpdatedSince *string       `json:"updated_since" doc:"Only tasks changed at this time or later, in RFC3339 format, for example 2026-01-31T08:00:00Z. Omit for all."`
	Limit        int           `json:"limit" min:"1" default:"50" doc:"Maximum number of tasks, 1 or more; above 500 counts as 500, and long answers have fewer. Default 50."`
	Cursor       string        `json:"cursor" doc:"next_cursor of the previous page, with the same filters. Omit for the first page."`
}

// Tasks is the result of list_tasks.
type Tasks struct {
	ProjectID      contract.UUID `json:"project_id" doc:"The requested project."`
	Tasks          []TaskSummary `json:"tasks" doc:"Its tasks, newest first."`
	Count          int           `json:"count" doc:"Number of tasks in this answer."`
	NextCursor     *string       `json:"next_cursor" doc:"Cursor for the next page. Null on the last page."`
	AppliedFilters Filters       `json:"applied_filters" doc:"The filters applied."`
}

// Filters holds the filters of list_tasks.
type Filters struct {
	Status       *string        `json:"status" enum:"todo,inprogress,inreview,done,cancelled" doc:"Status of the tasks listed. Null for any."`
	UpdatedSince *contract.Time `json:"updated_since" doc:"Tasks changed at this time or later. Null for any."`
	Limit        int            `json:"limit" doc:"Maximum number of tasks in one answer."`
}

// TaskSummary is one task in a list.
type TaskSummary struct {
	ID         contract.UUID  `json:"task_id" doc:"ID of the task."`
	Title      string         `json:"title" doc:"What to do, in one line."`
	Status     string         `json:"status" enum:"todo,inprogress,inreview,done,cancelled" doc:"The task's status."`
	Created    contract.Time  `json:"created_at" doc:"When the task was created."`
	Updated    contract.Time  `json:"updated_at" doc:"When the task was last changed."`
	AttemptID  *contract.UUID `json:"latest_attempt_id" doc:"Its most recently created attempt. Null if there is none."`
	Branch     *string        `json:"latest_workspace_branch" doc:"Git branch of the newest attempt. Null if there is none."`
	SessionID  *contract.UUID `json:"latest_session_id" doc:"Newest session of the newest attempt. Null before its agent has started."`
	Executor   *string        `json:"latest_session_executor" doc:"Executor of the newest session. Null if there is none."`
	InProgress bool           `json:"has_in_progress_attempt" doc:"Whether an attempt at the task is running."`
	WaitsFor   *string        `json:"waits_for" enum:"person,place,starter" doc:"What its unfinished attempt is waiting for; person if any attempt is waiting for a person. Null if the attempt is running, or none is unfinished."`
	LastFailed bool           `json:"last_attempt_failed" doc:"Whether the most recent run of all its attempts failed or was stopped."`
	OffBranch  bool           `json:"latest_attempt_off_branch" doc:"Whether the newest attempt has work that is not on its branch."`
	Landed     bool           `json:"latest_attempt_landed" doc:"Whether the newest attempt's work has landed on its target."`
}

func (o Options) listTasks() contract.Tool {
	return define(o, spec{
		name: o.name("list_tasks"), title: "List tasks", readOnly: true,
		about: about{
			useWhen: "you want to see a project's tasks, or find a task_id or a task's newest attempt.",
			next:    "get_attempt_status with latest_attempt_id, get_task for a description, or create_task.",
			avoid:   "reading all pages to find running tasks: filter by status=inprogress.",
		},
	}, func(ctx context.Context, in listTasksIn) (out Tasks, err error) {
		q := tasks.TaskQuery{
			ProjectID: string(in.ProjectID), Status: tasks.Status(text(in.Status)),
			Page: tasks.Page{Limit: min(orDefault(in.Limit, 50), 500), Cursor: in.Cursor},
		}
		if in.UpdatedSince != nil {
			if q.Since, err = time.Parse(time.RFC3339, *in.UpdatedSince); err != nil {
				return out, invalid("updated_since", "updated_since is not an RFC3339 time",
					"write updated_since as 2026-01-31T08:00:00Z and call "+o.name("list_tasks")+" again")
			}
		}
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		for asked := q.Limit; ; {
			page, err := m.Tasks(ctx, q)
			if err != nil {
				return out, err
			}
			out = TasksOf(q, page)
			out.AppliedFilters.Limit = asked
			raw, err := encode(out)
			if err != nil || len(raw) <= o.MaxAnswerBytes || q.Limit == 1 {
				return out, err
			}
			// The next page begins where this one ends, so read the page again with
			// fewer tasks.
			q.Limit = max(1, min(q.Limit, out.Count)*o.MaxAnswerBytes/len(raw)*9/10)
		}
	})
}

// orDefault returns n, or otherwise if n is 0.
func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// TasksOf converts a page of tasks to the tool's result.
func TasksOf(q tasks.TaskQuery, page tasks.TaskPage) Tasks {
	list := each(page.Tasks, func(t tasks.TaskSummary) TaskSummary {
		return TaskSummary{
			ID: contract.UUID(t.ID), Title: t.Title, Status: string(t.Status), Created: stamp(t.Created), Updated: stamp(t.Updated),
			AttemptID: idOrNull(t.AttemptID), Branch: textOrNull(t.Branch), SessionID: idOrNull(t.SessionID), Executor: textOrNull(t.Executor),
			InProgress: t.InProgress, WaitsFor: textOrNull(string(t.WaitsFor)), LastFailed: t.LastFailed, OffBranch: t.OffBranch, Landed: t.Landed,
		}
	})
	return Tasks{
		ProjectID: contract.UUID(q.ProjectID), Tasks: list, Count: len(list), NextCursor: textOrNull(page.Next),
		AppliedFilters: Filters{textOrNull(string(q.Status)), timeOrNull(q.Since), q.Limit},
	}
}
