package tasks

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// AddRepo adds a repository to the project with the given name, and creates the
// project if necessary. If the project already has the repository, AddRepo
// changes the fields that r sets. It recognizes a repository by its name and
// path. If the repository was moved, AddRepo recognizes it by its first commit.
func (m *Manager) AddRepo(ctx context.Context, project string, r Repo) (Project, Repo, error) {
	project, err := projectName(project)
	if err != nil {
		return Project{}, Repo{}, err
	}
	found, err := worktree.Inspect(ctx, r.Path)
	if err != nil {
		return Project{}, Repo{}, err
	}
	return m.addRepo(ctx, project, r, found)
}

// addRepo adds the repository that was found at the path of r.
func (m *Manager) addRepo(ctx context.Context, project string, r Repo, found worktree.Found) (Project, Repo, error) {
	r.Path = found.Path
	known, err := m.reposOf(ctx, project)
	if err != nil {
		return Project{}, Repo{}, err
	}
	old, err := m.same(ctx, project, known, r)
	if err != nil {
		return Project{}, Repo{}, err
	}
	moved := old.ID != "" && old.Path != r.Path
	if r, err = m.completed(ctx, r, old, found); err != nil {
		return Project{}, Repo{}, err
	}
	if r.hooks = old.hooks; old.ID == "" { // no agent has worked in it yet
		h, err := (worktree.Repo{Name: r.Name, Path: r.Path}).Hooks(ctx)
		if err != nil {
			return Project{}, Repo{}, err
		}
		r.hooks = h.Digest
	}
	if moved {
		if err := (worktree.Repo{Name: r.Name, Path: r.Path}).Repair(ctx); err != nil {
			return Project{}, Repo{}, fmt.Errorf("update the path in the worktrees of %s: %w", r.Name, err)
		}
	}
	var p Project
	err = m.db.Update(ctx, func(tx *store.Tx) (err error) {
		if p, err = m.projectNamed(ctx, tx, project); err != nil {
			return err
		}
		now, err := scanRepo(tx.QueryRow(ctx, "SELECT "+repoColumns+" FROM repos WHERE project_id = ? AND name = ?", p.ID, r.Name))
		switch {
		case errors.Is(err, sql.ErrNoRows) && old.ID == "":
			r.ID, r.Created = newID(), tx.Now
		case err == nil && now.ID == old.ID:
		case err == nil || errors.Is(err, sql.ErrNoRows):
			return retryable(RepositoryConflict, "retry", "repository %s of project %s was changed in the meantime", brief(r.Name), brief(p.Name))
		default:
			return fmt.Errorf("read repo: %w", err)
		}
		r.ProjectID, r.Updated = p.ID, tx.Now
		detail := "repository " + r.Name + " of " + p.Name
		if old.ID != "" {
			detail += changedCommands(old, r)
		}
		return errors.Join(writeRepo(ctx, tx, r, m.host), tx.Audit(store.Record{Action: "project.changed", Object: p.ID, Detail: detail}))
	})
	if err != nil {
		return Project{}, Repo{}, err
	}
	return p, r, nil
}

// changedCommands names the commands of a repository that have changed, for the audit log.
func changedCommands(old, now Repo) (words string) {
	if old.Setup != now.Setup || old.Cleanup != now.Cleanup {
		words = ", its scripts"
	}
	if old.DevServer != now.DevServer {
		words += ", its dev server"
	}
	return words
}

func projectName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		return "", refuse(MissingRequired, "give the project a name", "the project name is missing")
	}
	if err := checkText("name", name, maxName); err != nil {
		return "", err
	}
	if strings.ContainsFunc(name, unicode.IsControl) {
		return "", refuse(InvalidArgument, "use a name without control characters", "name %q has control characters", brief(name))
	}
	return name, nil
}

// reposOf returns the repositories of the named project, or nil if there is no such
// project.
func (m *Manager) reposOf(ctx context.Context, project string) (known []Repo, err error) {
	err = m.db.View(ctx, func(tx *store.Tx) error {
		known, err = all(ctx, tx, scanRepo, "SELECT "+repoColumns+` FROM repos
			WHERE project_id = (SELECT id FROM projects WHERE name = ?) AND removed = 0 ORDER BY name`, project)
		return errors.Join(err, reposAt(ctx, tx, known, m.host))
	})
	if err != nil {
		return nil, fmt.Errorf("read repos: %w", err)
	}
	return known, nil
}

