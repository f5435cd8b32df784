package work

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

type updateTaskIn struct {
	ID          contract.UUID `json:"task_id" required:"true" doc:"Task to change, from list_tasks."`
	Title       *string       `json:"title" visible:"true" max:"500" doc:"New title of up to 500 characters. Omit to keep it."`
	Description *string       `json:"description" max:"100000" doc:"New description to replace the old one, at most 100000 characters; empty for none. Omit to keep it."`
	Status      *string       `json:"status" enum:"todo,inprogress,inreview,done,cancelled" doc:"New status. Omit to keep it."`
}

func (o Options) updateTask() contract.Tool {
	name := o.name("update_task")
	return define(o, spec{
		name: name, title: "Change a task", idempotent: true,
		about: about{
			useWhen: "a task's title, description or status should change, for example to done after a review.",
			next:    "list_tasks to see the project.",
			avoid:   "setting inprogress or inreview yourself: attempts do this. A call with only task_id is refused.",
		},
		refine: func(s *jsonschema.Schema) {
			two := 2 // the task, and at least one change
			s.MinProperties = &two
		},
		before: func(given contract.Given) *fault.Fault {
			if !given.Has("task_id") || given.Has("title") || given.Has("description") || given.Has("status") {
				return nil
			}
			return because(tasks.MissingRequired, refuse("invalid_argument", "nothing to change",
				"call "+name+" again with title, description or status"))
		},
	}, func(ctx context.Context, in updateTaskIn) (out TaskAnswer, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		t, err := m.UpdateTask(ctx, string(in.ID), tasks.TaskChange{Title: in.Title, Description: in.Description, Status: (*tasks.Status)(in.Status)})
		if err != nil {
			return out, err
		}
		return TaskAnswer{taskOf(t)}, nil
	})
}

// because records in a fault's details which rule the arguments break, because the
// code of all these faults is invalid_argument.
func because(reason string, f *fault.Fault) *fault.Fault { return f.With("reason", reason) }
