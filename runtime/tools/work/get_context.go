package work

import (
	"context"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// Context is the result of get_context.
type Context struct {
	ProjectID   contract.UUID   `json:"project_id" doc:"Project that you work in."`
	ProjectName string          `json:"project_name" doc:"Its name."`
	TaskID      contract.UUID   `json:"task_id" doc:"Task that you work on."`
	TaskTitle   string          `json:"task_title" doc:"Its title."`
	TaskStatus  string          `json:"task_status" enum:"todo,inprogress,inreview,done,cancelled" doc:"Its status."`
	AttemptID   contract.UUID   `json:"attempt_id" doc:"Your attempt."`
	Branch      string          `json:"workspace_branch" doc:"Git branch that you work on, in each repository."`
	Repos       []WorkspaceRepo `json:"workspace_repos" doc:"Repositories of the attempt."`
}

// WorkspaceRepo is one repository of an attempt.
type WorkspaceRepo struct {
	ID           contract.UUID `json:"repo_id" doc:"ID of the repository."`
	Name         string        `json:"repo_name" doc:"Its name, and the name of its folder in the attempt."`
	TargetBranch string        `json:"target_branch" doc:"Branch that the attempt started from and is compared with."`
}

func (o Options) getContext() contract.Tool {
	return define(o, spec{
		name: o.name("get_context"), title: "Where am I", readOnly: true,
		about: about{
			useWhen: "you are the agent of an attempt and want to know its project, task, branch and repositories.",
			next:    "create_task with project_id, for work that you find and should not do now.",
			avoid:   "working on a branch other than workspace_branch.",
		},
	}, func(ctx context.Context, _ struct{}) (out Context, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		c, err := m.Context(ctx, o.AttemptID)
		if err != nil {
			return out, err
		}
		return contextOf(c), nil
	})
}

// contextOf returns the tool's result for an attempt with its project and task.
func contextOf(c tasks.Context) Context {
	return Context{
		ProjectID: contract.UUID(c.Project.ID), ProjectName: c.Project.Name,
		TaskID: contract.UUID(c.Task.ID), TaskTitle: c.Task.Title, TaskStatus: string(c.Task.Status),
		AttemptID: contract.UUID(c.Attempt.ID), Branch: c.Attempt.Branch,
		Repos: each(c.Attempt.Repos, func(r tasks.AttemptRepo) WorkspaceRepo {
			return WorkspaceRepo{contract.UUID(r.RepoID), r.Name, r.TargetBranch}
		}),
	}
}
