package tasks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// SetRepo changes a repository of a project. If name is empty, the project must
// have exactly one repository.
func (m *Manager) SetRepo(ctx context.Context, projectID, name string, c RepoChange) (r Repo, err error) {
	if r, err = m.repoNamed(ctx, projectID, name); err != nil {
		return Repo{}, err
	}
	old := r
	if c.Path != nil {
		found, err := worktree.Inspect(ctx, *c.Path)
		if err != nil {
			return Repo{}, err
		}
		if found.Path != r.Path && !m.knows(ctx, r, found.Path) {
			return Repo{}, refuse(RepositoryConflict, "add it under another name", "%s is not the same repository as %s: it does not contain its first commit", found.Path, brief(r.Name)).WithCase(RepoOfOtherOrigin, "path", found.Path)
		}
		r.Path = found.Path
	}
	set(&r.TargetBranch, c.TargetBranch)
	set(&r.Setup, c.Setup)
	set(&r.Cleanup, c.Cleanup)
	set(&r.DevServer, c.DevServer)
	set(&r.CopyFiles, c.CopyFiles)
	if c.TrustHooks {
		h, err := (worktree.Repo{Name: r.Name, Path: r.Path}).Hooks(ctx)
		if err != nil {
			return Repo{}, err
		}
		r.hooks = h.Digest
	}
	if r, err = m.checked(ctx, r); err != nil {
		return Repo{}, err
	}
	if r.Path != old.Path {
		if err := (worktree.Repo{Name: r.Name, Path: r.Path}).Repair(ctx); err != nil {
			return Repo{}, fmt.Errorf("update the path in the worktrees of %s: %w", r.Name, err)
		}
	}
	detail := ": repository " + r.Name + changedCommands(old, r)
	return r, m.changeProjectIn(ctx, r.ProjectID, detail, func(tx *store.Tx, _ Project) error {
		if _, err := readRepo(ctx, tx, r.ID); err != nil {
			return err
		}
		r.Updated = tx.Now
		return writeRepo(ctx, tx, r, m.host)
	})
}

// repoNamed returns the project's repository with the given name. If name is
// empty, the project must have exactly one repository.
func (m *Manager) repoNamed(ctx context.Context, projectID, name string) (Repo, error) {
	repos, err := m.Repos(ctx, projectID)
	if err != nil {
		return Repo{}, err
	}
	if name == "" && len(repos) == 1 {
		return repos[0], nil
	}
	var names []string
	for _, r := range repos {
		if r.Name == name {
			return r, nil
		}
		names = append(names, r.Name)
	}
	f := refuse(NotFound, "name one of its repositories: "+strings.Join(names, ", "), "the project has no repository %q", brief(name))
	if name == "" {
		f.Code, f.Message = MissingRequired, fmt.Sprintf("the project has %d repositories", len(repos))
	}
	if len(repos) == 0 {
		f.Case, f.Hint = ProjectEmpty, "add a repository to it"
	}
	return Repo{}, f
}

// RemoveRepo removes a repository from a project. Existing attempts keep the
// repository; new attempts cannot use it. Nothing on the disk changes.
func (m *Manager) RemoveRepo(ctx context.Context, projectID, name string) (Repo, error) {
	r, err := m.repoNamed(ctx, projectID, name)
	if err != nil {
		return Repo{}, err
	}
	return r, m.changeProject(ctx, r.ProjectID, func(tx *store.Tx, _ Project) error {
		// From now on, another repository can use the same name.
		_, err := tx.Exec(ctx, "UPDATE repos SET removed = 1, name = name || '#' || id, updated_at = ? WHERE id = ? AND removed = 0", millis(tx.Now), r.ID)
		return err
	})
}

// RemoveProject deletes a project that has no tasks.
func (m *Manager) RemoveProject(ctx context.Context, projectID string) error {
	return m.changeProject(ctx, projectID, func(tx *store.Tx, p Project) error {
		var tasks int
		if err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM tasks WHERE project_id = ?", p.ID).Scan(&tasks); err != nil {
			return err
		}
		if tasks > 0 {
			return refuse(ProjectInUse, "delete its tasks first, or only remove a repository from the project", "project %s has %s", brief(p.Name), textutil.Count(tasks, "task"))
		}
		for _, rows := range []string{"DELETE FROM repos WHERE project_id = ?", "DELETE FROM templates WHERE project_id = ?"} {
			if _, err := tx.Exec(ctx, rows, p.ID); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "DELETE FROM projects WHERE id = ?", p.ID)
		return err
	})
}

// RenameProject changes a project's name.
func (m *Manager) RenameProject(ctx context.Context, projectID, name string) (p Project, err error) {
	if name, err = projectName(name); err != nil {
		return Project{}, err
	}
	err = m.changeProject(ctx, projectID, func(tx *store.Tx, old Project) error {
		var others int
		if err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM projects WHERE name = ? AND id <> ?", name, old.ID).Scan(&others); err != nil {
			return err
		}
		if others > 0 {
			return refuse(RepositoryConflict, "use another name", "project %s already exists", brief(name))
		}
		p = old
		p.Name, p.Updated = name, tx.Now
		_, err := tx.Exec(ctx, "UPDATE projects SET name = ?, updated_at = ? WHERE id = ?", p.Name, millis(p.Updated), p.ID)
		return err
	})
	return p, err
}

// Confine sets the sandbox and network of a project's agents. A nil value leaves the
// setting unchanged; an empty value means that the general settings apply.
func (m *Manager) Confine(ctx context.Context, projectID string, mode *box.Mode, network []string) (p Project, err error) {
	if mode != nil && *mode != "" && !slices.Contains(box.Modes, *mode) {
		return Project{}, refuse(InvalidArgument, "use one of "+box.ModeNames(), "sandbox %q is not supported", brief(string(*mode)))
	}
	if err := box.CheckNetwork(network); err != nil {
		return Project{}, err
	}
	err = m.changeProject(ctx, projectID, func(tx *store.Tx, old Project) error {
		p = old
		set(&p.Sandbox, mode)
		if network != nil {
			p.Network = network
		}
		p.Updated = tx.Now
		_, err := tx.Exec(ctx, "UPDATE projects SET sandbox = ?, sandbox_network = ?, updated_at = ? WHERE id = ?", p.Sandbox, strings.Join(p.Network, ","), millis(p.Updated), p.ID)
		return err
	})
	return p, err
}

// changeProject runs do for an existing project, and adds an event and an audit record.
func (m *Manager) changeProject(ctx context.Context, projectID string, do func(*store.Tx, Project) error) error {
	return m.changeProjectIn(ctx, projectID, "", do)
}

// changeProjectIn is like changeProject. detail follows the project's name in the audit log.
func (m *Manager) changeProjectIn(ctx context.Context, projectID, detail string, do func(*store.Tx, Project) error) error {
	projectID, err := parseID("project_id", projectID)
	if err != nil {
		return err
	}
	return m.db.Update(ctx, func(tx *store.Tx) error {
		p, err := readProject(ctx, tx, projectID)
		if err != nil {
			return err
		}
		if err := do(tx, p); err != nil {
			return err
		}
		if _, err = note(tx, Event{Type: ProjectChanged, ProjectID: p.ID}); err != nil {
			return err
		}
		return tx.Audit(store.Record{Action: "project.changed", Object: p.ID, Detail: p.Name + detail})
	})
}
