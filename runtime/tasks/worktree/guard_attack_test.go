package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each setting with which a configuration makes git run a program is planted
// separately, in the shared configuration and in the worktree's. No git command of
// deskhand runs the program. {} stands for the program.
func TestAttackBoxGit(t *testing.T) {
	private(t)
	for name, c := range map[string]struct {
		keys       map[string]string
		attributes string
		hooks      bool
		url        string
	}{
		"filter clean and smudge":   {keys: map[string]string{"filter.pwn.clean": "{}", "filter.pwn.smudge": "{}"}, attributes: "* filter=pwn"},
		"filter process":            {keys: map[string]string{"filter.pwn.process": "{}", "filter.pwn.required": "true"}, attributes: "* filter=pwn"},
		"filter of an include":      {keys: map[string]string{"include.path": "{include}"}, attributes: "* filter=more"},
		"filter of a conditional":   {keys: map[string]string{"includeIf.gitdir:/.path": "{include}"}, attributes: "* filter=more"},
		"hooks":                     {hooks: true},
		"hooks path":                {keys: map[string]string{"core.hooksPath": "{hooks}"}},
		"hook of the configuration": {keys: map[string]string{"hook.pwn.command": "{}", "hook.pwn.event": "pre-commit"}},
		"fsmonitor":                 {keys: map[string]string{"core.fsmonitor": "{}", "core.fsmonitorHookVersion": "2"}},
		"editors":                   {keys: map[string]string{"core.editor": "{}", "sequence.editor": "{}"}},
		"pagers":                    {keys: map[string]string{"core.pager": "{}", "pager.diff": "{}", "pager.status": "{}", "pager.log": "{}", "interactive.diffFilter": "{}"}},
		"textconv":                  {keys: map[string]string{"diff.pwn.textconv": "{}", "diff.pwn.cachetextconv": "true"}, attributes: "* diff=pwn"},
		"diff command":              {keys: map[string]string{"diff.pwn.command": "{}", "diff.external": "{}"}, attributes: "* diff=pwn"},
		"merge driver":              {keys: map[string]string{"merge.pwn.driver": "{}", "merge.default": "pwn"}, attributes: "* merge=pwn"},
		"core commands":             {keys: map[string]string{"core.sshCommand": "{}", "core.gitProxy": "{}", "core.askPass": "{}", "core.alternateRefsCommand": "{}"}, url: "ssh://127.0.0.1/x"},
		"credential helpers":        {keys: map[string]string{"credential.helper": "{}"}, url: "http://127.0.0.1:1/x"},
		"signing":                   {keys: map[string]string{"gpg.program": "{}", "gpg.ssh.program": "{}", "gpg.ssh.defaultKeyCommand": "{}", "commit.gpgSign": "true", "log.showSignature": "true"}},
		"aliases":                   {keys: map[string]string{"alias.status": "!{}", "alias.commit": "!{}", "alias.diff": "!{}", "alias.config": "!{}"}},
		"safe directory":            {keys: map[string]string{"safe.directory": "*", "core.fsmonitor": "{}"}},
		"protocol helpers":          {keys: map[string]string{"protocol.allow": "always", "protocol.ext.allow": "always", "remote.origin.promisor": "true", "remote.origin.vcs": "pwn", "remote.origin.uploadpack": "{}", "uploadpack.packObjectsHook": "{}"}, url: "ext::{}"},
		"submodule update":          {keys: map[string]string{"submodule.x.update": "!{}", "submodule.x.url": "ext::{}", "submodule.recurse": "true"}},
		"collection":                {keys: map[string]string{"gc.auto": "1", "gc.recentObjectsHook": "{}", "maintenance.auto": "true"}},
		"trailers":                  {keys: map[string]string{"trailer.x.command": "{}", "trailer.x.cmd": "{}"}},
		"large files":               {keys: map[string]string{"lfs.extension.x.clean": "{}", "lfs.customtransfer.x.path": "{}", "lfs.standalonetransferagent": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			repo := repository(t, "app")
			tree := attempt(t, repo)
			dir := filepath.Join(tree.Dir, "app")
			ran := plantOne(t, repo, dir, c.keys, c.attributes, c.hooks, c.url)
			useAll(t, repo, tree)
			if out, err := os.ReadFile(ran); err == nil {
				t.Errorf("these ran:\n%s", out)
			}
		})
	}
	t.Run("alternates", func(t *testing.T) { // objects of another repository do not get into commits, and nothing runs
		repo, other := repository(t, "app"), repository(t, "other")
		tree := attempt(t, repo)
		put(t, filepath.Join(repo, ".git", "objects", "info", "alternates"), filepath.Join(other, ".git", "objects")+"\n")
		ran := plantOne(t, other, other, map[string]string{"core.fsmonitor": "{}", "core.alternateRefsCommand": "{}"}, "", true, "")
		useAll(t, repo, tree)
		if out, err := os.ReadFile(ran); err == nil {
			t.Errorf("these ran:\n%s", out)
		}
	})
}

