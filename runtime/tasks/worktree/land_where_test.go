package worktree

import (
	"os"
	"path/filepath"
	"testing"
)

// For these repositories, git names the git directory as the folder in which their
// branch is checked out, but the files are elsewhere.
func TestLandFindsTheFilesOfABranch(t *testing.T) {
	for name, repo := range map[string]func(t *testing.T) string{
		"a submodule": submodule,
		"a worktree of a submodule": func(t *testing.T) string {
			linked := filepath.Join(filepath.Dir(submodule(t)), "linked")
			shell(t, filepath.Join(filepath.Dir(linked), "sub"), "worktree", "add", "-q", linked, "-b", "side")
			return linked
		},
		"a separate git directory": func(t *testing.T) string {
			repo := repository(t, "shop")
			shell(t, repo, "init", "-q", "--separate-git-dir", filepath.Join(t.TempDir(), "elsewhere"))
			return repo
		},
	} {
		t.Run(name, func(t *testing.T) {
			private(t)
			tree := attempt(t, repo(t))
			r := tree.Repos[0]
			put(t, filepath.Join(tree.path(r), "new.txt"), "new\n")
			shell(t, tree.path(r), "add", "-A")
			shell(t, tree.path(r), "commit", "-q", "-m", "of the agent")
			l, err := tree.Land(t.Context(), Merge, "", Author{Message: "Fix it"})
			if err != nil {
				t.Fatal(err)
			}
			if err := Do(t.Context(), l.Moves, "deskhand: land"); err != nil {
				t.Fatal(err)
			}
			where := filepath.Join(filepath.Dir(r.Path), map[bool]string{true: "sub", false: "shop"}[name != "a separate git directory"])
			if _, err := os.Stat(filepath.Join(where, "new.txt")); err != nil || shell(t, where, "status", "--porcelain") != "" {
				t.Errorf("new.txt: %v, status %q", err, shell(t, where, "status", "--porcelain"))
			}
		})
	}
}

// submodule returns the checkout of a submodule, on main.
func submodule(t *testing.T) string {
	t.Helper()
	super, sub := repository(t, "super"), repository(t, "sub")
	shell(t, super, "-c", "protocol.file.allow=always", "submodule", "add", "-q", sub, "sub")
	return filepath.Join(super, "sub")
}

// An agent without a sandbox can write core.worktree, but a landing does not write to
// the folder that it names.
func TestAttackWorkALandingGoesWhereTheRepositoryIs(t *testing.T) {
	private(t)
	repo := submodule(t)
	tree := diverged(t, repo)
	theirs := t.TempDir()
	put(t, filepath.Join(theirs, "readme.md"), "mine\n")
	for name, plant := range map[string]func(t *testing.T){
		"a folder":                  func(*testing.T) {},
		"a folder that leads to it": func(t *testing.T) { put(t, filepath.Join(theirs, ".git"), "gitdir: "+repo+"/.git\n") },
	} {
		t.Run(name, func(t *testing.T) {
			plant(t)
			config := filepath.Join(filepath.Dir(repo), ".git", "modules", "sub", "config")
			before, err := os.ReadFile(config)
			if err != nil {
				t.Fatal(err)
			}
			defer os.WriteFile(config, before, 0o644)
			shell(t, t.TempDir(), "config", "--file", config, "core.worktree", theirs)
			if l, err := tree.Land(t.Context(), Merge, "", Author{Message: "Fix it"}); err == nil {
				Do(t.Context(), l.Moves, "deskhand: land") // an error is fine too
				for _, m := range l.Moves {
					if m.Dir == theirs {
						t.Errorf("the files of %s were written to %s", m.Branch, m.Dir)
					}
				}
			}
			if _, err := os.Stat(filepath.Join(theirs, "new.txt")); err == nil {
				t.Error("new.txt was written there")
			}
		})
	}
}

func TestLandSaysThatGitCouldNotSign(t *testing.T) {
	config := private(t)
	tree := diverged(t, repository(t, "shop"))
	shell(t, tree.Repos[0].Path, "config", "--file", config, "gpg.program", "false")
	_, err := tree.Land(t.Context(), Merge, "", Author{Message: "Fix it", Sign: true})
	wantFault(t, "Land", err, "not_signed")
	shell(t, tree.Repos[0].Path, "config", "--file", config, "gpg.format", "ssh")
	shell(t, tree.Repos[0].Path, "config", "--file", config, "user.signingKey", filepath.Join(t.TempDir(), "gone.pub"))
	_, err = tree.Land(t.Context(), Merge, "", Author{Message: "Fix it", Sign: true})
	wantFault(t, "Land", err, "not_signed")
}
