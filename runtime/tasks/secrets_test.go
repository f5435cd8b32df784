package tasks_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// aKey looks like a GitHub key, and committing is a script with which an agent commits
// it.
var (
	aKey       = "ghp_" + strings.Repeat("1a2B", 9)
	committing = "run echo " + aKey + " > k.txt && git add k.txt && git " + as + " commit -q -m mine"
)

// held checks that an error names the key's file and kind, but not the key.
func held(t *testing.T, what string, err error, file string) {
	t.Helper()
	refused(t, what, err, LandHeld)
	f := fault.Of(err)
	if f == nil {
		return
	}
	if want := file + " has what looks like a token of GitHub"; f.Message != want || strings.Contains(f.Hint, aKey) {
		t.Errorf("%s says %q, want %q", what, f.Message, want)
	}
	if found, _ := f.Details["found"].([]string); len(found) != 1 || found[0] != f.Message {
		t.Errorf("%s has the details %v", what, f.Details)
	}
}

// A key in the agent's own commits does not land on the person's branch without a
// warning.
func TestAttackWorkASecretOfTheAgentsCommitsDoesNotLand(t *testing.T) {
	d := openAs(t, settings{})
	started := d.start(committing)
	s := d.ended(started.AttemptID)
	before, file := git(t, d.repo.Path, "rev-parse", "main"), d.repo.Name+"/k.txt:1"
	for _, how := range []worktree.How{worktree.Merge, worktree.Squash, worktree.Rebase, worktree.FastForward} {
		for _, dry := range []bool{true, false} {
			_, err := d.Land(t.Context(), LandRequest{AttemptID: s.ID, How: how, DryRun: dry})
			held(t, "Land by "+string(how), err, file)
			_, err = d.Land(t.Context(), LandRequest{AttemptID: s.ID, How: how, DryRun: dry, Secrets: Allowance{Named: []string{"app/other.txt:1 has a key"}}})
			held(t, "Land with leave for something else", err, file)
		}
	}
	for _, dry := range []bool{true, false} {
		_, err := d.Apply(t.Context(), s.ID, dry, Allowance{})
		held(t, "Apply", err, file)
		_, _, err = d.Pick(t.Context(), LandRequest{AttemptID: s.ID, How: worktree.Merge, DryRun: dry})
		held(t, "Pick", err, file)
	}
	if now := git(t, d.repo.Path, "rev-parse", "main"); now != before || git(t, d.repo.Path, "status", "--porcelain") != "" {
		t.Errorf("main is at %s, was at %s; the checkout has %q", now, before, git(t, d.repo.Path, "status", "--porcelain"))
	}
	named := Allowance{Named: []string{file + " has what looks like a token of GitHub"}}
	if done, err := d.Apply(t.Context(), s.ID, true, named); err != nil || len(done.Dirs) != 1 || strings.Join(done.Secrets, ";") != named.Named[0] {
		t.Errorf("Apply with leave = %+v, %v", done, err)
	}
	for _, leave := range []Allowance{named, {All: true}} {
		done, err := d.Land(t.Context(), LandRequest{AttemptID: s.ID, How: worktree.Merge, Secrets: leave})
		if err != nil || strings.Join(done.Secrets, ";") != named.Named[0] {
			t.Fatalf("Land with leave = %+v, %v", done, err)
		}
		if _, err := d.Undo(t.Context(), s.ID, false); err != nil {
			t.Fatal(err)
		}
	}
}

