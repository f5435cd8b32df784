package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/deskhand/deskhand/runtime/console/askline"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
)

// asker is a deskhand ask that waits, in a store of its own.
type asker struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	id             string
}

// peopleStore makes the programs that a test starts share a store, apart from a
// build server's settings.
func peopleStore(t *testing.T) {
	t.Helper()
	t.Setenv("DESKHAND_STATE", filepath.Join(t.TempDir(), "state"))
	t.Setenv("CI", "")
}

// asks starts deskhand ask and waits until its question is open.
func asks(t *testing.T, args ...string) *asker {
	t.Helper()
	a := &asker{t: t, cmd: exec.CommandContext(t.Context(), "deskhand", append([]string{"ask"}, args...)...)}
	a.cmd.Stdout, a.cmd.Stderr = &a.stdout, &a.stderr
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the question is open", func() error {
		open := listed(t)
		if len(open) != 1 {
			return fmt.Errorf("%d questions are open", len(open))
		}
		a.id = open[0].ID
		return nil
	})
	return a
}

// listed are the requests that ask list has.
func listed(t *testing.T, flags ...string) (list []elicit.Request) {
	t.Helper()
	out := done(t, t.TempDir(), append([]string{"ask", "list", "--json"}, flags...)...)
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("ask list --json: %v in %s", err, out)
	}
	return list
}

// ends waits for the asker's end.
func (a *asker) ends() ran {
	a.t.Helper()
	err := a.cmd.Wait()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		a.t.Fatal(err)
	}
	return ran{a.stdout.String(), a.stderr.String(), a.cmd.ProcessState.ExitCode()}
}

