package board

import (
	"testing"

	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

func TestTheTargetInWords(t *testing.T) {
	for _, c := range []struct {
		work      string
		distances []worktree.Distance
		want      string
	}{
		{tasks.OnBranch, nil, ""},
		{tasks.OnBranch, []worktree.Distance{{Name: "shop", Head: "base"}}, ""},
		{tasks.OnBranch, []worktree.Distance{{Ahead: 2, Behind: 1}, {Behind: 2, Conflicts: []string{"shop/README.md"}}}, "3 behind, 2 ahead, conflicts in shop/README.md"},
		{tasks.LandedWork, []worktree.Distance{{Ahead: 2}}, ""},
		{tasks.OnBranch, []worktree.Distance{{Target: "main", Head: "new", Behind: 2}}, "merged into main"},
		{tasks.OnBranch, []worktree.Distance{{Target: "main", Head: "base", Behind: 2}}, "2 behind, 0 ahead"},
	} {
		s := standing{AttemptStatus: tasks.AttemptStatus{Attempt: tasks.Attempt{Repos: []tasks.AttemptRepo{{Base: "base"}}}, Work: tasks.Work{State: c.work}, Distances: c.distances}}
		if got := s.Target(); got != c.want {
			t.Errorf("%s, %+v: %q, want %q", c.work, c.distances, got, c.want)
		}
	}
}
