package source

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Nothing that a repository has, and nothing that the person's own git would run
// for one, runs: hooks, filters of Git LFS, submodules by a helper program.
func TestAttackSourcesGitRunsNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: there is no shell for hooks and filters")
	}
	marks := t.TempDir()
	ran := func(name string) string { return "touch " + filepath.Join(marks, name) }
	hooks := t.TempDir()
	for _, hook := range []string{"post-checkout", "post-merge", "reference-transaction", "post-index-change", "fsmonitor-watchman"} {
		if err := os.WriteFile(filepath.Join(hooks, hook), []byte("#!/bin/sh\n"+ran("hook-"+hook)+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir := repository(t)
	// A link that git would make, a submodule that is really there, and files of LFS.
	if err := os.Symlink("/etc", filepath.Join(dir, "docs", "etc")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{
		".gitattributes": "*.md filter=lfs\n", ".gitmodules": "[submodule \"s\"]\n\tpath = docs/s\n\turl = ext::" + ran("ext") + "\n",
		".lfsconfig": "[lfs]\n\turl = http://127.0.0.1:1/\n",
	})
	git(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+git(t, dir, "rev-parse", "HEAD")+",docs/s")
	git(t, dir, "add", "docs/etc", ".gitattributes", ".gitmodules", ".lfsconfig")
	git(t, dir, "commit", "-q", "-m", "three")
	git(t, dir, "tag", "v3.0.0")

	global := filepath.Join(t.TempDir(), "config")
	write(t, filepath.Dir(global), map[string]string{"config": "[core]\n\thooksPath = " + hooks + "\n\tfsmonitor = " + filepath.Join(hooks, "fsmonitor-watchman") + "\n[init]\n\ttemplateDir = " + filepath.Dir(hooks) +
		"\n[submodule]\n\trecurse = true\n[protocol \"ext\"]\n\tallow = always\n[filter \"lfs\"]\n\tsmudge = " + ran("smudge") + "\n\tprocess = " + ran("process") + "\n\trequired = true\n"})
	t.Setenv("GIT_CONFIG_GLOBAL", global)
	s, err := Open(t.Context(), dir+"#v3.0.0", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if b, err := os.ReadFile(filepath.Join(s.Dir, "a.md")); err != nil || string(b) != "# Two\n" {
		t.Errorf("a.md is %q, %v", b, err)
	}
	if info, err := os.Lstat(filepath.Join(s.Dir, "etc")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("a link of the repository: %v, %v", info, err)
	}
	if left, err := os.ReadDir(filepath.Join(s.Dir, "s")); err == nil && len(left) > 0 {
		t.Errorf("the submodule has %v", left)
	}
	if made, err := os.ReadDir(marks); err != nil || len(made) > 0 {
		t.Errorf("ran: %v, %v", made, err)
	}
}
