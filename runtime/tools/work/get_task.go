package work

import (
	"context"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
)

type getTaskIn struct {
	ID contract.UUID `json:"task_id" required:"true" doc:"Task to read, from list_tasks or create_task."`
}

// TaskAnswer is the result of get_task and update_task.
type TaskAnswer struct {
	Task Task `json:"task" doc:"The task."`
}

// Task is a task with its description.
type Task struct {
	ID          contract.UUID `json:"task_id" doc:"ID of the task."`
	ProjectID   contract.UUID `json:"project_id" doc:"Project that the task belongs to."`
	Title       string        `json:"title" doc:"What to do, in one line."`
	Description *string       `json:"description" doc:"Details. Null if there are none."`
	Status      string        `json:"status" enum:"todo,inprogress,inreview,done,cancelled" doc:"The task's status."`
	Created     contract.Time `json:"created_at" doc:"When the task was created."`
	Updated     contract.Time `json:"updated_at" doc:"When the task was last changed."`
}

// taskOf converts a task to the tools' result.
func taskOf(t tasks.Task) Task {
	return Task{
		ID: contract.UUID(t.ID), ProjectID: contract.UUID(t.ProjectID), Title: t.Title, Description: textOrNull(t.Description),
		Status: string(t.Status), Created: stamp(t.Created), Updated: stamp(t.Updated),
	}
}

func (o Options) getTask() contract.Tool {
	return define(o, spec{
		name: o.name("get_task"), title: "Read a task", readOnly: true,
		about: about{
			useWhen: "you need the description of a task, or want to know whether it still exists.",
			next:    "list_task_attempts for earlier attempts, or start_task_attempt.",
			avoid:   "calling this for each task of a list: list_tasks has everything except the description.",
		},
	}, func(ctx context.Context, in getTaskIn) (out TaskAnswer, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		t, err := m.Task(ctx, string(in.ID))
		if err != nil {
			return out, err
		}
		return TaskAnswer{taskOf(t)}, nil
	})
}
