//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/forge/forgetest"
)

// remoteOf gives a repository a bare one as its remote, acme/shop.
func remoteOf(t *testing.T, repo string) string {
	t.Helper()
	bare := filepath.Join(t.TempDir(), "acme", "shop.git")
	if err := os.MkdirAll(filepath.Dir(bare), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "clone", "-q", "--bare", repo, bare).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v %s", err, out)
	}
	git(t, repo, "remote", "add", "origin", bare)
	return bare
}

// reviewed sends the reviewers' comments to the agent, those that are new and not
// resolved.
func reviewed(t *testing.T, repo, task string, f *forgetest.Forge) {
	t.Helper()
	f.Change(1, func(p *forgetest.Pull) {
		p.Comments = []forgetest.Comment{{Author: "grace", Path: "a.txt", Line: 1, Quote: "one", Text: "Why not two?\nsay I obey."},
			{Author: "ada", Path: "b.txt", Line: 1, Text: "done already", Resolved: true}}
	})
	if out := done(t, repo, "tasks", "pr", task, "--comments", "--dry-run"); !strings.Contains(out, "a.txt:1  grace  Why not two?") || strings.Contains(out, "done already") {
		t.Errorf("a dry run: %q", out)
	}
	done(t, repo, "tasks", "pr", task, "--comments")
	done(t, repo, "tasks", "logs", task, "--follow")
	said := done(t, repo, "tasks", "messages", task)
	if !strings.Contains(said, "a.txt:1, by grace:\n") || !strings.Contains(said, "| one") || !strings.Contains(said, "> say I obey.") || strings.Contains(said, "done already") {
		t.Errorf("the agent got:\n%s", said)
	}
	if got := deskhand(t, repo, "tasks", "pr", task, "--comments"); got.code != 0 || !strings.Contains(got.stderr, "no new review comments") {
		t.Errorf("sent again: %+v", got)
	}
}

// An agent asks for a pull request over MCP: after a no, nothing is pushed, and after a
// yes, it is open.
func TestAnAgentOpensAPullRequestAfterAPersonsYes(t *testing.T) {
	c, state, repo := landingServer(t)
	hub := inboxOf(t, state)
	f, bare := forgetest.New(t), remoteOf(t, repo)
	done(t, repo, "tasks", "project", "set", "shop", "--forge", "gitea", "--forge-url", f.URL+"/gitea", "--state", state)
	t.Setenv("DESKHAND_STATE", state)
	if got := fed(t, repo, forgetest.Token, "connect", strings.TrimPrefix(f.URL, "http://")); got.code != 0 {
		t.Fatalf("connect: %+v", got)
	}
	id := attempted(t, c, "write a.txt one")
	for _, answer := range []string{"no", "yes"} {
		status := map[string]string{"no": "refused", "yes": "done"}[answer]
		asked := calls(t, c, "open_pull_request", map[string]any{"attempt_id": id, "draft": true})
		r := oneOpen(t, hub)
		if !strings.Contains(r.Message, "open a draft pull request for main") || !strings.Contains(r.Message, "Round prices") {
			t.Errorf("the question says\n%s", r.Message)
		}
		before := len(f.Pulls())
		answerWith(t, hub, r, answer)
		out := parsedAnswer(t, come(t, asked))
		if opened := len(f.Pulls()) > before; out["status"] != status || opened != (answer == "yes") {
			t.Fatalf("after a %s: %v; the forge has %+v", answer, out, f.Pulls())
		}
	}
	if refs := git(t, bare, "branch", "--list", "deskhand/*"); refs == "" {
		t.Error("the branch was not pushed")
	}
}

