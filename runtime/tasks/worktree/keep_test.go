package worktree

import (
	"os"
	"path/filepath"
	"testing"
)

// An interrupted removal leaves nothing that looks like an agent's work: the next
// follow-up has all files again.
func TestAttackWorkAFolderIsNeverHalfThere(t *testing.T) {
	private(t)
	repo := repository(t, "app")
	tree := attempt(t, repo)
	dir := filepath.Join(tree.Dir, "app")
	commitIn(t, dir, "a.txt")
	gone, err := tree.setAside() // then the process dies
	if err != nil || gone == "" || tree.Present(t.Context()) {
		t.Fatalf("setAside = %q, %v", gone, err)
	}
	if s, err := tree.Survey(t.Context()); err != nil || len(s.Holds) > 0 {
		t.Errorf("Survey = %+v, %v; want nothing held", s, err)
	}
	if err := tree.Recreate(t.Context()); err != nil {
		t.Fatalf("Recreate: %v", err)
	}
	if out := shell(t, dir, "status", "--porcelain"); out != "" {
		t.Errorf("after Recreate git says %q", out)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.txt")); err != nil {
		t.Error(err)
	}
	if err := ClearGone(filepath.Dir(tree.Dir)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(gone); err == nil {
		t.Errorf("%s is still there", gone)
	}
	if err := tree.Remove(t.Context(), false); err != nil {
		t.Errorf("Remove: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(filepath.Dir(tree.Dir), goneDir)); len(left) > 0 {
		t.Errorf("Remove leaves %v", left)
	}
}
