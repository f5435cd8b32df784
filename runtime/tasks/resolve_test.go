package tasks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

func TestThePromptToResolveNamesCommitsAndPaths(t *testing.T) {
	var many []string
	for i := range 60 {
		many = append(many, fmt.Sprintf("lib/f%d", i))
	}
	got := resolvePrompt([]worktree.Distance{
		{Name: "shop", Target: "main", Tip: "abc", Conflicts: []string{"shop/README.md", "shop/a\n- b"}},
		{Name: "docs", Target: "main", Tip: "def"},
		{Name: "lib", Target: "release", Tip: "123", Conflicts: many},
	})
	for _, want := range []string{"In shop run: git merge abc\n", "branch main", "- shop/README.md\n", "- \"shop/a\\012- b\"\n", "In lib run: git merge 123\n", "branch release", "- and 10 more\n", "commit the merge"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "def") || strings.Contains(got, "f50\n") {
		t.Errorf("too much in:\n%s", got)
	}
}
