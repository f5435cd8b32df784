package worktree

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Refs returns the refs of the repositories with their values, by repository
// and name. It omits remote branches, deskhand's own refs, and all attempts'
// branches, whose names begin with prefix.
func (t Tree) Refs(ctx context.Context, prefix string) (map[string]string, error) {
	found := map[string]string{}
	for _, r := range t.Repos {
		out, err := git(ctx, r.Path, "for-each-ref", "--format=%(objectname) %(refname)")
		if err != nil {
			return nil, fmt.Errorf("read refs of %s: %w", r.Name, err)
		}
		for _, line := range strings.Split(string(out), "\n") {
			id, ref, ok := strings.Cut(line, " ")
			if !ok || ref == "refs/heads/"+t.Branch || strings.HasPrefix(ref, "refs/deskhand/") || strings.HasPrefix(ref, "refs/remotes/") ||
				strings.HasPrefix(ref, "refs/heads/"+prefix+"/") {
				continue
			}
			found[r.Name+": "+ref] = id
		}
	}
	return found, nil
}

// maxRefs is the maximum number of refs that MovedRefs names.
const maxRefs = 10

// MovedRefs describes, for people, which refs changed between before and after.
func MovedRefs(before, after map[string]string) (moved []string) {
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, is := before[name], after[name]
		switch {
		case was == is:
		case was == "":
			moved = append(moved, fmt.Sprintf("%s was created while the agent ran, at %.12s", name, is))
		case is == "":
			moved = append(moved, fmt.Sprintf("%s was deleted while the agent ran; it was at %.12s", name, was))
		default:
			moved = append(moved, fmt.Sprintf("%s moved while the agent ran, from %.12s to %.12s", name, was, is))
		}
	}
	if more := len(moved) - maxRefs; more > 0 {
		moved = append(moved[:maxRefs], fmt.Sprintf("%d more refs moved while the agent ran", more))
	}
	return moved
}

// AtBase reports whether every branch is still where it started. The worktrees
// then contain only the user's own commits.
func (t Tree) AtBase(ctx context.Context) bool {
	for _, r := range t.Repos {
		head, err := revision(ctx, t.path(r), "HEAD")
		if err != nil || head != r.Base {
			return false
		}
	}
	return true
}
