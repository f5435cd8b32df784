package worktree

import (
	"context"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// replay makes the commits that head has and onto does not again, on top of
// onto, without a checkout. Each stays its author's. A merge is left out, and so
// is a commit that changes nothing any more; with none left it is onto.
func replay(ctx context.Context, r Repo, onto, head, target string, a Author) (string, error) {
	out, err := git(ctx, r.Path, "rev-list", "--reverse", "--topo-order", "--no-merges", onto+".."+head)
	if err != nil {
		return "", fmt.Errorf("list commits of %s: %w", r.Name, err)
	}
	for _, commit := range strings.Fields(string(out)) {
		if onto, err = pick(ctx, r, onto, commit, target, a); err != nil {
			return "", err
		}
	}
	return onto, nil
}

// pick makes a commit again on top of another one. The three-way merge takes
// its base from the history, so both sides are committed on the commit's parent
// for the moment: then that is the base.
func pick(ctx context.Context, r Repo, onto, commit, target string, a Author) (string, error) {
	parent, err := revision(ctx, r.Path, commit+"^")
	if err != nil {
		if f := fault.Of(err); f != nil {
			return "", f
		}
		return "", fault.New(UnrelatedHistories, fmt.Sprintf("commit %.12s of %s has no parent, so it cannot be made again elsewhere", commit, r.Name), "land with a merge, or as one commit")
	}
	if parent == onto {
		return commit, nil
	}
	sides := []string{onto, commit}
	for i, side := range sides {
		if sides[i], err = commitTree(ctx, r, side+"^{tree}", []string{parent}, "side of a merge", false, nobody); err != nil {
			return "", err
		}
	}
	tree, conflicts, err := mergeTree(ctx, r.Path, sides[0], sides[1])
	if err != nil {
		return "", err
	}
	if len(conflicts) > 0 {
		for i, c := range conflicts {
			conflicts[i] = quote(r.Name + "/" + c)
		}
		f := Conflict(conflicts, target)
		f.Message += fmt.Sprintf(", in commit %.12s", commit)
		return "", f
	}
	was, err := git(ctx, r.Path, "rev-parse", onto+"^{tree}")
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(string(was)) == tree {
		return onto, nil // the target has it already
	}
	return recommit(ctx, r, commit, tree, onto, a)
}

// nobody is who commits what no branch ever has; always the same, so that git
// stores it once.
var nobody = []string{
	"GIT_AUTHOR_NAME=deskhand", "GIT_AUTHOR_EMAIL=deskhand@localhost", "GIT_AUTHOR_DATE=@0 +0000",
	"GIT_COMMITTER_NAME=deskhand", "GIT_COMMITTER_EMAIL=deskhand@localhost", "GIT_COMMITTER_DATE=@0 +0000",
}

// recommit makes a commit with the author, date and message of another one.
func recommit(ctx context.Context, r Repo, of, tree, parent string, a Author) (string, error) {
	out, err := git(ctx, r.Path, "cat-file", "commit", of)
	if err != nil {
		return "", fmt.Errorf("read commit %.12s of %s: %w", of, r.Name, err)
	}
	header, message, _ := strings.Cut(string(out), "\n\n")
	var env []string
	for line := range strings.Lines(header) {
		who, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "author ")
		name, rest, more := strings.Cut(who, " <")
		email, date, dated := strings.Cut(rest, "> ")
		if ok && more && dated {
			env = []string{"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + email, "GIT_AUTHOR_DATE=@" + date}
		}
	}
	return commitTree(ctx, r, tree, []string{parent}, message, a.Sign, env)
}
