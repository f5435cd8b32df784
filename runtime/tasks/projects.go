package tasks

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/deskhand/deskhand/runtime/store"
)

// Bounds of pages.
const (
	usualPage = 50
	mostPage  = 500
)

func (p Page) limit() int {
	if p.Limit <= 0 {
		return usualPage
	}
	return min(p.Limit, mostPage)
}

// Projects is a page of all projects, by name.
func (m *Manager) Projects(ctx context.Context, page Page) (found ProjectPage, err error) {
	after, err := base64.RawURLEncoding.DecodeString(page.Cursor)
	if err != nil || text("cursor", string(after), mostName) != nil {
		return ProjectPage{}, badCursor(page.Cursor, "list_projects")
	}
	err = m.db.View(ctx, func(tx *store.Tx) (err error) {
		found.Projects, err = all(ctx, tx, scanProject, "SELECT "+projectColumns+" FROM projects WHERE name > ? ORDER BY name LIMIT ?", string(after), page.limit()+1)
		return err
	})
	if err != nil {
		return ProjectPage{}, fmt.Errorf("read projects: %w", err)
	}
	if len(found.Projects) > page.limit() {
		found.Projects = found.Projects[:page.limit()]
		found.Next = base64.RawURLEncoding.EncodeToString([]byte(found.Projects[page.limit()-1].Name))
	}
	return found, nil
}

func badCursor(cursor, tool string) error {
	return refuse(InvalidArgument, "pass the next_cursor of the page before, or call "+tool+" without cursor for the first page",
		"cursor %q is not one of %s", brief(cursor), tool)
}

// Repos are the repositories of a project, by name.
func (m *Manager) Repos(ctx context.Context, projectID string) (repos []Repo, err error) {
	if projectID, err = parseID("project_id", projectID); err != nil {
		return nil, err
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		if _, err := readProject(ctx, tx, projectID); err != nil {
			return err
		}
		repos, err = all(ctx, tx, scanRepo, "SELECT "+repoColumns+" FROM repos WHERE project_id = ? ORDER BY name", projectID)
		return err
	})
	return repos, err
}

// AddRepo adds a repository to the project of a name, which is made if there
// is none. A repository of the same name and path is changed to what r says.
func (m *Manager) AddRepo(ctx context.Context, project string, r Repo) (Project, Repo, error) {
	project = strings.TrimSpace(project)
	if project == "" {
		return Project{}, Repo{}, refuse(MissingRequired, "give the project a name", "the name of the project is missing")
	}
	if err := text("name", project, mostName); err != nil {
		return Project{}, Repo{}, err
	}
	if strings.ContainsFunc(project, unicode.IsControl) {
		return Project{}, Repo{}, refuse(InvalidArgument, "give the project a name of one line", "name %q has control characters", brief(project))
	}
	r, err := m.inspect(ctx, r)
	if err != nil {
		return Project{}, Repo{}, err
	}
	var p Project
	err = m.db.Update(ctx, func(tx *store.Tx) (err error) {
		if p, err = m.projectNamed(ctx, tx, project); err != nil {
			return err
		}
		r, err = putRepo(ctx, tx, p, r)
		return err
	})
	if err != nil {
		return Project{}, Repo{}, err
	}
	return p, r, nil
}

// projectNamed reads or makes a project.
func (m *Manager) projectNamed(ctx context.Context, tx *store.Tx, name string) (Project, error) {
	p, err := scanProject(tx.QueryRow(ctx, "SELECT "+projectColumns+" FROM projects WHERE name = ?", name))
	switch {
	case err == nil:
		p.Updated = tx.Now
		_, err = tx.Exec(ctx, "UPDATE projects SET updated_at = ? WHERE id = ?", millis(p.Updated), p.ID)
	case errors.Is(err, sql.ErrNoRows):
		p = Project{ID: newID(), Name: name, Created: tx.Now, Updated: tx.Now}
		_, err = tx.Exec(ctx, "INSERT INTO projects ("+projectColumns+") VALUES (?, ?, ?, ?)", p.ID, p.Name, millis(p.Created), millis(p.Updated))
	}
	if err == nil {
		_, err = note(tx, Event{Type: ProjectChanged, ProjectID: p.ID})
	}
	if err != nil {
		return Project{}, fmt.Errorf("write project: %w", err)
	}
	return p, nil
}

// putRepo adds or changes a repository of a project.
func putRepo(ctx context.Context, tx *store.Tx, p Project, r Repo) (Repo, error) {
	old, err := scanRepo(tx.QueryRow(ctx, "SELECT "+repoColumns+" FROM repos WHERE project_id = ? AND name = ?", p.ID, r.Name))
	switch {
	case err == nil && old.Path != r.Path:
		return Repo{}, refuse(RepositoryConflict, "give this one another name", "project %s has a repository %s already, in %s", brief(p.Name), brief(r.Name), old.Path)
	case err == nil:
		r.ID, r.Created = old.ID, old.Created
	case errors.Is(err, sql.ErrNoRows):
		r.ID, r.Created = newID(), tx.Now
	default:
		return Repo{}, fmt.Errorf("read repo: %w", err)
	}
	r.ProjectID, r.Updated = p.ID, tx.Now
	return r, writeRepo(ctx, tx, r)
}
