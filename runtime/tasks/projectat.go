package tasks

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// ProjectAt returns the git repository that contains dir, and the project that
// contains that repository. If there are several projects, it returns the one
// with the fewest repositories; of these, the oldest. If there is none, it
// creates a project named after the repository's folder. Faults: not_found if
// dir is in no repository, no_commits, repo_not_trusted.
func (m *Manager) ProjectAt(ctx context.Context, dir string) (Project, Repo, error) {
	found, err := worktree.Inspect(ctx, dir)
	if err != nil {
		return Project{}, Repo{}, err
	}
	p, r, err := m.projectWith(ctx, found.Path)
	if err != nil || p.ID != "" {
		return p, r, err
	}
	name, err := projectName(filepath.Base(found.Path))
	if err == nil {
		p, r, err = m.addRepo(ctx, name, Repo{}, found)
	}
	if f := fault.Of(err); f == nil || !slices.Contains([]string{RepositoryConflict, InvalidArgument}, f.Code) {
		return p, r, err
	}
	// Another repository has a project with that name, or the folder's name is
	// not valid.
	slug := worktree.Slug(filepath.Base(found.Path))
	return m.addRepo(ctx, slug+"-"+newID()[:8], Repo{Name: slug}, found)
}

// ProjectOf is like ProjectAt, but creates nothing: if no project contains the
// repository, it returns the zero project.
func (m *Manager) ProjectOf(ctx context.Context, dir string) (Project, error) {
	found, err := worktree.Inspect(ctx, dir)
	if err != nil {
		return Project{}, err
	}
	p, _, err := m.projectWith(ctx, found.Path)
	return p, err
}

// projectWith returns the project for a repository's path, or the zero project.
func (m *Manager) projectWith(ctx context.Context, path string) (Project, Repo, error) {
	var repos []Repo
	err := m.db.View(ctx, func(tx *store.Tx) (err error) {
		repos, err = all(ctx, tx, scanRepo, "SELECT "+repoColumns+` FROM repos r
			WHERE COALESCE((SELECT p.path FROM repo_places p WHERE p.repo_id = r.id AND p.host = ?), path) = ? AND removed = 0
			ORDER BY (SELECT COUNT(*) FROM repos o WHERE o.project_id = r.project_id AND o.removed = 0), created_at, id LIMIT 1`, m.host, path)
		return errors.Join(err, reposAt(ctx, tx, repos, m.host))
	})
	if err != nil || len(repos) == 0 {
		return Project{}, Repo{}, err
	}
	p, err := m.project(ctx, repos[0].ProjectID)
	return p, repos[0], err
}

func (m *Manager) project(ctx context.Context, id string) (p Project, err error) {
	err = m.db.View(ctx, func(tx *store.Tx) (err error) {
		p, err = readProject(ctx, tx, id)
		return err
	})
	return p, err
}
