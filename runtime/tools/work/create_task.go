package work

import (
	"context"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
)

type createTaskIn struct {
	ProjectID   contract.UUID `json:"project_id" required:"true" doc:"Project to add the task to, from list_projects."`
	Title       string        `json:"title" required:"true" visible:"true" max:"500" doc:"What to do, in one line of up to 500 characters."`
	Description string        `json:"description" max:"100000" doc:"Details, at most 100000 characters; an attempt's agent gets title and description as its prompt. Default: none."`
	RequestID   string        `json:"request_id" visible:"true" max:"200" doc:"Idempotency key, for example a new UUID, at most 200 characters: a retry with the same key and arguments returns the existing task. If omitted, every call creates a task."`
}

// CreatedTask is the result of create_task.
type CreatedTask struct {
	ID contract.UUID `json:"task_id" doc:"The new task."`
}

func (o Options) createTask() contract.Tool {
	s := spec{
		name: o.name("create_task"), title: "Create a task", additive: true,
		about: about{
			useWhen: "a project needs work that no task describes yet.",
			next:    "start_task_attempt to have an agent do it, or nothing: the task waits as todo.",
			avoid:   "retrying without request_id, or with a new one: both create a second task.",
		},
	}
	if o.fewer {
		s.about.next = "continue with your own task; get_context has the project_id. A person decides who works on the new task."
		s.refine = func(in *jsonschema.Schema) {
			in.Properties["project_id"].Description = "Project to add the task to, from get_context. UUID."
		}
	}
	return define(o, s, func(ctx context.Context, in createTaskIn) (out CreatedTask, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		if o.AttemptID != "" {
			own, err := m.Context(ctx, o.AttemptID)
			if err != nil {
				return out, err
			}
			if string(in.ProjectID) != own.Project.ID {
				return out, refuse(tasks.NotFound, fmt.Sprintf("project %s is not this attempt's project", in.ProjectID),
					"use the project_id of "+o.name("get_context")+", "+own.Project.ID)
			}
		}
		t, err := m.CreateTask(ctx, tasks.NewTask{ProjectID: string(in.ProjectID), Title: in.Title, Description: in.Description, RequestID: in.RequestID})
		if err != nil {
			return out, err
		}
		return CreatedTask{contract.UUID(t.ID)}, nil
	})
}