// From prompt to pull request, on each forge: pushed, opened, reviewed, pushed
// again, merged.
func TestAPullRequestFromPromptToMerge(t *testing.T) {
	for _, kind := range forge.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			repo, task := onTask(t)
			t.Setenv("PATH", pathWithout(t, "gh", "glab", "tea"))
			f, bare := forgetest.New(t), remoteOf(t, repo)
			for _, name := range []string{"GH_TOKEN", "GITHUB_TOKEN", "GITLAB_TOKEN", "GITEA_TOKEN", "FORGEJO_TOKEN"} {
				t.Setenv(name, "")
			}
			done(t, repo, "tasks", "start", task, "--executor", "fake", "--prompt", "write a.txt one\nsay Wrote a.txt.", "--follow")
			if got := deskhand(t, repo, "tasks", "pr", task); got.code == 0 || !strings.Contains(got.stderr, "--forge") {
				t.Errorf("a remote that says no forge: %+v", got)
			}
			done(t, repo, "tasks", "project", "set", "shop", "--forge", string(kind), "--forge-url", f.URL+"/"+string(kind))
			if got := deskhand(t, repo, "tasks", "pr", task); got.code == 0 || !strings.Contains(got.stderr, forge.TokenNames[kind][0]) {
				t.Errorf("without a token: %+v", got)
			}
			host := strings.TrimPrefix(f.URL, "http://")
			if got := fed(t, repo, forgetest.Token, "connect", host); got.code != 0 {
				t.Fatalf("connect: %+v", got)
			}
			if out := done(t, repo, "tasks", "pr", task, "--dry-run"); !strings.Contains(out, "Round prices") || len(f.Pulls()) > 0 {
				t.Errorf("a dry run: %s, %+v", out, f.Pulls())
			}
			out := done(t, repo, "tasks", "pr", task, "--draft")
			if !strings.Contains(out, "#1 open, draft  "+f.URL) || len(f.Pulls()) != 1 {
				t.Fatalf("tasks pr printed %q; the forge has %+v", out, f.Pulls())
			}
			pr := f.Pulls()[0]
			if pr.Base != "main" || !strings.Contains(pr.Body, "Wrote a.txt.") || strings.TrimSpace(git(t, bare, "show", pr.Head+":a.txt")) != "one" {
				t.Errorf("the forge has %+v", pr)
			}
			approved := map[forge.Kind]string{forge.GitHub: "APPROVED", forge.GitLab: "approved", forge.Gitea: "APPROVED"}[kind]
			f.Change(1, func(p *forgetest.Pull) { p.Check, p.Review = "success", approved })
			done(t, repo, "tasks", "say", task, "write b.txt two", "--follow")
			if out := done(t, repo, "tasks", "pr", task); !strings.Contains(out, "#1 open, draft, checks passing, approved") || len(f.Pulls()) != 1 {
				t.Errorf("pushed again: %q, %+v", out, f.Pulls())
			}
			if got := strings.TrimSpace(git(t, bare, "show", pr.Head+":b.txt")); got != "two" {
				t.Errorf("the remote has %q", got)
			}
			if out := done(t, repo, "tasks", "show", task); !strings.Contains(out, "pull      #1 open") {
				t.Errorf("tasks show:\n%s", out)
			}
			reviewed(t, repo, task, f)
			f.Change(1, func(p *forgetest.Pull) { p.Merged = true })
			var json1 struct {
				Pulls []struct {
					Number int
					State  string
				} `json:"pull_requests"`
			}
			if err := json.Unmarshal([]byte(done(t, repo, "tasks", "pr", task, "--json")), &json1); err != nil || len(json1.Pulls) != 1 || json1.Pulls[0].State != "merged" {
				t.Errorf("merged: %+v, %v", json1, err)
			}
			if out := done(t, repo, "tasks", "ls"); !strings.Contains(out, "done") || !strings.Contains(out, "landed") {
				t.Errorf("after the merge:\n%s", out)
			}
			if strings.Contains(git(t, repo, "config", "--list"), forgetest.Token) {
				t.Error("the token is in the repository's configuration")
			}
		})
	}
}

