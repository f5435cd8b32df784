package work

import (
	"context"

	"github.com/deskhand/deskhand/runtime/contract"
)

type deleteTaskIn struct {
	ID contract.UUID `json:"task_id" required:"true" doc:"Task to delete, from list_tasks."`
}

// DeletedTask is the result of delete_task.
type DeletedTask struct {
	ID contract.UUID `json:"deleted_task_id" doc:"The deleted task."`
}

func (o Options) deleteTask() contract.Tool {
	return define(o, spec{
		name: o.name("delete_task"), title: "Delete a task", idempotent: true,
		about: about{
			useWhen: "you want to delete a task and its attempts permanently. Git branches with commits stay.",
			next:    "list_tasks to see what is left.",
			avoid:   "deleting a finished task: update_task with status=done keeps its history. Refused while an attempt runs; call stop_attempt first.",
		},
	}, func(ctx context.Context, in deleteTaskIn) (out DeletedTask, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		return DeletedTask(in), m.DeleteTask(ctx, string(in.ID))
	})
}
