package tasks

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// Start stores an attempt and starts it, or queues it until a slot is free. The
// runner creates the worktree. When Start returns, the attempt is stored, and
// survives the end of this process.
func (m *Manager) Start(ctx context.Context, r StartRequest) (Started, error) {
	req := request{scope: scopeStart, id: r.RequestID}
	r.RequestID = ""
	req.asked = r
	if old, err := previousResult[Started](ctx, m, req); err != nil || old != nil {
		return deref(old), err
	}
	r, project, err := m.complete(ctx, r)
	if err != nil {
		return Started{}, err
	}
	req.payload = r
	if old, err := previousResult[Started](ctx, m, req); err != nil || old != nil {
		return deref(old), err
	}
	started, err := m.begin(ctx, req, r, project)
	if err != nil {
		return Started{}, err
	}
	m.launch(ctx)
	return started, nil
}

// complete checks a request and fills in its defaults, so that equivalent requests
// become equal.
func (m *Manager) complete(ctx context.Context, r StartRequest) (_ StartRequest, project string, err error) {
	if r.TaskID, err = parseID("task_id", r.TaskID); err != nil {
		return r, "", err
	}
	if r.On, err = parseLabels(r.On); err != nil {
		return r, "", err
	}
	if r.Executor, r.Variant, err = m.choose(ctx, r.Executor, r.Variant, len(r.On) == 0); err != nil {
		return r, "", err
	}
	r.Prompt = strings.TrimSpace(r.Prompt)
	if err := checkText("prompt", r.Prompt, maxPrompt); err != nil {
		return r, "", err
	}
	if len(r.Repos) == 0 {
		return r, "", refuse(MissingRequired, "name at least one repository of the project", "repos is empty").WithCase(ReposMissing)
	}
	var t Task
	var known []Repo
	err = m.db.View(ctx, func(tx *store.Tx) error {
		if t, err = readTask(ctx, tx, r.TaskID); err != nil {
			return err
		}
		known, err = all(ctx, tx, scanRepo, "SELECT "+repoColumns+" FROM repos WHERE project_id = ? AND removed = 0", t.ProjectID)
		return err
	})
	if err != nil {
		return r, "", err
	}
	if r.Repos, err = targets(r.Repos, known); err != nil {
		return r, "", err
	}
	if r.Prompt == "" {
		r.Prompt = strings.TrimSpace(t.Title + "\n\n" + t.Description)
	}
	return r, t.ProjectID, checkImages(r.Prompt)
}

// targets returns the repositories of a request, with all branches filled in.
func targets(asked []RepoTarget, known []Repo) ([]RepoTarget, error) {
	byID := map[string]Repo{}
	for _, r := range known {
		byID[r.ID] = r
	}
	full := make([]RepoTarget, len(asked))
	for i, a := range asked {
		id, err := parseID("repo_id", a.RepoID)
		if err != nil {
			return nil, err
		}
		r, ok := byID[id]
		if !ok {
			return nil, refuse(NotFound, "name a repository of the task's project", "the task's project has no repository %s", id).WithCase(RepoOfOther)
		}
		for _, other := range full[:i] {
			if other.RepoID == id {
				return nil, refuse(InvalidArgument, "pass each repo_id once", "repos contains repository %s twice", id)
			}
		}
		full[i] = RepoTarget{RepoID: id, TargetBranch: strings.TrimSpace(a.TargetBranch)}
		if err := checkText("target_branch", full[i].TargetBranch, maxBranch); err != nil {
			return nil, err
		}
		if full[i].TargetBranch == "" {
			full[i].TargetBranch = r.TargetBranch
		}
	}
	return full, nil
}

// begin stores an attempt with its first process.
func (m *Manager) begin(ctx context.Context, req request, r StartRequest, project string) (Started, error) {
	a, setup, err := m.plan(ctx, r)
	if err == nil && len(r.On) == 0 {
		err = m.ensureHostName(ctx)
	}
	if err != nil {
		return Started{}, err
	}
	by, err := m.stamp(r.Executor)
	if err != nil {
		return Started{}, err
	}
	return idempotent(ctx, m, req, func(tx *store.Tx) (Started, error) {
		t, err := readTask(ctx, tx, r.TaskID)
		if err != nil {
			return Started{}, err
		}
		newest, err := newestAttempt(ctx, tx, t.ID)
		if err != nil {
			return Started{}, err
		}
		a.Created = after(tx.Now, newest)
		a.Updated, a.Person = a.Created, cmp.Or(access.Of(ctx).Name, m.options.Person)
		if err := insertAttempt(ctx, tx, a); err != nil {
			return Started{}, err
		}
		if _, err := note(tx, Event{Type: AttemptStarted, ProjectID: project, TaskID: t.ID, AttemptID: a.ID}); err != nil {
			return Started{}, err
		}
		p := process{Process: Process{ID: newID(), AttemptID: a.ID, Reason: Agent, Executor: r.Executor, Variant: r.Variant, Prompt: r.Prompt, Person: a.Person,
			State: Queued, Created: tx.Now, Updated: tx.Now}, taskID: t.ID, host: a.host, stamp: by}
		if setup {
			p.Reason = Setup
		}
		if err := insertProcess(ctx, tx, &p, project); err != nil {
			return Started{}, err
		}
		if a.host == anyHost {
			if err := enqueue(ctx, tx, p, r.wants()); err != nil {
				return Started{}, err
			}
		}
		if err := moveTask(ctx, tx, t, InProgress, Statuses...); err != nil {
			return Started{}, err
		}
		return Started{TaskID: t.ID, AttemptID: a.ID, Branch: a.Branch, ProcessID: p.ID}, tx.Audit(store.Record{Action: "attempt.started", Object: a.ID, Detail: r.Executor})
	})
}

