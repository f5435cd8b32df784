//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// A person allows a command in advance. Agents of both protocols then go on without asking,
// each use leaves a trace, and after the rule is revoked, by another process, the person is
// asked again.
func TestARuleAnswersAgents(t *testing.T) {
	dir := t.TempDir()
	scripts, err := filepath.Abs("testdata/agents")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"go": "read -r answer\ncase $answer in *optionId*allow*) complete ;; *) fail ;; esac\n", "settings.yaml": fmt.Sprintf(`
tasks:
  executors:
    permission: {kind: acp, command: [sh, %q, permission], env: {GO: %q}}
`, filepath.Join(scripts, "asks.sh"), filepath.Join(dir, "go"))})
	t.Setenv("DESKHAND_CONFIG", filepath.Join(dir, "settings.yaml"))
	t.Setenv("DESKHAND_TASKS_SANDBOX", "none") // the agent looks outside its folder for what to do
	repo, task := onTask(t)
	for _, agent := range []struct{ executor, prompt string }{{"fake", "permit launch it"}, {"permission", "launch"}} {
		rule := strings.TrimSpace(done(t, repo, "rules", "add", "launch *", "--project", "shop", "--expires", "1h"))
		done(t, repo, "tasks", "start", task, "--executor", agent.executor, "--prompt", agent.prompt, "--follow")
		attempt := firstAttempt(t, repo, task)
		if log := done(t, repo, "tasks", "logs", attempt); !strings.Contains(log, "allowed by rule "+rule+" of local, made ") {
			t.Errorf("%s: the log of the attempt has no trace of %s:\n%s", agent.executor, rule, log)
		}
		past := done(t, repo, "ask", "list", "--all")
		id := strings.Fields(strings.Split(past, "\n")[1])[0]
		shown := done(t, repo, "ask", "show", id, "--json")
		if !strings.Contains(shown, `"id": "`+rule+`"`) || !strings.Contains(shown, `"by": "rule"`) || strings.Contains(shown, `"by": "local"`) {
			t.Errorf("%s: ask show has no trace of %s, or says that a person answered:\n%s", agent.executor, rule, shown)
		}
		if words := done(t, repo, "ask", "show", id); !strings.Contains(words, "by rule "+rule+" of local") {
			t.Errorf("%s: ask show = %s", agent.executor, words)
		}
		if list := done(t, repo, "rules", "list", "--json"); !strings.Contains(list, `"uses": 1`) || !strings.Contains(list, `"project": "shop"`) {
			t.Errorf("%s: rules list = %s", agent.executor, list)
		}
		done(t, repo, "rules", "remove", rule)
		if list := deskhand(t, repo, "rules", "list"); list.code != 0 || list.stdout != "" {
			t.Errorf("rules list after the end: %+v", list)
		}
		done(t, repo, "tasks", "start", task, "--executor", agent.executor, "--prompt", agent.prompt)
		asked := newest(t, inboxOf(t, os.Getenv("DESKHAND_STATE")), "Allow launch it?")
		if asked.Status != elicit.Open {
			t.Errorf("%s: after the rule was revoked, the request is %s", agent.executor, asked.Status)
		}
		done(t, repo, "ask", "answer", asked.ID, "#1=Allow")
	}
	log := done(t, repo, "audit", "--json")
	for _, action := range []string{"rule.made", "rule.used", "rule.revoked"} {
		if n := strings.Count(log, `"`+action+`"`); n != 2 {
			t.Errorf("the audit log has %d records of %s, want 2:\n%s", n, action, log)
		}
	}
}

// What a person always wants to be asked is asked, and the command line refuses rules that
// could run anything.
func TestRulesOnTheCommandLine(t *testing.T) {
	repo, task := onTask(t)
	done(t, repo, "rules", "add", "launch *", "--project", "shop")
	done(t, repo, "rules", "add", "launch it", "--ask", "--all-projects")
	done(t, repo, "tasks", "start", task, "--executor", "fake", "--prompt", "permit launch it")
	asked := newest(t, inboxOf(t, os.Getenv("DESKHAND_STATE")), "Allow launch it?")
	done(t, repo, "ask", "answer", asked.ID, "#1=Reject")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"rules", "add", "bash *", "--project", "shop"}, 1, "could run any other program"},
		{[]string{"rules", "add", "git status; rm -rf /", "--project", "shop"}, 1, "is not a pattern"},
		{[]string{"rules", "add", "go test *"}, 2, "for one project or for all"},
		{[]string{"rules", "add", "go test *", "--project", "shop", "--all-projects"}, 2, "for one project or for all"},
		{[]string{"rules", "add", "go test *", "--project", "shop", "--expires", "soon"}, 2, "not a time"},
		{[]string{"rules", "add", "go test *", "--project", "nowhere"}, 1, "nowhere"},
		{[]string{"rules", "add", "go test *", "--project", "shop", "--tool", "*"}, 1, "* is only for rules with --ask"},
		{[]string{"rules", "add", "*", "--project", "shop", "--tool", "Edit"}, 1, "no rule can allow calls of Edit"},
		{[]string{"rules", "add", "", "--project", "shop", "--tool", "WebFetch"}, 1, "no rule can allow calls of WebFetch"},
		{[]string{"rules", "add", "go", "test", "./...", "--project", "shop"}, 2, "hint: put the pattern into quotes: 'go test ./...'"},
		{[]string{"rules", "add", "--project", "shop"}, 2, "takes one pattern, got 0 arguments"},
		{[]string{"rules", "remove"}, 2, "takes one ID, got 0 arguments"},
		{[]string{"rules", "remove", "rul_x"}, 1, "there is no rule"},
	} {
		if r := deskhand(t, repo, c.args...); r.code != c.code || !strings.Contains(r.stderr, c.says) || !strings.Contains(r.stderr, "\nhint: ") {
			t.Errorf("deskhand %q: exit %d, %q; want %d, %q and a hint", c.args, r.code, r.stderr, c.code, c.says)
		}
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"", "--tool", "mcp__x__y"}, "a rule that allows mcp__x__y without arguments in shop, until "},
		{[]string{"*", "--tool", "mcp__x__y"}, "a rule that allows mcp__x__y * in shop, until "},
		{[]string{"", "--tool", "mcp__x__y", "--ask"}, "a rule that always asks for all calls of mcp__x__y in shop"},
		{[]string{"", "--tool", "*", "--ask"}, "a rule that always asks for all calls in shop"},
	} {
		if r := deskhand(t, repo, append([]string{"rules", "add", "--project", "shop"}, c.args...)...); r.code != 0 || !strings.Contains(r.stderr, c.says) {
			t.Errorf("rules add %q: exit %d, %q; want %q", c.args, r.code, r.stderr, c.says)
		}
	}
}