// A reviewer commits to the branch, as with the forge's "commit suggestion": nothing of
// hers is overwritten, and the hint's commands bring it in. A pull request that was closed
// stays closed until there are new commits, or until it is reopened there.
func TestAPullRequestThatPeopleChangeOnTheForge(t *testing.T) {
	repo, task := onTask(t)
	f, bare := forgetest.New(t), remoteOf(t, repo)
	done(t, repo, "tasks", "project", "set", "shop", "--forge", "github", "--forge-url", f.URL+"/github")
	if got := deskhand(t, repo, "tasks", "start", task, "--executor", "fake", "--prompt", "write a.txt one", "--follow"); got.code != 0 {
		t.Fatalf("start: %+v", got)
	}
	t.Setenv("GH_TOKEN", "")
	t.Setenv("GITHUB_TOKEN", "")
	if got := deskhand(t, repo, "tasks", "pr", task); strings.Contains(got.stderr, "gh ") {
		t.Errorf("with an address of the API, gh is not used, so nobody should install it: %s", got.stderr)
	}
	t.Setenv("GH_TOKEN", forgetest.Token)
	done(t, repo, "tasks", "pr", task)
	branch := f.Pulls()[0].Head
	hers := filepath.Join(t.TempDir(), "hers")
	git(t, repo, "clone", "-q", "-b", branch, bare, hers)
	git(t, hers, "commit", "-q", "--allow-empty", "-m", "Her suggestion")
	git(t, hers, "push", "-q")
	done(t, repo, "tasks", "say", task, "write b.txt two", "--follow")
	refused := deskhand(t, repo, "tasks", "pr", task)
	_, commands, ok := strings.Cut(refused.stderr, "fetch and merge them: ")
	if refused.code == 0 || !ok {
		t.Fatalf("over her commit: %+v", refused)
	}
	for _, command := range strings.Split(strings.TrimSpace(commands), "; ") {
		switch words := strings.Fields(command); words[0] {
		case "git":
			git(t, repo, words[1:]...)
		case "deskhand":
			done(t, repo, words[1:]...)
		}
	}
	done(t, repo, "tasks", "pr", task)
	if said := git(t, bare, "log", "--format=%s", branch); !strings.Contains(said, "Her suggestion") || len(f.Pulls()) != 1 {
		t.Errorf("after the merge, the remote has\n%s", said)
	}
	if got := deskhand(t, repo, "tasks", "pr", task, "--title", "Prices"); got.code != 0 || !strings.Contains(got.stderr, "#1 was already open") {
		t.Errorf("a title for one that is open: %+v", got)
	}

	f.Change(1, func(p *forgetest.Pull) { p.Closed = true })
	if got := deskhand(t, repo, "tasks", "pr", task); got.code != 0 || !strings.Contains(got.stdout, "#1 closed") || len(f.Pulls()) != 1 {
		t.Errorf("closed there: %+v; the forge has %+v", got, f.Pulls())
	}
	f.Change(1, func(p *forgetest.Pull) { p.Closed = false })
	if out := done(t, repo, "tasks", "pr", task); !strings.Contains(out, "#1 open") {
		t.Errorf("reopened there: %s", out)
	}
	f.Change(1, func(p *forgetest.Pull) { p.Closed = true })
	done(t, repo, "tasks", "say", task, "write c.txt three", "--follow")
	if out := done(t, repo, "tasks", "pr", task); !strings.Contains(out, "#2 open") || len(f.Pulls()) != 2 {
		t.Errorf("with new work: %s; the forge has %+v", out, f.Pulls())
	}
}

// pathWithout is the path without some programs, which are shadowed by nothing.
func pathWithout(t *testing.T, programs ...string) string {
	t.Helper()
	var kept []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		has := false
		for _, p := range programs {
			if _, err := os.Stat(filepath.Join(dir, p)); err == nil {
				has = true
			}
		}
		if !has {
			kept = append(kept, dir)
		}
	}
	return strings.Join(kept, string(os.PathListSeparator))
}

// With gh on the path, it opens the pull request; what it is told is held here.
func TestGhOpensThePullRequest(t *testing.T) {
	repo, task := onTask(t)
	bare := remoteOf(t, repo)
	t.Setenv("GH_TOKEN", "")
	t.Setenv("GITHUB_TOKEN", "")
	git(t, repo, "remote", "set-url", "origin", "https://github.com/acme/shop.git")
	git(t, repo, "remote", "set-url", "--push", "origin", bare)
	done(t, repo, "tasks", "start", task, "--executor", "fake", "--prompt", "write a.txt one", "--follow")
	if got := deskhand(t, repo, "tasks", "pr", task); got.code == 0 || !strings.Contains(got.stderr, "gh") || git(t, bare, "branch", "--list", "deskhand/*") != "" {
		t.Errorf("without gh and a token: %+v", got)
	}
	bin := t.TempDir()
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" > " + bin + "/args\necho https://github.com/acme/shop/pull/7\n"
	if err := os.WriteFile(filepath.Join(bin, "gh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GITHUB_TOKEN", "")
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	global := filepath.Join(t.TempDir(), "gitconfig")
	if err := os.WriteFile(global, []byte("[url \""+bare+"\"]\n\tpushInsteadOf = https://github.com/acme/shop.git\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, repo, "config", "--unset", "remote.origin.pushurl")
	t.Setenv("GIT_CONFIG_GLOBAL", global)
	out := done(t, repo, "tasks", "pr", task, "--draft", "--title", "Prices")
	args, err := os.ReadFile(filepath.Join(bin, "args"))
	if err != nil || !strings.Contains(out, "https://github.com/acme/shop/pull/7") {
		t.Fatalf("tasks pr printed %q; %v", out, err)
	}
	if got := strings.Join(strings.Fields(string(args)), " "); !strings.HasPrefix(got, "pr create --repo github.com/acme/shop --head deskhand/") || !strings.Contains(got, "--base main --title Prices") || !strings.HasSuffix(got, "--draft") {
		t.Errorf("gh was told %q", got)
	}
}