// plan chooses the branch and folder of a new attempt, and checks that its target
// branches exist. setup reports whether a script runs before the agent.
func (m *Manager) plan(ctx context.Context, r StartRequest) (a attempt, setup bool, err error) {
	var t Task
	var known []Repo
	var repos []worktree.Repo
	err = m.db.View(ctx, func(tx *store.Tx) error {
		if t, err = readTask(ctx, tx, r.TaskID); err != nil {
			return err
		}
		for _, target := range r.Repos {
			repo, err := readRepo(ctx, tx, target.RepoID)
			if err == nil {
				err = repoAt(ctx, tx, &repo, m.host)
			}
			if err != nil {
				return err
			}
			known = append(known, repo)
			setup = setup || repo.Setup != ""
			a.Repos = append(a.Repos, AttemptRepo{RepoID: repo.ID, Name: repo.Name, TargetBranch: target.TargetBranch})
			repos = append(repos, worktree.Repo{Name: repo.Name, Path: repo.Path, Target: target.TargetBranch})
		}
		return nil
	})
	if err != nil {
		return a, false, err
	}
	a.ID, a.TaskID, a.host = newID(), t.ID, m.host
	name := a.ID[len(a.ID)-4:] + "-" + worktree.Slug(t.Title)
	if len(r.On) > 0 {
		// The host that takes it checks its repositories. All digits of the ID that are
		// random make the branch unique there.
		a.host, a.Branch = anyHost, m.options.BranchPrefix+"/"+a.ID[len(a.ID)-12:]+"-"+worktree.Slug(t.Title)
		a.Dir = filepath.Join(m.attemptsDir(), a.ID[len(a.ID)-12:]+"-"+worktree.Slug(t.Title))
		return a, setup, m.noteRemotes(ctx, known)
	}
	for _, repo := range repos {
		if _, err := repo.Resolve(ctx, repo.Target); err != nil {
			return a, false, m.explainMissingRepo(repo, err)
		}
	}
	if m.host != "" { // before an agent can change it
		if err := m.noteRemotes(ctx, known); err != nil {
			return a, false, err
		}
	}
	if a.Branch, err = worktree.FreeBranch(ctx, repos, m.options.BranchPrefix+"/"+name); err != nil {
		return a, false, err
	}
	// Two titles may give the same slug, but the last twelve digits of the IDs
	// differ.
	a.Dir = filepath.Join(m.attemptsDir(), a.ID[len(a.ID)-12:]+"-"+worktree.Slug(t.Title))
	return a, setup, nil
}

// wants returns what a host must have to take the request's attempt.
func (r StartRequest) wants() wants {
	w := wants{Labels: r.On, Executor: r.Executor}
	for _, target := range r.Repos {
		w.Repos = append(w.Repos, target.RepoID)
	}
	return w
}

func newestAttempt(ctx context.Context, tx *store.Tx, taskID string) (time.Time, error) {
	var newest int64
	err := tx.QueryRow(ctx, "SELECT COALESCE(MAX(created_at), 0) FROM attempts WHERE task_id = ?", taskID).Scan(&newest)
	if err != nil {
		return time.Time{}, fmt.Errorf("read attempts: %w", err)
	}
	return at(newest), nil
}

// choose finds an executor and a variant. It ignores case, and treats underscores in
// their names as dashes. If here, the executor must be available on this host.
func (m *Manager) choose(ctx context.Context, id, variant string, here bool) (string, string, error) {
	if strings.TrimSpace(id) == "" {
		return "", "", refuse(MissingRequired, "name an executor", "executor is missing").WithCase(WhichExecutor)
	}
	known, err := m.Executors(ctx)
	if err != nil {
		return "", "", err
	}
	for _, e := range known {
		if spelling(e.ID) != spelling(id) {
			continue
		}
		if e.Missing != "" && here {
			return "", "", refuse(ExecutorMissing, "use an executor that is available", "executor %s cannot be started: %s", e.ID, e.Missing).WithCase(ExecutorNotHere)
		}
		variant, err := e.choose(variant)
		return e.ID, variant, err
	}
	return "", "", refuse(InvalidArgument, "use an executor that is configured", "there is no executor %q", brief(id)).WithCase(WhichExecutor)
}

func (e Executor) choose(variant string) (string, error) {
	if s := spelling(variant); s == "" || s == "default" {
		return e.Default, nil
	}
	for _, v := range e.Variants {
		if spelling(v) == spelling(variant) {
			return v, nil
		}
	}
	return "", refuse(InvalidArgument, "use one of its variants, or none: "+strings.Join(e.Variants, ", "), "executor %s has no variant %q", e.ID, brief(variant)).
		WithCase(WhichVariant, "executor", e.ID, "variants", strings.Join(e.Variants, ", "))
}

func spelling(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
}