// plantOne writes keys, hooks and attributes. Their program creates a file.
func plantOne(t *testing.T, repo, dir string, keys map[string]string, attributes string, hooks bool, url string) (ran string) {
	t.Helper()
	own := t.TempDir()
	ran = filepath.Join(own, "ran")
	script, include := filepath.Join(own, "pwn"), filepath.Join(own, "include")
	put(t, script, "#!/bin/sh\necho \"$0 $*\" >> '"+ran+"'\ncat 2>/dev/null\nexit 0\n")
	os.Chmod(script, 0o755)
	put(t, include, "[filter \"more\"]\n\tclean = "+script+"\n\tsmudge = "+script+"\n[core]\n\tfsmonitor = "+script+"\n")
	folders := []string{filepath.Join(own, "hooks")}
	if hooks {
		folders = append(folders, filepath.Join(repo, ".git", "hooks"))
	}
	for _, folder := range folders {
		for _, hook := range []string{"pre-commit", "post-commit", "commit-msg", "prepare-commit-msg", "post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "post-merge", "applypatch-msg"} {
			put(t, filepath.Join(folder, hook), "#!/bin/sh\n"+script+" "+hook+"\n")
			os.Chmod(filepath.Join(folder, hook), 0o755)
		}
	}
	if attributes != "" {
		put(t, filepath.Join(dir, ".gitattributes"), attributes+"\n")
		put(t, filepath.Join(repo, ".git", "info", "attributes"), attributes+"\n")
	}
	fill := strings.NewReplacer("{}", script, "{include}", include, "{hooks}", folders[0]).Replace
	if url != "" {
		shell(t, repo, "config", "remote.origin.url", fill(url))
	}
	shell(t, repo, "config", "extensions.worktreeConfig", "true")
	for key, value := range keys {
		shell(t, repo, "config", "--local", key, fill(value))
		if dir != repo {
			shell(t, dir, "config", "--worktree", key, fill(value))
		}
	}
	return ran
}

// useAll runs all of deskhand's git operations. They may fail.
func useAll(t *testing.T, repo string, tree Tree) {
	t.Helper()
	dir := filepath.Join(tree.Dir, "app")
	put(t, filepath.Join(dir, "readme.md"), "changed\n")
	put(t, filepath.Join(dir, "new.md"), "new\n")
	tree.Changes(t.Context(), Balanced, true)
	tree.Patch(t.Context(), []string{"app"}, 0, Balanced, true)
	tree.File(t.Context(), "app/readme.md", Slice{})
	Inspect(t.Context(), repo)
	if _, err := tree.EnterBox(t.Context()); err != nil {
		t.Logf("EnterBox: %v", err)
	}
	tree.Changes(t.Context(), Balanced, true)
	if _, err := tree.LeaveBox(t.Context()); err != nil {
		t.Errorf("LeaveBox: %v", err)
	}
	tree.Refs(t.Context(), "deskhand")
	tree.Survey(t.Context())
	tree.Commit(t.Context(), "x")
	tree.Gather(t.Context(), "x")
	other := Tree{Dir: filepath.Join(filepath.Dir(tree.Dir), "o"), Branch: "deskhand/o", Repos: tree.Repos}
	if _, err := other.Add(t.Context()); err == nil {
		other.Remove(t.Context(), true)
		other.DropBranches(t.Context())
	}
	tree.Remove(t.Context(), false)
	tree.Discard(t.Context())
}
