package worktree

import (
	"context"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// replay takes the commits that are in head but not in onto, and recreates them
// on top of onto, without a checkout. Commits keep their authors. replay leaves
// out merges, and commits that no longer change anything. If no commit is left,
// it returns onto.
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

// pick recreates a commit on top of onto. A three-way merge takes its base from
// the history. pick therefore first commits both sides on top of the commit's
// parent, so that the parent becomes the base.
func pick(ctx context.Context, r Repo, onto, commit, target string, a Author) (string, error) {
	parent, err := revision(ctx, r.Path, commit+"^")
	if err != nil {
		if f := fault.Of(err); f != nil {
			return "", f
		}
		return "", fault.New(UnrelatedHistories, fmt.Sprintf("commit %.12s of %s has no parent, so it cannot be rebased", commit, r.Name), "land with merge or squash")
	}
	if parent == onto && !a.Sign {
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
		return onto, nil // the target already has the change
	}
	return recommit(ctx, r, commit, tree, onto, a)
}

// nobody sets the author of temporary commits. The author is always the same,
// so git stores such a commit only once.
var nobody = []string{
	"GIT_AUTHOR_NAME=deskhand", "GIT_AUTHOR_EMAIL=deskhand@localhost", "GIT_AUTHOR_DATE=@0 +0000",
	"GIT_COMMITTER_NAME=deskhand", "GIT_COMMITTER_EMAIL=deskhand@localhost", "GIT_COMMITTER_DATE=@0 +0000",
}

// recommit creates a commit with the author, date and message of another
// commit.
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
