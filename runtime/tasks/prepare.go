package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// errorText returns the text of an error and its hint.
func errorText(err error) string {
	if f := fault.Of(err); f != nil && f.Hint != "" {
		return f.Message + "; " + f.Hint
	}
	return err.Error()
}

// prepare creates missing worktrees, and locks them.
func (r *run) prepare() error {
	unlock, err := r.m.lockTree(r.ctx, r.p.AttemptID)
	if err != nil {
		return err
	}
	defer unlock()
	r.m.stopDev(r.ctx, r.p.AttemptID)
	if _, err := r.c.tree.LeaveBox(r.ctx); err != nil { // a killed runner left its box
		return err
	}
	switch {
	case !r.c.made():
		if err := r.fetchClones(); err != nil {
			return err
		}
		bases, err := r.c.tree.Add(r.ctx)
		if err != nil {
			return err
		}
		r.c.tree.Repos = bases
		for i := range bases {
			r.c.attempt.Repos[i].Base = bases[i].Base
			r.noteUpstream(bases[i])
		}
	case r.c.tree.Present(r.ctx):
		if err := r.c.tree.Lock(r.ctx); err != nil || r.c.removed == 0 {
			return err
		}
		return r.noteTree() // a removal of the folder was interrupted
	default:
		if err := r.c.tree.Recreate(r.ctx); err != nil {
			return err
		}
	}
	for i, repo := range r.c.repos {
		copied, err := r.c.tree.CopyIn(r.ctx, r.c.tree.Repos[i], repo.CopyFiles)
		if err != nil {
			return err
		}
		if len(copied) > 0 {
			all := append(slices.Clone(r.c.attempt.Repos[i].Copied), copied...)
			slices.Sort(all)
			all = slices.Compact(all) // some files may have been copied earlier
			r.c.attempt.Repos[i].Copied, r.c.tree.Repos[i].Copied = all, all
			r.log.Append(logs.System(fmt.Sprintf("copied into %s: %s", repo.Name, strings.Join(copied, ", "))))
		}
	}
	return r.noteTree()
}

// noteUpstream says in the log if the attempt begins from a branch that lacks commits of
// the one it follows.
func (r *run) noteUpstream(repo worktree.Repo) {
	if repo.Cloned {
		return // has what the remote has
	}
	upstream, commits, err := repo.BehindUpstream(r.ctx)
	if err != nil || commits == 0 {
		return
	}
	r.log.Append(logs.System(fmt.Sprintf("%s of %s is %s behind %s, and the attempt starts from it; to start from newer files, pull first",
		repo.Target, repo.Name, textutil.Count(commits, "commit"), upstream)))
}

// noteTree records that the worktrees exist, and stores their base commits.
func (r *run) noteTree() error {
	repos, err := json.Marshal(r.c.attempt.Repos)
	if err != nil {
		return err
	}
	return r.m.db.Update(r.ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(r.ctx, "UPDATE attempts SET repos = ?, removed = 0 WHERE id = ?", string(repos), r.p.AttemptID)
		return err
	})
}

// changed reports whether the attempt has changed anything.
func (r *run) changed() bool {
	changes, err := r.c.tree.Changes(r.ctx, worktree.Guard{}, false)
	return err != nil || changes.Blocked != "" || changes.Summary.Files > 0
}

// openLog starts the log of the running process.
func (r *run) openLog() error {
	r.log = nil
	dir := r.m.runDir(r.p.ID)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) { // not MkdirAll, because the parent folder may have been deleted
		return err
	}
	spool, err := logs.OpenSpool(filepath.Join(dir, spoolFile))
	if err != nil {
		return err
	}
	r.log, err = logs.NewWriter(r.ctx, r.m.db, r.p.ID, logs.Options{Redact: r.redactor, Spool: spool})
	if err != nil {
		spool.Close()
	}
	return err
}

const spoolFile = "spool"

// recoverLog copies a dead runner's output into the log, if the runner had not
// stored it.
func (m *Manager) recoverLog(ctx context.Context, p process) error {
	return logs.Recover(ctx, m.db, p.ID, filepath.Join(m.runDir(p.ID), spoolFile), logs.Options{})
}

// serve starts deskhand's tools if Serve is set, and builds the environment.
func (r *run) serve() (stop func(), err error) {
	stop = func() {}
	url, token := "", ""
	if r.m.options.Serve != nil {
		if url, token, stop, err = r.m.options.Serve(r.ctx, r.c.Attempt, r.p.Process); err != nil {
			return nil, err
		}
	}
	c, err := r.m.Context(r.ctx, r.c.ID)
	if err != nil {
		stop()
		return nil, err
	}
	env, secrets := executor.Environment(os.Environ(), append(r.m.options.Agents.Passed(r.p.Executor), r.m.options.Env...))
	r.env = append(env, "DESKHAND_URL="+url, "DESKHAND_TOKEN="+token, "DESKHAND_ATTEMPT_ID="+r.c.ID, "DESKHAND_TASK_ID="+r.task.ID,
		"DESKHAND_PROJECT_ID="+c.Project.ID, "DESKHAND_PROJECT="+c.Project.Name, "DESKHAND_BRANCH="+r.c.attempt.Branch)
	author, _ := r.c.tree.AuthorEnv(r.ctx)
	r.env = append(append(r.env, author...), r.m.options.AttemptEnv...)
	secrets = append(append(secrets, token), r.m.options.Agents.Secrets(r.p.Executor)...)
	r.redactor = logs.NewRedactor(secrets)
	r.url, r.token = url, token
	return stop, nil
}

// shell returns the command line that runs a script.
func shell(script string) []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd.exe", "/d", "/s", "/c", script}
	}
	return []string{"/bin/sh", "-c", script}
}
