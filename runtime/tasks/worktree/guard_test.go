package worktree

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// plant writes everything with which an agent could make git run a program: into the
// repository's shared configuration, the worktree's configuration, and the worktree.
// The program creates a file.
func plant(t *testing.T, repo, dir string) (ran string) {
	t.Helper()
	ran = filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(t.TempDir(), "pwn")
	put(t, script, "#!/bin/sh\necho \"$0 $*\" >> '"+ran+"'\ncat 2>/dev/null\nexit 0\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	shell(t, repo, "config", "extensions.worktreeConfig", "true")
	included := filepath.Join(t.TempDir(), "included")
	put(t, included, "[filter \"more\"]\n\tclean = "+script+"\n\tsmudge = "+script+"\n")
	for key, value := range map[string]string{
		"filter.pwn.clean": script, "filter.pwn.smudge": script, "filter.proc.process": script, "filter.lfs.clean": script, "filter.lfs.smudge": script,
		"core.fsmonitor": script, "core.hooksPath": filepath.Join(dir, "hooks"), "core.editor": script, "sequence.editor": script,
		"core.pager": script, "pager.diff": script, "pager.status": script, "core.sshCommand": script, "core.gitProxy": script, "core.askPass": script,
		"core.alternateRefsCommand": script, "diff.external": script, "diff.pwn.command": script, "diff.pwn.textconv": script, "diff.pwn.cachetextconv": "true",
		"merge.pwn.driver": script, "merge.default": "pwn", "gpg.program": script, "commit.gpgSign": "true", "log.showSignature": "true",
		"credential.helper": script, "include.path": included, "alias.status": "!" + script, "alias.commit": "!" + script,
		"protocol.ext.allow": "always", "remote.origin.url": "ext::" + script, "remote.origin.promisor": "true", "remote.origin.vcs": "pwn",
		"remote.origin.uploadpack": script, "uploadpack.packObjectsHook": script, "interactive.diffFilter": script, "trailer.x.command": script,
		"safe.directory": "*", "hook.pwn.command": script, "hook.pwn.event": "pre-commit", "commit.verbose": "true", "commit.template": script,
		"lfs.extension.x.clean": script, "status.submoduleSummary": "true", "gc.auto": "1", "gc.recentObjectsHook": script,
	} {
		shell(t, repo, "config", "--local", key, value)
		if key != "include.path" && !strings.HasPrefix(key, "extensions.") {
			shell(t, dir, "config", "--worktree", key, value)
		}
	}
	for _, folder := range []string{filepath.Join(dir, "hooks"), filepath.Join(repo, ".git", "hooks")} {
		for _, hook := range []string{"pre-commit", "post-commit", "commit-msg", "prepare-commit-msg", "post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"} {
			put(t, filepath.Join(folder, hook), "#!/bin/sh\n"+script+" "+hook+"\n")
			os.Chmod(filepath.Join(folder, hook), 0o755)
		}
	}
	put(t, filepath.Join(repo, ".git", "info", "attributes"), "*.two filter=proc diff=pwn merge=pwn\n")
	put(t, filepath.Join(repo, ".git", "objects", "info", "alternates"), t.TempDir()+"\n")
	put(t, filepath.Join(dir, ".gitmodules"), "[submodule \"x\"]\n\tpath = x\n\turl = ext::"+script+"\n\tupdate = !"+script+"\n")
	return ran
}

// No git command of deskhand starts a program that an agent could have configured in
// the worktree, in the shared configuration, or in a nested repository.
func TestNothingRunsThatAnAgentCouldHaveWritten(t *testing.T) {
	config := private(t)
	repo := repository(t, "app")
	tree := attempt(t, repo)
	dir := filepath.Join(tree.Dir, "app")
	inner := filepath.Join(dir, "inner") // a link to another repository that the agent created
	shell(t, dir, "init", "-q", "inner")
	put(t, filepath.Join(inner, "a.txt"), "a\n")
	shell(t, inner, "add", "-A")
	shell(t, inner, "commit", "-q", "-m", "inner")
	shell(t, dir, "-c", "advice.addEmbeddedRepo=false", "add", "inner")
	ran := plant(t, repo, dir)
	shell(t, inner, "config", "core.fsmonitor", filepath.Join(dir, "hooks", "pre-commit"))
	shell(t, inner, "config", "filter.deep.clean", filepath.Join(dir, "hooks", "pre-commit"))
	put(t, filepath.Join(inner, ".gitattributes"), "* filter=deep\n")
	put(t, filepath.Join(inner, "a.txt"), "b\n")
	put(t, filepath.Join(dir, "plain.md"), "nothing to filter\n")
	put(t, filepath.Join(dir, "readme.md"), "changed\n")
	use := func(what string) {
		t.Helper()
		tree.Changes(t.Context(), Balanced, true)
		tree.Patch(t.Context(), []string{"app"}, 0, Balanced, true)
		tree.File(t.Context(), "app/readme.md", Slice{})
		Inspect(t.Context(), repo)
		tree.Lock(t.Context())
		_, err := tree.Commit(t.Context(), what)
		other := Tree{Dir: filepath.Join(filepath.Dir(tree.Dir), what), Branch: "deskhand/" + what, Repos: tree.Repos}
		if _, e := other.Add(t.Context()); e == nil {
			_ = other.Remove(t.Context(), true)
			other.DropBranches(t.Context())
		}
		tree.Unlock(t.Context())
		tree.Remove(t.Context(), false)
		if out, e := os.ReadFile(ran); e == nil {
			t.Errorf("%s: these ran:\n%s", what, out)
			os.Remove(ran)
		}
		if what == "plain" && err != nil {
			t.Errorf("Commit of files that no filter is for: %v", err)
		}
	}
	use("plain")
	// Now files have attributes that name the planted filters.
	for i, attributes := range []string{"* filter=pwn diff=pwn merge=pwn", "* filter=proc", "* filter=more", "* filter=lfs"} {
		put(t, filepath.Join(dir, ".gitattributes"), attributes+"\n")
		put(t, filepath.Join(dir, "readme.md"), "changed again "+attributes+"\n")
		put(t, filepath.Join(dir, "b.two"), attributes)
		use("with" + string(rune('a'+i)))
	}
	_, err := tree.Commit(t.Context(), "x")
	wantFault(t, "Commit of what a filter of the repository is for", err, "filter_refused")
	// The user's own filter with the same name runs instead of the planted one.
	mine := filepath.Join(t.TempDir(), "mine")
	put(t, mine, "#!/bin/sh\ntr a-z A-Z\n")
	os.Chmod(mine, 0o755)
	shell(t, dir, "config", "--file", config, "filter.lfs.clean", mine)
	shell(t, dir, "config", "--file", config, "filter.lfs.required", "true")
	os.Remove(filepath.Join(dir, "b.two"))
	if _, err := tree.Commit(t.Context(), "mine"); err != nil {
		t.Errorf("Commit with the user's own filter: %v", err)
	}
	if got, _ := git(t.Context(), dir, "cat-file", "blob", "HEAD:readme.md"); !strings.HasPrefix(string(got), "CHANGED AGAIN") {
		t.Errorf("the user's own filter made %q", got)
	}
	if out, e := os.ReadFile(ran); e == nil {
		t.Errorf("beside the user's filter these ran:\n%s", out)
	}
	// The test is effective: an ordinary git command runs the planted programs.
	put(t, filepath.Join(dir, ".gitattributes"), "* filter=pwn\n")
	put(t, filepath.Join(dir, "readme.md"), "once more\n")
	shell(t, dir, "-c", "core.fsmonitor=false", "add", "readme.md")
	if _, err := os.Stat(ran); err != nil {
		t.Error("the planted filter does not run in a plain git: the test shows nothing")
	}
}

func TestAKeyThatCannotBeOverriddenIsRefused(t *testing.T) {
	private(t)
	repo := repository(t, "app")
	tree := attempt(t, repo)
	shell(t, repo, "config", "filter.a=b.clean", "touch /nowhere/x")
	put(t, filepath.Join(tree.Dir, "app", "new.txt"), "n")
	_, err := tree.Commit(t.Context(), "x")
	wantFault(t, "Commit with a filter that has an equals sign", err, "config_refused")
}

// The repository's credential helpers are disabled, and the user's are not.
func TestTheUsersHelpersAreTheOnlyOnes(t *testing.T) {
	config := private(t)
	repo := repository(t, "app")
	shell(t, repo, "config", "--file", config, "credential.helper", "mine")
	shell(t, repo, "config", "--file", config, "credential.https://example.com.helper", "other")
	shell(t, repo, "config", "credential.helper", "planted")
	shell(t, repo, "config", "credential.https://example.org.helper", "planted")
	all, err := configuration(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	over, err := overrides(all, true)
	if got, want := strings.Join(over, " "), "credential.helper= credential.helper=mine credential.https://example.com.helper=other"; err != nil || got != want {
		t.Errorf("overrides = %q, %v; want %q", got, err, want)
	}
}

// One function in this package runs git for everything about attempts. The indexer runs
// one git command, which starts no program.
func TestGitIsRunInOnePlace(t *testing.T) {
	runs := regexp.MustCompile(`exec\.Command(?:Context)?\([^\n]*"git"`)
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != "..":
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		src, err := os.ReadFile(path)
		own := filepath.ToSlash(path)
		if n := len(runs.FindAll(src, -1)); n > 0 && (n > 1 || own != "../../../runtime/tasks/worktree/git.go" && own != "../../../indexer/git.go" && own != "../../../indexer/source/git.go") {
			t.Errorf("%s runs git %d times by itself", own, n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
