package board

import (
	"net/http"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// projectsPath is the path of the page that makes and changes projects.
const projectsPath = Path + "/projects"

// projectsView is the data of the page with all projects.
type projectsView struct {
	Projects []projectView
	Filled   filled // a form that was refused
}

type projectView struct {
	tasks.Project
	Repos     []tasks.Repo
	Templates []tasks.Template
}

// Refused returns the refused form if it is that of the repository, and an empty form
// otherwise.
func (v projectsView) Refused(act, project, repo string) filled {
	if v.Filled.Act == act && v.Filled.Or("project", "") == project && v.Filled.Or("repo", "") == repo {
		return v.Filled
	}
	return filled{}
}

func (b *Board) projects(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	return b.showProjects(w, r, m, filled{})
}

func (b *Board) showProjects(w http.ResponseWriter, r *http.Request, m *tasks.Manager, f filled) error {
	all, err := m.Projects(r.Context(), tasks.Page{Limit: 500})
	if err != nil {
		return err
	}
	v := projectsView{Filled: f}
	for _, p := range all.Projects {
		repos, err := m.Repos(r.Context(), p.ID)
		if err != nil {
			return err
		}
		templates, err := m.Templates(r.Context(), p.ID)
		if err != nil {
			return err
		}
		v.Projects = append(v.Projects, projectView{p, repos, templates})
	}
	b.write(w, r, f.status(), b.projectList, "Projects", v)
	return nil
}

// actOnProjects handles a button on the page with all projects.
func (b *Board) actOnProjects(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	ctx, project := r.Context(), r.PostFormValue("project")
	var err error
	switch r.PostFormValue("act") {
	case "add":
		_, _, err = m.AddRepo(ctx, typed(r, "name"), tasks.Repo{Path: typed(r, "path"), Name: typed(r, "as")})
	case "rename":
		_, err = m.RenameProject(ctx, project, typed(r, "name"))
	case "repo":
		branch, setup, cleanup, dev := typed(r, "branch"), typed(r, "setup"), typed(r, "cleanup"), typed(r, "dev")
		globs := slices.DeleteFunc(strings.Split(typed(r, "copy"), "\n"), func(g string) bool { return strings.TrimSpace(g) == "" })
		_, err = m.SetRepo(ctx, project, r.PostFormValue("repo"), tasks.RepoChange{TargetBranch: &branch, Setup: &setup, Cleanup: &cleanup, DevServer: &dev, CopyFiles: &globs})
	case "droptemplate":
		err = m.DropTemplate(ctx, project, r.PostFormValue("template"))
	case "removerepo":
		_, err = m.RemoveRepo(ctx, project, r.PostFormValue("repo"))
	case "remove":
		err = m.RemoveProject(ctx, project)
	default:
		err = errButton
	}
	if f := fault.Of(err); f != nil && f != errButton {
		return b.showProjects(w, r, m, filledBy(r, f))
	}
	if err != nil {
		return err
	}
	return back(w, r, projectsPath)
}

// Globs returns the files to copy, one a line, for a text area.
func (projectsView) Globs(r tasks.Repo) string { return strings.Join(r.CopyFiles, "\n") }
