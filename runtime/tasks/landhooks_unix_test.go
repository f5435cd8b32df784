//go:build unix

package tasks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// hook creates a hook that records its name and then runs script.
func hook(t *testing.T, dir, name, script string) {
	t.Helper()
	write(t, filepath.Join(dir, name), "#!/bin/sh\necho "+name+" >> "+filepath.Join(dir, "ran.txt")+"\n"+script+"\n")
	if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
		t.Fatal(err)
	}
}

func ran(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "ran.txt"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(dir, "ran.txt"))
	return strings.Join(strings.Fields(string(text)), " ")
}

// Hooks from a person's own configuration run when work lands, as git runs them.
func TestHooksOfThePersonRunWhenWorkLands(t *testing.T) {
	mine := t.TempDir()
	config := filepath.Join(t.TempDir(), "gitconfig")
	write(t, config, "[core]\n\thooksPath = "+mine+"\n[user]\n\tname = Ada\n\temail = ada@example.com\n")
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	d := openAs(t, settings{})
	started := d.start("write a.txt one")
	d.ended(started.AttemptID)
	hook(t, mine, "pre-commit", "git diff --cached --quiet && exit 3; test -e a.txt")
	hook(t, mine, "pre-merge-commit", "")
	hook(t, mine, "prepare-commit-msg", `echo "of $2" >> "$1"`)
	hook(t, mine, "commit-msg", `grep -q of "$1"`)
	hook(t, mine, "post-merge", "")
	hook(t, mine, "post-commit", "exit 1")
	before := git(t, d.repo.Path, "rev-parse", "main")
	land := func(how worktree.How, dry, without bool) error {
		_, err := d.Land(t.Context(), LandRequest{AttemptID: started.AttemptID, How: how, DryRun: dry, NoHooks: without})
		return err
	}
	undo := func() {
		t.Helper()
		if _, err := d.Undo(t.Context(), started.AttemptID, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := land(worktree.Squash, true, false); err != nil || ran(t, mine) != "" {
		t.Errorf("a dry run: %v, or hooks ran", err)
	}
	if err := land(worktree.Squash, false, false); err != nil {
		t.Fatal(err)
	}
	if got := ran(t, mine); got != "prepare-commit-msg commit-msg pre-commit post-commit" {
		t.Errorf("a squash ran %s", got)
	}
	if got := git(t, d.repo.Path, "log", "-1", "--format=%B", "main"); !strings.HasSuffix(got, "of message") {
		t.Errorf("the message is %q", got)
	}
	undo()
	ran(t, mine)
	if err := land(worktree.Merge, false, false); err != nil {
		t.Fatal(err)
	}
	if got := ran(t, mine); got != "prepare-commit-msg commit-msg pre-merge-commit post-merge" {
		t.Errorf("a merge ran %s", got)
	}
	undo()
	for name, script := range map[string]string{"pre-commit": "echo lint says no >&2; exit 1", "commit-msg": "exit 1"} {
		hook(t, mine, name, script)
		err := land(worktree.Squash, false, false)
		refused(t, "Land with a "+name+" that refuses", err, worktree.HookFailed)
		if name == "pre-commit" && err != nil && !strings.Contains(fault.Of(err).Message, "lint says no") {
			t.Errorf("the refusal says %v", err)
		}
		if git(t, d.repo.Path, "rev-parse", "main") != before || git(t, d.repo.Path, "status", "--porcelain") != "" {
			t.Errorf("a %s that refused left %s", name, git(t, d.repo.Path, "status", "--porcelain"))
		}
		hook(t, mine, name, "")
	}
	hook(t, mine, "pre-commit", "echo more > more.txt; git add more.txt")
	refused(t, "Land with a hook that changes what is committed", land(worktree.Squash, false, false), worktree.HookFailed)
	git(t, d.repo.Path, "reset", "-q", "--hard", "main")
	ran(t, mine)
	if err := land(worktree.Squash, false, true); err != nil || ran(t, mine) != "" {
		t.Errorf("without hooks: %v, or hooks ran", err)
	}
}

// Hooks in the repository run only if they existed before any agent ran, or if a person
// has trusted them since.
func TestHooksOfAnAgentDoNotRun(t *testing.T) {
	repo := gitRepo(t)
	git(t, repo, "config", "user.name", "Ada")
	git(t, repo, "config", "user.email", "ada@example.com")
	hooks := filepath.Join(repo, ".git", "hooks")
	hook(t, hooks, "pre-merge-commit", "")
	d := open(t, Repo{Path: repo}, settings{})
	started := d.start("write a.txt one", "run printf '#!/bin/sh\\ntouch "+filepath.Join(repo, "evil")+"\\n' > "+filepath.Join(hooks, "commit-msg")+" && chmod +x "+filepath.Join(hooks, "commit-msg"))
	d.ended(started.AttemptID)
	q := LandRequest{AttemptID: started.AttemptID, How: worktree.Merge}
	_, err := d.Land(t.Context(), q)
	refused(t, "Land with a hook of the agent", err, worktree.HooksChanged)
	if exists(filepath.Join(repo, "evil")) || ran(t, hooks) != "" {
		t.Error("hooks ran")
	}
	if err := os.Remove(filepath.Join(hooks, "commit-msg")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Land(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if got := ran(t, hooks); got != "pre-merge-commit" {
		t.Errorf("the person's hook ran: %q", got)
	}
	if _, err := d.Undo(t.Context(), started.AttemptID, false); err != nil {
		t.Fatal(err)
	}
	hook(t, hooks, "post-merge", "")
	_, err = d.Land(t.Context(), q)
	refused(t, "Land with a new hook", err, worktree.HooksChanged)
	if _, err := d.SetRepo(t.Context(), d.project.ID, "", RepoChange{TrustHooks: true}); err != nil {
		t.Fatal(err)
	}
	ran(t, hooks)
	if _, err := d.Land(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if got := ran(t, hooks); got != "pre-merge-commit post-merge" {
		t.Errorf("trusted hooks ran: %q", got)
	}
}

// A run's commit names the agent as co-author, so that a landing that creates no new
// message has it too. A rebase signs, even if the target has not moved; ff moves the branch
// to the commits as they are.
func TestLandingsWithoutANewMessage(t *testing.T) {
	signer := filepath.Join(t.TempDir(), "gpg")
	write(t, signer, "#!/bin/sh\ncat >/dev/null\nprintf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2\n")
	if err := os.Chmod(signer, 0o700); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "gitconfig")
	write(t, config, "[user]\n\tname = Ada\n\temail = ada@example.com\n[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = "+signer+"\n")
	for how, signed := range map[worktree.How]bool{worktree.Rebase: true, worktree.FastForward: false} {
		t.Run(string(how), func(t *testing.T) {
			d := openAs(t, settings{})
			t.Setenv("GIT_CONFIG_GLOBAL", config)
			started := d.start("write a.txt one", "say Wrote a.txt.")
			d.ended(started.AttemptID)
			s, err := d.Status(t.Context(), started.AttemptID)
			if err != nil {
				t.Fatal(err)
			}
			head := git(t, d.repo.Path, "rev-parse", s.Branch)
			if _, err := d.Land(t.Context(), LandRequest{AttemptID: started.AttemptID, How: how}); err != nil {
				t.Fatal(err)
			}
			commit := git(t, d.repo.Path, "cat-file", "commit", "main")
			if strings.Contains(commit, "\ngpgsig ") != signed || (git(t, d.repo.Path, "rev-parse", "main") == head) == signed {
				t.Errorf("signed and new should both be %v; the branch was at %s\n%s", signed, head, commit)
			}
			if !strings.Contains(commit, "author Ada <ada@example.com>") || !strings.HasSuffix(commit, "\n\nWrote a.txt.\n\nCo-authored-by: fake <fake@agents.deskhand.invalid>") {
				t.Errorf("the commit on main is\n%s", commit)
			}
		})
	}
}
