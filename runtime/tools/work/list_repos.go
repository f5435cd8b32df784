package work

import (
	"context"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
)

type listReposIn struct {
	ProjectID contract.UUID `json:"project_id" required:"true" doc:"Project whose repositories to list, from list_projects."`
}

// Repos is the result of list_repos.
type Repos struct {
	ProjectID contract.UUID `json:"project_id" doc:"The requested project."`
	Repos     []Repo        `json:"repos" doc:"Its repositories, by name."`
	Count     int           `json:"count" doc:"Number of repositories."`
}

// Repo is one repository.
type Repo struct {
	ID           contract.UUID `json:"repo_id" doc:"ID of the repository, for start_task_attempt."`
	Name         string        `json:"repo_name" doc:"Name of the repository; paths of its files begin with it."`
	TargetBranch *string       `json:"default_target_branch" doc:"Branch that attempts start from by default. Null if none is set."`
}

func (o Options) listRepos() contract.Tool {
	return define(o, spec{
		name: o.name("list_repos"), title: "List repositories", readOnly: true,
		about: about{
			useWhen: "you are about to start an attempt and need the repo_id of each repository that it works on.",
			next:    "start_task_attempt with repos.",
			avoid:   "passing a path or a name as repo_id.",
		},
	}, func(ctx context.Context, in listReposIn) (out Repos, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		repos, err := m.Repos(ctx, string(in.ProjectID))
		if err != nil {
			return out, err
		}
		return reposOf(string(in.ProjectID), repos), nil
	})
}

// reposOf converts a project's repositories to the tool's result.
func reposOf(projectID string, repos []tasks.Repo) Repos {
	list := each(repos, func(r tasks.Repo) Repo {
		return Repo{contract.UUID(r.ID), r.Name, textOrNull(r.TargetBranch)}
	})
	return Repos{contract.UUID(projectID), list, len(list)}
}