func TestExitCodeOfAskSaysHowItEnded(t *testing.T) {
	for _, c := range []struct {
		name   string
		ask    []string
		act    []string // a command line; ID stands for the question's
		code   int
		stdout string
	}{
		{"a text", []string{"Name?"}, []string{"answer", "ID", "answer=Ada\nand Grace"}, 0, "Ada\nand Grace\n"},
		{"yes", []string{"--confirm", "Deploy?"}, []string{"answer", "ID", "#1=yes"}, 0, "yes\n"},
		{"no", []string{"--confirm", "Deploy?"}, []string{"answer", "ID", "#1=no"}, 1, "no\n"},
		{"no to a text", []string{"Deploy?"}, []string{"answer", "ID", "answer=no"}, 0, "no\n"},
		{"declined", []string{"--confirm", "Deploy?"}, []string{"decline", "ID", "--note", "ask Grace"}, 3, ""},
		{"cancelled", []string{"--confirm", "Deploy?"}, []string{"cancel", "ID"}, 4, ""},
		{"out of time", []string{"--confirm", "Deploy?", "--timeout", "700ms"}, nil, 124, ""},
		{"out of time, as JSON", []string{"Deploy?", "--timeout", "700ms", "--output", "json"}, nil, 124,
			`{"answered":false,"cancelled":false,"timedOut":true,"answers":[]}`},
		{"declined, as JSON", []string{"Deploy?", "--output", "json"}, []string{"decline", "ID"}, 3,
			`{"answered":false,"cancelled":true,"timedOut":false,"answers":[]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			peopleStore(t)
			a := asks(t, c.ask...)
			if c.act != nil {
				args := append([]string{"ask"}, c.act...)
				for i := range args {
					args[i] = strings.ReplaceAll(args[i], "ID", a.id)
				}
				if r := deskhand(t, t.TempDir(), args...); r.code != 0 || r.stdout != "" {
					t.Fatalf("deskhand %v: exit %d, stdout %q, stderr %s", args, r.code, r.stdout, r.stderr)
				}
			}
			got := a.ends()
			stdout := got.stdout
			if strings.HasPrefix(c.stdout, "{") {
				stdout = compact(t, stdout)
			}
			if got.code != c.code || stdout != c.stdout {
				t.Errorf("deskhand ask %q, then %q: exit %d, stdout %q, want %d and %q; stderr %s", c.ask, c.act, got.code, stdout, c.code, c.stdout, got.stderr)
			}
		})
	}
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return b.String()
}

func TestAskEndsWithSixWhenItIsWithdrawn(t *testing.T) {
	peopleStore(t)
	a := asks(t, "--confirm", "Deploy?")
	db, err := store.Open(t.Context(), os.Getenv("DESKHAND_STATE"), elicit.Schema())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	hub := elicit.New(db, elicit.Options{})
	defer hub.Close()
	if _, err := hub.Dispatch(t.Context(), elicit.Action{Type: elicit.Withdrawn, RequestID: a.id}); err != nil {
		t.Fatal(err)
	}
	if got := a.ends(); got.code != 6 || got.stdout != "" || !strings.Contains(got.stderr, "withdrawn") {
		t.Errorf("withdrawn: exit %d, stdout %q, stderr %q, want 6", got.code, got.stdout, got.stderr)
	}
}

func TestSecretsAreAskedForElsewhereUnlessTheSettingsSaySo(t *testing.T) {
	peopleStore(t)
	args := []string{"ask", "What is the admin password?", "--timeout", "200ms"}
	got := deskhand(t, t.TempDir(), args...)
	if got.code != exitMisused || !strings.Contains(got.stderr, "this asks for a secret (password)") || !strings.Contains(got.stderr, "\nhint: ") {
		t.Errorf("deskhand %q: exit %d, stderr %q, want a refusal with a hint", args, got.code, got.stderr)
	}
	t.Setenv("DESKHAND_ELICITATION_SECRETS", "allow")
	if got := deskhand(t, t.TempDir(), args...); got.code != askline.ExitTimedOut {
		t.Errorf("deskhand %q, allowed: exit %d, stderr %q, want %d", args, got.code, got.stderr, askline.ExitTimedOut)
	}
}

func TestAskKeepsToTheSettings(t *testing.T) {
	peopleStore(t)
	t.Setenv("DESKHAND_ELICITATION_TIMEOUT", "300ms")
	for _, args := range [][]string{{"ask", "Name?"}, {"ask", "Name?", "--timeout", "200ms"}} {
		if got := deskhand(t, t.TempDir(), args...); got.code != 124 {
			t.Errorf("deskhand %q: exit %d, stderr %q, want 124", args, got.code, got.stderr)
		}
	}
	id := strings.TrimSpace(done(t, t.TempDir(), "ask", "Name?", "--detach", "--timeout", "1m"))
	var r elicit.Request
	if err := json.Unmarshal([]byte(done(t, t.TempDir(), "ask", "show", id, "--json")), &r); err != nil {
		t.Fatal(err)
	}
	if r.WaitMS != 60_000 {
		t.Errorf("asked with --timeout 1m: waits %d ms", r.WaitMS)
	}
	t.Setenv("DESKHAND_INBOX", "off")
	if got := deskhand(t, t.TempDir(), "ask", "Name?"); got.code != 5 {
		t.Errorf("without an inbox: exit %d, stderr %q, want 5", got.code, got.stderr)
	}
}

func TestAskEndsWithSevenWithoutAStore(t *testing.T) {
	peopleStore(t)
	state := filepath.Join(t.TempDir(), "file")
	write(t, filepath.Dir(state), map[string]string{"file": "no folder"})
	for _, args := range [][]string{{"ask", "--confirm", "Deploy?"}, {"ask", "list"}, {"ask", "wait", "elc_00000000000000000000000000"}} {
		if got := deskhand(t, t.TempDir(), append(args, "--state", state)...); got.code != 7 || got.stdout != "" {
			t.Errorf("deskhand %q on a file: exit %d, stdout %q, stderr %q, want 7", args, got.code, got.stdout, got.stderr)
		}
	}
}

// A script that is run again after the deadline asks the same question again,
// and gets the answer that comes now.
func TestKeyOfAnExpiredQuestionWaitsForTheLateAnswer(t *testing.T) {
	peopleStore(t)
	args := []string{"ask", "Name?", "--key", "k", "--output", "json", "--timeout"}
	if got := deskhand(t, t.TempDir(), append(args, "200ms")...); got.code != 124 {
		t.Fatalf("exit %d, want 124", got.code)
	}
	if got := deskhand(t, t.TempDir(), append(args, "200ms")...); got.code != 124 || !strings.Contains(got.stderr, "late answer") {
		t.Fatalf("again: exit %d, stderr %q, want 124", got.code, got.stderr)
	}
	a := asks(t, append(args[1:], "1m")...)
	done(t, t.TempDir(), "ask", "answer", a.id, "answer=Ada")
	if got := a.ends(); got.code != 0 || !strings.Contains(got.stdout, "Ada") {
		t.Errorf("answered late: exit %d, stdout %q, stderr %q", got.code, got.stdout, got.stderr)
	}
}

// A process that is killed says nothing; what it asked is in the store.
func TestAnswerOfAKilledAskerIsCollected(t *testing.T) {
	peopleStore(t)
	a := asks(t, "--confirm", "Deploy?")
	if err := a.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	a.ends()
	waiting := exec.CommandContext(t.Context(), "deskhand", "ask", "wait", a.id)
	var stdout bytes.Buffer
	waiting.Stdout = &stdout
	if err := waiting.Start(); err != nil {
		t.Fatal(err)
	}
	done(t, t.TempDir(), "ask", "answer", a.id, "answer=no")
	err := waiting.Wait()
	if code := waiting.ProcessState.ExitCode(); code != 1 || stdout.String() != "no\n" {
		t.Errorf("ask wait after kill: exit %d (%v), stdout %q, want 1 and no", code, err, stdout.String())
	}
	if r := deskhand(t, t.TempDir(), "ask", "wait", a.id); r.code != 1 || r.stdout != "no\n" {
		t.Errorf("ask wait again: exit %d, stdout %q, want the same", r.code, r.stdout)
	}
}

func TestAskingAgainWithAKeyFindsTheFirstQuestion(t *testing.T) {
	peopleStore(t)
	a := asks(t, "Name?", "--key", "release-7")
	if err := a.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	a.ends()
	b := asks(t, "Name?", "--key", "release-7")
	if a.id != b.id {
		t.Fatalf("asked again as %s, want %s", b.id, a.id)
	}
	done(t, t.TempDir(), "ask", "answer", a.id, "answer=Ada")
	for range 2 {
		if got := b.ends(); got.code != 0 || got.stdout != "Ada\n" {
			t.Errorf("exit %d, stdout %q, want 0 and Ada", got.code, got.stdout)
		}
		b = &asker{t: t, cmd: exec.CommandContext(t.Context(), "deskhand", "ask", "Name?", "--key", "release-7")}
		b.cmd.Stdout = &b.stdout
		if err := b.cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	b.ends()
	if r := deskhand(t, t.TempDir(), "ask", "Another?", "--key", "release-7"); r.code != 2 || !strings.Contains(r.stderr, "release-7") {
		t.Errorf("another question with the key: exit %d, stderr %s, want 2", r.code, r.stderr)
	}
}

// Who comes second is told who was first, and a late answer is still taken.
func TestOneAnswerCounts(t *testing.T) {
	peopleStore(t)
	id := strings.TrimSpace(done(t, t.TempDir(), "ask", "Name?", "--detach", "--timeout", "100ms"))
	if r := deskhand(t, t.TempDir(), "ask", "wait", id); r.code != 124 {
		t.Fatalf("ask wait beyond the deadline: exit %d, stderr %s, want 124", r.code, r.stderr)
	}
	if r := deskhand(t, t.TempDir(), "ask", "extend", id, "10m"); r.code != 1 {
		t.Errorf("ask extend beyond the deadline: exit %d, stderr %s, want 1", r.code, r.stderr)
	}
	late := deskhand(t, t.TempDir(), "ask", "answer", id, "#1=Ada")
	if late.code != 0 || !strings.Contains(late.stderr, "after the deadline") {
		t.Errorf("a late answer: exit %d, stderr %s", late.code, late.stderr)
	}
	second := deskhand(t, t.TempDir(), "ask", "answer", id, "#1=Grace")
	if second.code != 1 || !strings.Contains(second.stderr, "already answered on the command line at 20") {
		t.Errorf("a second answer: exit %d, stderr %s, want 1 and who was first", second.code, second.stderr)
	}
	if r := deskhand(t, t.TempDir(), "ask", "wait", id); r.code != 0 || r.stdout != "Ada\n" {
		t.Errorf("ask wait for the late answer: exit %d, stdout %q, want Ada", r.code, r.stdout)
	}
}

// Whatever is refused, the second line says what to do next, and no line speaks
// of Go.
func TestEveryRefusalOfAskHasAHint(t *testing.T) {
	peopleStore(t)
	dir := t.TempDir()
	write(t, dir, map[string]string{"text.json": `{"questions":"x"}`, "list.json": "[]", "empty.json": "", "half.json": `{"questions":[`})
	id := strings.TrimSpace(done(t, dir, "ask", "Which?", "--detach", "-o", "a", "-o", "b", "--no-other"))
	answered := strings.TrimSpace(done(t, dir, "ask", "Name?", "--detach"))
	done(t, dir, "ask", "answer", answered, "#1=Ada")
	const none = "elc_01KAK3VDJ1XG0S8WQ7RZB5M9TE"
	for _, c := range []struct {
		code int
		args []string
	}{
		{2, []string{"Q?", "-o", "a", "-o", "a"}}, {2, []string{"Q?", "-o", ""}}, {2, []string{"Q?", "--number", "--min", "5", "--max", "1"}},
		{2, []string{"Q?", "--format", "x"}}, {2, []string{"Q?", "--priority", "x"}}, {2, []string{strings.Repeat("x", 100_000)}},
		{2, []string{"--questions", "text.json"}}, {2, []string{"--questions", "list.json"}}, {2, []string{"--questions", "empty.json"}}, {2, []string{"--questions", "half.json"}},
		{2, []string{"show", none}}, {2, []string{"wait", none}}, {2, []string{"answer", none, "a=b"}}, {2, []string{"decline", none}}, {2, []string{"cancel", none}}, {2, []string{"extend", none, "1m"}},
		{2, []string{"answer", id}}, {2, []string{"answer", id, "#1=zzz"}}, {2, []string{"answer", id, "#1=a", "#1=b"}}, {2, []string{"answer", id, "nope=a"}},
		{1, []string{"answer", answered, "#1=Eve"}}, {1, []string{"decline", answered}}, {1, []string{"extend", answered, "1m"}},
	} {
		r := deskhand(t, dir, append([]string{"ask"}, c.args...)...)
		if r.code != c.code || r.stdout != "" || !strings.Contains(r.stderr, "\nhint: ") || strings.Contains(r.stderr, "Go ") || strings.Contains(r.stderr, "main.") {
			t.Errorf("ask %.100q: exit %d, stdout %q, stderr %s; want %d and a hint", c.args, r.code, r.stdout, r.stderr, c.code)
		}
	}
}

// askedID puts the id of the newest open question into a variable.
func askedID(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("deskhand", "ask", "list", "--json"))
	var open []elicit.Request
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &open))
	if len(open) == 0 {
		ts.Fatalf("no question is open")
	}
	ts.Setenv(args[0], open[len(open)-1].ID)
}