// The message of an agent's commit lands on the person's branch with the commit.
func TestAttackWorkASecretInAMessageDoesNotLand(t *testing.T) {
	d := openAs(t, settings{})
	started := d.start("run echo a > a.txt && git add a.txt && git " + as + " commit -q -m mine -m 'it is " + aKey + "'")
	s := d.ended(started.AttemptID)
	what := d.repo.Name + `: the message of commit "mine", line 3, has what looks like a token of GitHub`
	if strings.Join(s.Work.Notes, ";") != "committed by the agent: "+what {
		t.Errorf("the notes are %q", s.Work.Notes)
	}
	for _, how := range []worktree.How{worktree.Merge, worktree.Rebase, worktree.FastForward} {
		_, err := d.Land(t.Context(), LandRequest{AttemptID: s.ID, How: how})
		refused(t, "Land by "+string(how), err, LandHeld)
		_, _, err = d.Pick(t.Context(), LandRequest{AttemptID: s.ID, How: how})
		refused(t, "Pick by "+string(how), err, LandHeld)
		if f := fault.Of(err); f != nil && f.Message != what {
			t.Errorf("Pick says %q, want %q", f.Message, what)
		}
	}
	if _, err := d.Apply(t.Context(), s.ID, true, Allowance{}); err != nil {
		t.Errorf("Apply, which brings no message, = %v", err)
	}
	for _, how := range []worktree.How{worktree.Rebase, worktree.Merge} { // each recreates the commits
		done, err := d.Land(t.Context(), LandRequest{AttemptID: s.ID, How: how, Secrets: Allowance{Named: []string{what}}})
		if err != nil || strings.Join(done.Secrets, ";") != what {
			t.Errorf("Land with leave = %+v, %v", done.Secrets, err)
		}
		if _, err := d.Undo(t.Context(), s.ID, false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Land(t.Context(), LandRequest{AttemptID: s.ID, How: worktree.Squash}); err != nil {
		t.Errorf("Land as one commit with another message = %v", err)
	}
}

// A secret in uncommitted work is held back by the commit, unless all secrets may land.
func TestAttackWorkASecretThatIsNotCommittedDoesNotLand(t *testing.T) {
	const secret = "a-value-nobody-should-see"
	t.Setenv("MY_KEY", secret)
	d, started, _ := inProcess(t, Options{Env: []string{"MY_KEY"}}, Repo{}, "write a.txt "+secret)
	git(t, d.repo.Path, "config", "user.name", "Ada")
	git(t, d.repo.Path, "config", "user.email", "ada@example.com")
	_, err := d.Land(t.Context(), LandRequest{AttemptID: started.AttemptID, How: worktree.Merge})
	refused(t, "Land", err, CommitHeld)
	done, err := d.Land(t.Context(), LandRequest{AttemptID: started.AttemptID, How: worktree.Merge, Secrets: Allowance{All: true}})
	if err != nil || strings.Join(done.Secrets, ";") != d.repo.Name+"/a.txt:1 has the value of a secret that the agent was given" {
		t.Errorf("Land with leave = %+v, %v", done.Secrets, err)
	}
}

// A landing does not ask again about findings that a person allowed to commit. It asks
// about all others.
func TestAttackWorkWhatWasAllowedIsNotAskedAgain(t *testing.T) {
	var asked []string
	o := Options{Ask: func(_ context.Context, _ Attempt, _ Process, q executor.Question) (executor.Answer, error) {
		asked = append(asked, q.Message)
		return executor.Answer{Outcome: "accept", Option: "allow"}, nil
	}}
	d, started, s := inProcess(t, o, Repo{}, "write k.txt "+aKey)
	git(t, d.repo.Path, "config", "user.name", "Ada")
	git(t, d.repo.Path, "config", "user.email", "ada@example.com")
	what := d.repo.Name + "/k.txt:1 has what looks like a token of GitHub"
	if len(asked) != 1 || !strings.Contains(asked[0], what) || s.Work.State != OnBranch {
		t.Fatalf("asked %q, Status = %+v; want one question and the commit", asked, s.Work)
	}
	for _, how := range []worktree.How{worktree.Merge, worktree.Squash, worktree.Rebase, worktree.FastForward} {
		done, err := d.Land(t.Context(), LandRequest{AttemptID: started.AttemptID, How: how})
		if err != nil || strings.Join(done.Secrets, ";") != what {
			t.Fatalf("Land by %s of what was allowed = %q, %v", how, done.Secrets, err)
		}
		if _, err := d.Undo(t.Context(), started.AttemptID, false); err != nil {
			t.Fatal(err)
		}
	}
	if done, err := d.Apply(t.Context(), started.AttemptID, true, Allowance{}); err != nil || strings.Join(done.Secrets, ";") != what {
		t.Errorf("Apply of what was allowed = %q, %v", done.Secrets, err)
	}

	// A person who commits a key has also allowed it. Another key has not been seen.
	dir := filepath.Join(d.attempt(started.AttemptID).Dir, d.repo.Name)
	other := strings.Replace(aKey, "1a2B", "9z8Y", 1)
	write(t, filepath.Join(dir, "other.txt"), other+"\n")
	_, err := d.Collect(t.Context(), started.AttemptID, false)
	refused(t, "Collect", err, CommitHeld)
	if done, err := d.Collect(t.Context(), started.AttemptID, true); err != nil || done.Repos != 1 {
		t.Fatalf("Collect with leave = %+v, %v", done, err)
	}
	write(t, filepath.Join(dir, "third.txt"), "a line\n"+aKey+"\n")
	git(t, dir, "add", "-A")
	git(t, dir, strings.Fields(as+" commit -q -m unseen")...)
	_, err = d.Land(t.Context(), LandRequest{AttemptID: started.AttemptID, How: worktree.Merge})
	refused(t, "Land", err, LandHeld)
	if f := fault.Of(err); f != nil && f.Message != d.repo.Name+"/third.txt:2 has what looks like a token of GitHub" {
		t.Errorf("Land is held for %q, want only what nobody has seen", f.Message)
	}

	// What is allowed in one attempt is not allowed in another.
	d.start("write k.txt " + aKey)
	if err := d.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(asked) != 2 {
		t.Errorf("asked %q, want the other attempt's question too", asked)
	}
	if _, err := d.Discard(t.Context(), started.AttemptID, false); err != nil {
		t.Fatal(err)
	}
	var left int
	err = d.db.View(t.Context(), func(tx *store.Tx) error {
		return tx.QueryRow(t.Context(), "SELECT count(*) FROM allowed_secrets WHERE attempt_id = ?", started.AttemptID).Scan(&left)
	})
	if err != nil || left != 0 {
		t.Errorf("%d rows are left of an attempt that was discarded, %v", left, err)
	}
}

// A person allows only what they have seen, so each repository is asked about
// separately.
func TestAttackWorkEachRepositoryIsAskedAboutByItself(t *testing.T) {
	var asked []string
	d := &desk{t: t}
	d.Manager, d.db = peerAndStore(t, t.TempDir(), Options{Dir: t.TempDir(), MaxRunning: -1, Ask: func(_ context.Context, _ Attempt, _ Process, q executor.Question) (executor.Answer, error) {
		asked = append(asked, q.Message)
		return executor.Answer{Outcome: "accept", Option: map[bool]string{true: "allow", false: "reject"}[len(asked) == 1]}, nil
	}})
	d.project, d.repo = project(t, d.Manager, Repo{Name: "app"})
	_, lib, err := d.AddRepo(t.Context(), d.project.Name, Repo{Path: gitRepo(t), Name: "lib"})
	if err != nil {
		t.Fatal(err)
	}
	q := d.request(task(t, d.Manager, d.project.ID, "Do it well").ID, "run echo "+aKey+" > app/a.txt && echo "+aKey+" > lib/b.txt")
	q.Repos = append(q.Repos, RepoTarget{RepoID: lib.ID})
	started, err := d.Start(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(asked) != 2 || !strings.Contains(asked[0], "app/a.txt:1") || !strings.Contains(asked[1], "lib/b.txt:1") {
		t.Fatalf("asked %q, want a question for each repository", asked)
	}
	for name, want := range map[string]bool{"app": true, "lib": false} {
		dir := filepath.Join(d.attempt(started.AttemptID).Dir, name)
		if got := git(t, dir, "log", "-1", "--format=%s") != "first"; got != want {
			t.Errorf("in %s there is a commit: %v, want %v", name, got, want)
		}
	}
}

// A value that the configuration passes to an agent is a secret whatever its variable's
// name, in the log and in a commit, unless the value is ordinary.
func TestAttackWorkAPassedValueIsASecretByWhatItLooksLike(t *testing.T) {
	const dsn = "postgres://ann:hunter2@db/shop"
	agents, err := executor.New(map[string]executor.Config{"fake": {Env: map[string]string{"SHOP_DATABASE": dsn, "SHOP_DATA": "/var/lib/shop", "SHOP_KIND": "production"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SHOP_LINK", "https://ann:hunter3@hooks.example.com/x")
	d, started, _ := inProcess(t, Options{Agents: agents, Env: []string{"SHOP_LINK"}}, Repo{},
		"run echo at $SHOP_DATABASE and $SHOP_LINK in $SHOP_DATA of $SHOP_KIND", "write a.txt "+dsn)
	log := strings.Join(append(d.entries(started.AttemptID, Raw), d.entries(started.AttemptID, Normalized)...), "\n")
	if strings.Contains(log, "hunter") || !strings.Contains(log, "at [redacted] and [redacted] in /var/lib/shop of production") {
		t.Errorf("the log = %s", log)
	}
	if want := "not committed: " + d.repo.Name + "/a.txt:1 has the value of a secret that the agent was given"; !strings.Contains(log, want) {
		t.Errorf("the log = %s, want %q", log, want)
	}
}
