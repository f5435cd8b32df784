package tasks

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// FindFiles returns the files of a project's target branches whose path contains all
// the words, at most limit, the best first. Paths are relative to the folder in which
// an agent starts: with several repositories, they begin with the repository's name.
func (m *Manager) FindFiles(ctx context.Context, projectID, words string, limit int) (found []string, err error) {
	repos, err := m.Repos(ctx, projectID)
	if err != nil {
		return nil, err
	}
	query := strings.Fields(strings.ToLower(words))
	for _, r := range repos {
		prefix := ""
		if len(repos) > 1 {
			prefix = r.Name + "/"
		}
		err := (worktree.Repo{Name: r.Name, Path: r.Path}).Files(ctx, r.TargetBranch, func(name string) {
			name = prefix + name
			low := strings.ToLower(name)
			if !slices.ContainsFunc(query, func(w string) bool { return !strings.Contains(low, w) }) {
				found = append(found, name)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	sortFiles(found, query)
	return found[:min(len(found), limit)], nil
}

// sortFiles puts files first whose name begins with the first word, then those whose
// name contains it, then short paths.
func sortFiles(files, words []string) {
	first := ""
	if len(words) > 0 {
		first = words[0]
	}
	rank := func(name string) int {
		switch base := strings.ToLower(path.Base(name)); {
		case strings.HasPrefix(base, first):
			return 0
		case strings.Contains(base, first):
			return 1
		}
		return 2
	}
	slices.SortFunc(files, func(a, b string) int {
		return cmp.Or(rank(a)-rank(b), len(a)-len(b), strings.Compare(a, b))
	})
}
