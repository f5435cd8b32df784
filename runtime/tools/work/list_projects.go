package work

import (
	"context"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
)

type listProjectsIn struct {
	Limit  int    `json:"limit" min:"1" default:"50" doc:"Maximum number of projects, 1 or more; above 500 counts as 500. Default 50."`
	Cursor string `json:"cursor" doc:"next_cursor of the previous page. Omit for the first page."`
}

// Projects is the result of list_projects.
type Projects struct {
	Projects   []Project `json:"projects" doc:"The projects, by name."`
	Count      int       `json:"count" doc:"Number of projects in this answer."`
	NextCursor *string   `json:"next_cursor" doc:"Cursor for the next page. Null on the last page."`
}

// Project is one project.
type Project struct {
	ID      contract.UUID `json:"project_id" doc:"ID of the project, for list_tasks, list_repos and create_task."`
	Name    string        `json:"name" doc:"Unique name of the project."`
	Created contract.Time `json:"created_at" doc:"When the project was created."`
	Updated contract.Time `json:"updated_at" doc:"When the project was last changed."`
}

func (o Options) listProjects() contract.Tool {
	return define(o, spec{
		name: o.name("list_projects"), title: "List projects", readOnly: true,
		about: about{
			useWhen: "you need a project_id, which you need before you work with tasks.",
			next:    "list_tasks for a project's tasks, or create_task to add one.",
			avoid:   "guessing a project_id, or passing a project's name instead.",
		},
	}, func(ctx context.Context, in listProjectsIn) (out Projects, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		page, err := m.Projects(ctx, tasks.Page{Limit: in.Limit, Cursor: in.Cursor})
		if err != nil {
			return out, err
		}
		return projectsOf(page), nil
	})
}

// projectsOf converts a page of projects to the tool's result.
func projectsOf(page tasks.ProjectPage) Projects {
	list := each(page.Projects, func(p tasks.Project) Project {
		return Project{contract.UUID(p.ID), p.Name, stamp(p.Created), stamp(p.Updated)}
	})
	return Projects{list, len(list), textOrNull(page.Next)}
}
