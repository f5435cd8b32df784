//go:build unix

package worktree

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// counted puts a git in PATH that records its command lines, and returns a function that
// returns and clears them.
func counted(t *testing.T) func() []string {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	put(t, filepath.Join(dir, "git"), "#!/bin/sh\necho \"$*\" >>'"+log+"'\nexec '"+real+"' \"$@\"\n")
	if err := os.Chmod(filepath.Join(dir, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func() []string {
		out, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		os.Remove(log)
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
}

// The steps of a run ask git once where a repository is and how it is
// configured, and not before each command.
func TestARunAsksForTheConfigurationOnce(t *testing.T) {
	private(t)
	defer func(old time.Duration) { settledFor = old }(settledFor)
	settledFor = time.Hour // however slow the machine is
	repo := repository(t, "app")
	ran := counted(t)
	tree := attempt(t, repo)
	put(t, filepath.Join(tree.Dir, "app", "new.txt"), "new\n")
	if n, err := tree.Commit(t.Context(), "new"); n != 1 || err != nil {
		t.Fatalf("Commit = %d, %v", n, err)
	}
	if _, err := tree.Standing(t.Context()); err != nil {
		t.Fatalf("Standing: %v", err)
	}
	if err := tree.Unlock(t.Context()); err != nil {
		t.Fatalf("Unlock: %v", err)
	}
	all := ran()
	asks := func(what string) (n int) {
		for _, line := range all {
			if strings.Contains(line, what) {
				n++
			}
		}
		return n
	}
	// The configuration is that of the repository and that of the worktree.
	for what, most := range map[string]int{"config --list": 2, "rev-parse --git-common-dir": 1, "rev-parse --absolute-git-dir": 1} {
		if n := asks(what); n < 1 || n > most {
			t.Errorf("git %s ran %d times, want 1 to %d:\n%s", what, n, most, strings.Join(all, "\n"))
		}
	}
}

// A configuration that changes between two git commands counts for the second
// one, even if the file's size and time stay the same, if only the worktree's
// own file changes, or if the change is in a file that is included.
func TestAChangedConfigurationCountsAtOnce(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, repo, dir, script string){
		"same size and time": func(t *testing.T, repo, _, script string) {
			path := filepath.Join(repo, ".git", "config")
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			out, _ := os.ReadFile(path)
			put(t, path, strings.Replace(string(out), strings.Repeat("x", len(script)), script, 1))
			if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		},
		"of the worktree": func(t *testing.T, _, dir, script string) {
			shell(t, dir, "config", "--worktree", "filter.pwn.clean", script)
		},
		"included": func(t *testing.T, repo, _, script string) {
			put(t, filepath.Join(repo, ".git", "more"), "[filter \"pwn\"]\n\tclean = "+script+"\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			private(t)
			repo := repository(t, "app")
			tree := attempt(t, repo)
			dir := filepath.Join(tree.Dir, "app")
			ran, script := filepath.Join(t.TempDir(), "ran"), filepath.Join(t.TempDir(), "pwn")
			put(t, script, "#!/bin/sh\necho ran >> '"+ran+"'\ncat\n")
			if err := os.Chmod(script, 0o755); err != nil {
				t.Fatal(err)
			}
			shell(t, repo, "config", "extensions.worktreeConfig", "true")
			shell(t, repo, "config", "comment.of", strings.Repeat("x", len(script)))
			if name == "included" {
				shell(t, repo, "config", "include.path", "more")
			}
			if name == "same size and time" { // the setting is there, with another value
				shell(t, repo, "config", "filter.pwn.other", "x")
				out, _ := os.ReadFile(filepath.Join(repo, ".git", "config"))
				text := strings.Replace(string(out), "[comment]\n\tof = ", "[filter \"pwn\"]\n\tclean = ", 1)
				put(t, filepath.Join(repo, ".git", "config"), text)
			}
			if _, err := configuration(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			change(t, repo, dir, script)
			all, err := configuration(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, s := range all {
				found = found || s.key == "filter.pwn.clean" && s.value == script
			}
			if !found {
				t.Errorf("configuration does not have the changed value: %v", all)
			}
			put(t, filepath.Join(dir, ".gitattributes"), "* filter=pwn\n")
			tree.Commit(t.Context(), "filtered") // refused, because the filter is not run
			if _, err := os.Stat(ran); err == nil {
				t.Error("the repository's filter ran")
			}
		})
	}
}

// A pipe in place of the configuration does not stop a command.
func TestAPipeIsNoGround(t *testing.T) {
	private(t)
	repo := repository(t, "app")
	path := filepath.Join(repo, ".git", "config.worktree")
	if out, err := exec.Command("mkfifo", path).CombinedOutput(); err != nil {
		t.Fatalf("mkfifo: %v\n%s", err, out)
	}
	done := make(chan bool, 1)
	go func() { _, ok := ground(repo); done <- ok }()
	select {
	case ok := <-done:
		if ok {
			t.Error("ground = true, want false")
		}
	case <-time.After(20 * time.Second):
		t.Error("ground waits for the pipe's writer")
	}
}
