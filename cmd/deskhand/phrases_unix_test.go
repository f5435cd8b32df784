//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Claude Code is installed and its adapter is not: as for tasks, the agent runs all the same.
func TestPhrasesTakeTheTwinOfAnExecutor(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	t.Setenv("DESKHAND_STATE", filepath.Join(dir, "state"))
	if err := os.WriteFile(filepath.Join(bin, "claude"), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"git", "sh", "deskhand"} {
		if err := os.Symlink(mustFind(t, name), filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, map[string]string{"shop/docs/a.md": "# A\n\nHow to roll back.\n"})
	docsProject(t, dir)
	shop := filepath.Join(dir, "shop")
	done(t, shop, "index", "docs", "-q")
	t.Setenv("PATH", bin)
	got := deskhand(t, shop, "phrases", "--by", "agent:claude", "--limit", "1")
	if !strings.Contains(got.stderr, "claude-agent-acp is not on the path, so claude-stream runs instead\n") {
		t.Errorf("phrases --by agent:claude = %d %q, stderr %q; want claude-stream instead", got.code, got.stdout, got.stderr)
	}
}