// same returns the known repository to which r refers, or the zero Repo if r is
// new.
func (m *Manager) same(ctx context.Context, project string, known []Repo, r Repo) (Repo, error) {
	if r.Name == "" {
		for _, k := range known {
			if k.Path == r.Path {
				return k, nil
			}
		}
	}
	for _, k := range known {
		if r.Name != "" && k.Name != r.Name {
			continue
		}
		if k.Path == r.Path || worktree.Gone(ctx, k.Path) && m.knows(ctx, k, r.Path) {
			return k, nil
		}
	}
	want := r.Name
	if want == "" {
		want = filepath.Base(r.Path)
	}
	for _, k := range known {
		if k.Name == want {
			return Repo{}, refuse(RepositoryConflict, "use another name for this repository", "project %s already has a repository %s, in %s", brief(project), brief(want), k.Path)
		}
	}
	return Repo{}, nil
}

// knows reports whether the repository at path is k. It must contain k's first
// commit. If that commit was not recorded, it must contain the commit that an
// attempt started from.
func (m *Manager) knows(ctx context.Context, k Repo, path string) bool {
	if k.root != "" {
		return worktree.Has(ctx, path, k.root)
	}
	base := ""
	err := m.db.View(ctx, func(tx *store.Tx) error {
		attempts, err := all(ctx, tx, scanAttempt, "SELECT "+attemptColumns+` FROM attempts a JOIN tasks t ON t.id = a.task_id
			WHERE t.project_id = ? ORDER BY a.created_at DESC LIMIT 100`, k.ProjectID)
		for _, a := range attempts {
			for _, part := range a.Repos {
				if base == "" && part.RepoID == k.ID {
					base = part.Base
				}
			}
		}
		return err
	})
	return err == nil && worktree.Has(ctx, path, base)
}

// completed fills in the fields that r leaves empty. It takes each value from
// old, or from found if old has none, and checks the result.
func (m *Manager) completed(ctx context.Context, r, old Repo, found worktree.Found) (Repo, error) {
	isNew := old.ID == ""
	if !isNew {
		r.ID, r.Created, r.Name = old.ID, old.Created, old.Name
		for field, was := range map[*string]string{&r.TargetBranch: old.TargetBranch, &r.Setup: old.Setup, &r.Cleanup: old.Cleanup, &r.DevServer: old.DevServer} {
			if *field == "" {
				*field = was
			}
		}
		if r.CopyFiles == nil {
			r.CopyFiles = old.CopyFiles
		}
	}
	if r.Name == "" {
		r.Name = filepath.Base(r.Path)
		if f := fault.Of(worktree.ValidName(r.Name)); f != nil {
			return Repo{}, refuse(f.Code, "give the repository a name: "+f.Hint, "%s", f.Message).WithCase(RepoNameUnfit, "rule", f.Hint)
		}
	}
	if err := worktree.ValidName(r.Name); err != nil {
		return Repo{}, err
	}
	if r.TargetBranch == "" {
		r.TargetBranch = found.Branch
	}
	return m.checked(ctx, r)
}

// checked returns an error if attempts cannot use a repository. Otherwise it
// records the repository's first commit.
func (m *Manager) checked(ctx context.Context, r Repo) (Repo, error) {
	if r.TargetBranch == "" {
		return Repo{}, refuse(MissingRequired, "name the branch that attempts start from", "repository %s has no branch checked out", r.Name).WithCase(BranchNotNamed)
	}
	var err error
	if r.root, err = (worktree.Repo{Name: r.Name, Path: r.Path}).First(ctx, r.TargetBranch); err != nil {
		return Repo{}, err
	}
	for field, script := range map[string]string{"setup": r.Setup, "cleanup": r.Cleanup, "dev_server": r.DevServer} {
		if err := checkText(field, script, maxPrompt); err != nil {
			return Repo{}, err
		}
	}
	return r, nil
}

// projectNamed reads the project with a name, or creates it.
func (m *Manager) projectNamed(ctx context.Context, tx *store.Tx, name string) (Project, error) {
	p, err := scanProject(tx.QueryRow(ctx, "SELECT "+projectColumns+" FROM projects WHERE name = ?", name))
	switch {
	case err == nil:
		p.Updated = tx.Now
		_, err = tx.Exec(ctx, "UPDATE projects SET updated_at = ? WHERE id = ?", millis(p.Updated), p.ID)
	case errors.Is(err, sql.ErrNoRows):
		p = Project{ID: newID(), Name: name, Created: tx.Now, Updated: tx.Now}
		_, err = tx.Exec(ctx, "INSERT INTO projects ("+projectColumns+") VALUES ("+marks(11)+")", p.ID, p.Name, "", "", "", "", "", "", "", millis(p.Created), millis(p.Updated))
	}
	if err == nil {
		_, err = note(tx, Event{Type: ProjectChanged, ProjectID: p.ID})
	}
	if err != nil {
		return Project{}, fmt.Errorf("write project: %w", err)
	}
	return p, nil
}
