package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Commit commits the changes in each worktree to the attempt's branch. It
// returns the number of repositories that had changes. It runs no hook and
// signs nothing. No agent may be working, because Commit removes a lock that a
// killed git has left. Commit leaves out nested repositories that are not
// submodules, and files that [Tree.CopyIn] copied.
//
// Faults: head_moved if another branch is checked out, or if a merge or rebase
// is unfinished (all files are then unchanged); commit_held if a check finds
// something in the lines to be committed.
func (t Tree) Commit(ctx context.Context, message string, checks ...Check) (int, error) {
	n := 0
	var problems []error
	for _, r := range t.Repos {
		made, err := t.commit(ctx, r, message, checks)
		if made {
			n++
		}
		if err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) == 1 {
		return n, problems[0]
	}
	return n, errors.Join(problems...)
}

func (t Tree) commit(ctx context.Context, r Repo, message string, checks []Check) (bool, error) {
	dir := t.path(r)
	if !t.present(ctx, r) {
		return false, missing(r)
	}
	if err := t.onBranch(ctx, r); err != nil {
		return false, err
	}
	restored, err := t.restoreBranch(ctx, r)
	if err != nil {
		return false, err
	}
	if lock, err := gitPath(ctx, dir, "index.lock"); err == nil {
		os.Remove(lock)
	}
	in := t.in(ctx, r)
	if err := stage(in, r.Copied); err != nil {
		return false, fmt.Errorf("stage changes of %s: %w", r.Name, err)
	}
	if err := t.checked(in, r, "HEAD", checks); err != nil {
		return false, err
	}
	if _, err := run(in("diff", "--cached", "--quiet", "--no-ext-diff")); err == nil {
		return restored, nil
	}
	cmd := in("commit", "--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=whitespace", "--file=-")
	cmd.Stdin = strings.NewReader(subject(message))
	cmd.Env = append(cmd.Env, identity(ctx, dir)...)
	if _, err := run(cmd); err != nil {
		return false, fmt.Errorf("commit in %s: %w", r.Name, err)
	}
	return true, nil
}

// onBranch returns head_moved if a commit would not go to the attempt's branch.
func (t Tree) onBranch(ctx context.Context, r Repo) error {
	dir := t.path(r)
	moved := func(what string) error {
		return fault.New(HeadMoved, fmt.Sprintf("worktree of %s %s, so nothing is committed there", r.Name, what),
			fmt.Sprintf("finish it by hand in %s on branch %s", dir, t.Branch))
	}
	out, err := git(ctx, dir, "symbolic-ref", "--quiet", "HEAD")
	if err != nil {
		if f := fault.Of(err); f != nil {
			return f
		}
		return moved("has a detached HEAD")
	}
	if ref := strings.TrimSpace(string(out)); ref != "refs/heads/"+t.Branch {
		return moved("is on " + strings.TrimPrefix(ref, "refs/heads/"))
	}
	doing, err := unfinished(ctx, dir)
	if err == nil && doing != "" {
		err = moved("has " + doing + " in progress")
	}
	return err
}

// stage adds the changed and untracked files to the index, except nested
// repositories. It does not use "git add", which compares each name with every
// other. "git add" also refuses files whose folder has become a link, and files
// that a sparse checkout leaves out. If the agent has added a file in without,
// stage removes it from the index.
func stage(in gitIn, without []string) error {
	differ, err := run(in("diff-files", "--raw", "-z", "--no-renames", "--ignore-submodules=dirty"))
	if err != nil {
		return err
	}
	there, err := untracked(in)
	if err != nil {
		return err
	}
	there = slices.DeleteFunc(there, func(name string) bool { return slices.Contains(without, name) })
	gone, err := staged(in, without)
	if err != nil {
		return err
	}
	parts := fields(differ) // each pair is ":OLDMODE NEWMODE OLDID NEWID STATUS" and a name
	for i := 0; i+1 < len(parts); i += 2 {
		if modes := strings.Fields(parts[i]); len(modes) > 1 && modes[1] == "000000" {
			gone = append(gone, parts[i+1])
		} else if !slices.Contains(gone, parts[i+1]) {
			there = append(there, parts[i+1])
		}
	}
	for _, step := range []struct {
		how   []string
		names []string
	}{{[]string{"--force-remove"}, gone}, {[]string{"--add", "--replace"}, there}} {
		if len(step.names) == 0 {
			continue
		}
		args := append(append([]string{"update-index"}, step.how...), "-z", "--stdin")
		if _, err := feed(in(args...), step.names); err != nil {
			return err
		}
	}
	return nil
}

// staged returns the names that are in the index but in no commit.
func staged(in gitIn, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	args := append([]string{"diff", "--cached", "--name-only", "--no-renames", "--diff-filter=A", "--ignore-submodules=all", "-z", "--"}, names...)
	out, err := run(in(args...))
	return fields(out), err
}

// identity returns environment variables that name deskhand as the author or the
// committer. It returns none for what git knows from the user's configuration or
// environment. Without an author, git would refuse to commit.
func identity(ctx context.Context, dir string) (env []string) {
	set := map[string]bool{}
	all, _ := configuration(ctx, dir)
	for _, s := range all {
		set[s.key] = true
	}
	if set["user.name"] && set["user.email"] {
		return nil // the usual case, without starting git
	}
	for _, who := range roles {
		if requireNamed(ctx, dir, who) != nil {
			env = append(env, "GIT_"+who+"_NAME=deskhand", "GIT_"+who+"_EMAIL=deskhand@localhost")
		}
	}
	return env
}

// roles lists the two people that a commit names, as in git's variables.
var roles = []string{"AUTHOR", "COMMITTER"}

// requireNamed returns an error unless git knows a name and an email address.
func requireNamed(ctx context.Context, dir, who string) error {
	cmd := command(ctx, dir, "var", "GIT_"+who+"_IDENT")
	cmd.with = []string{"user.useConfigOnly=true"} // git would otherwise guess from the host's name
	_, err := run(cmd)
	return err
}

// AuthorEnv returns environment variables with which the commits of other programs in
// the worktrees, such as the agent, have the same author as those of [Tree.Commit].
// anonymous reports that this is deskhand, because git does not know the user.
func (t Tree) AuthorEnv(ctx context.Context) (env []string, anonymous bool) {
	for _, who := range roles {
		for _, name := range []string{"GIT_" + who + "_NAME", "GIT_" + who + "_EMAIL"} {
			if value := os.Getenv(name); value != "" {
				env = append(env, name+"="+value)
			}
		}
	}
	for _, r := range t.Repos {
		if own := identity(ctx, r.Path); len(own) > 0 {
			return append(env, own...), true
		}
	}
	return env, false
}

// subject returns message in bytes that git accepts. The result is never empty.
func subject(message string) string {
	message = strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(message, "\x00", ""), "\uFFFD"))
	if message == "" {
		return "Work of an attempt"
	}
	return message
}

func missing(r Repo) error {
	return fault.New(WorktreeMissing, fmt.Sprintf("the worktree of %s is missing", r.Name), "send a follow-up, which restores the worktree")
}
