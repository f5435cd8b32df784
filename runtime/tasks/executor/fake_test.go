package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

func TestFakeDoesWhatItsPromptSays(t *testing.T) {
	dir := t.TempDir()
	asked := []Question{}
	var session string
	result, log := run(t, table(t, nil), "FAKE", Spec{
		Dir:     dir,
		Prompt:  "say hello you\nthink hm\nwrite sub/a.txt one\\ntwo\nrun printf 'caf\\351 \\033[31m' && exit 3\npermit a thing\nask which one?\nthis is no step\nneither is this\n\nsleep 0.01\nspam 2",
		Session: func(id string) { session = id },
		Ask: func(_ context.Context, q Question) (Answer, error) {
			asked = append(asked, q)
			if q.Permission {
				return Answer{Outcome: "accept", Option: "allow"}, nil
			}
			return Answer{Outcome: "accept", Text: "the blue one"}, nil
		},
	})
	want := `assistant_message "hello you"
thinking "hm"
tool_use "sub/a.txt" write success {"action":"file_edit","path":"sub/a.txt","changes":[{"action":"write","content":"one\ntwo\n"}]}
tool_use "printf 'caf\\351 \\033[31m' && exit 3" run failed {"action":"command_run","command":"printf 'caf\\351 \\033[31m' \u0026\u0026 exit 3","result":{"exit_status":{"type":"exit_code","code":3},"output":"caf� \u001b[31m"}}
tool_use "a thing" permit success {"action":"other","description":"a thing"}
assistant_message "permitted: a thing"
assistant_message "answer: the blue one"
assistant_message "this is no step\nneither is this"
assistant_message "line 1"
assistant_message "line 2"
`
	if got := log.text(); got != want {
		t.Errorf("log:\n%s\nwant\n%s", got, want)
	}
	if got, want := log.said(logs.Stdout), "hello you\ncaf\xe9 \x1b[31mpermitted: a thing\n"; !strings.HasPrefix(got, want) {
		t.Errorf("stdout = %q, want it to begin with %q", got, want)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "sub", "a.txt")); string(text) != "one\ntwo\n" {
		t.Errorf("a.txt = %q, %v", text, err)
	}
	if len(asked) != 2 || !asked[0].Permission || asked[0].Proposal == nil || asked[0].Proposal.Text != "a thing" || len(asked[0].Options) != 2 || asked[1].Title != "which one?" {
		t.Errorf("asked %+v", asked)
	}
	if result.Failure != "" || result.Exit == nil || *result.Exit != 0 || result.Summary != "line 2" || result.AgentSession != session || !strings.HasPrefix(session, "fake-") || result.Usage.Tokens().In == 0 {
		t.Errorf("result = %+v, session %q", result, session)
	}
}

func TestFakeEndsAsItsPromptSays(t *testing.T) {
	for prompt, c := range map[string]struct {
		exit    string
		failure string
		said    string
	}{
		"Fix the bug\n\nin main":  {"0", "", "Fix the bug\nin main"},
		"fail no luck\nsay never": {"1", "no luck", ""},
		"crash\nsay never":        {"signal", "signal: killed", ""},
		"permit it\nsay never":    {"0", "", "not permitted: it"},
		"ask it":                  {"0", "", "no answer: it"},
		"write ../out x":          {"0", "", ""},
		"sleep soon":              {"0", "", "sleep needs seconds: soon"},
		"":                        {"0", "", ""},
	} {
		t.Run(prompt, func(t *testing.T) {
			result, log := run(t, table(t, nil), "fake", Spec{Prompt: prompt, Resume: "mine"})
			exit := "signal"
			if result.Exit != nil {
				exit = fmt.Sprint(*result.Exit)
			}
			if exit != c.exit || result.Failure != c.failure || result.Summary != c.said || result.AgentSession != "mine" {
				t.Errorf("result = %+v with exit %s, want %+v\n%s", result, exit, c, log.text())
			}
		})
	}
}

func TestFakeTellsApartNoAnswerYet(t *testing.T) {
	for want, ask := range map[string]func(context.Context, Question) (Answer, error){
		"no answer yet: x": func(context.Context, Question) (Answer, error) { return Answer{Outcome: "cancel", Pending: true}, nil },
		"no answer: x":     func(context.Context, Question) (Answer, error) { return Answer{}, errors.New("the store is gone") },
	} {
		if result, log := run(t, table(t, nil), "fake", Spec{Prompt: "ask x", Ask: ask}); result.Summary != want {
			t.Errorf("result = %+v, want %q\n%s", result, want, log.text())
		}
	}
}

func TestStopAsksBeforeItForces(t *testing.T) {
	for prompt, c := range map[string]struct {
		polite time.Duration
		exit   int // -1 for a signal
	}{
		"sleep 100":     {20 * time.Second, 130},
		"ask something": {20 * time.Second, 130},
		"spam 99999999": {20 * time.Second, 130},
		"hang":          {50 * time.Millisecond, -1},
	} {
		t.Run(prompt, func(t *testing.T) {
			r, log := start(t, table(t, nil), "fake", Spec{Prompt: "say ready\n" + prompt, Ask: func(ctx context.Context, _ Question) (Answer, error) {
				<-ctx.Done()
				return Answer{}, ctx.Err()
			}})
			until(t, "ready", func() bool { return strings.Contains(log.text(), "ready") })
			since := time.Now()
			result := r.Stop(c.polite, 50*time.Millisecond)
			if took := time.Since(since); took > 10*time.Second {
				t.Errorf("Stop took %v", took)
			}
			if exit := exitOf(result); exit != c.exit {
				t.Errorf("result = %+v, want exit %d\n%s", result, c.exit, log.text())
			}
		})
	}
}

func exitOf(r Result) int {
	if r.Exit == nil {
		return -1
	}
	return *r.Exit
}

func TestShellReadsThePromptAndSaysLines(t *testing.T) {
	tb := table(t, map[string]Config{
		"stdin": {Kind: "shell", Command: []string{"sh", "-c", "cat; echo; echo; echo end; echo oops >&2; exit 4"}},
		"arg":   {Kind: "shell", Command: []string{"printf", "%s|%s|%s", "{{prompt}}", "{{dir}}", "$(echo no)"}, Env: map[string]string{"X": "{{prompt}}"}},
	})
	result, log := run(t, tb, "stdin", Spec{Prompt: "one\ntwo"})
	if got, want := log.text(), "assistant_message \"one\\ntwo\"\nassistant_message \"end\"\n"; got != want {
		t.Errorf("log:\n%s\nwant\n%s", got, want)
	}
	if exitOf(result) != 4 || result.Failure != "exit status 4: oops" || result.Summary != "end" || log.said(logs.Stderr) != "oops\n" {
		t.Errorf("result = %+v, stderr %q", result, log.said(logs.Stderr))
	}
	dir := t.TempDir()
	result, _ = run(t, tb, "arg", Spec{Prompt: "-n $(touch x) `y` \"z\"", Dir: dir})
	if want := "-n $(touch x) `y` \"z\"|" + dir + "|$(echo no)"; result.Summary != want {
		t.Errorf("said %q, want %q", result.Summary, want)
	}
}

// A message with many lines is shown when it has been read, and not again for every
// line.
func TestAShellThatTalksALotIsShownInTime(t *testing.T) {
	tb := table(t, map[string]Config{"chatty": {Kind: "shell", Command: []string{"sh", "-c", "yes | head -n 1000000; echo; echo end"}}})
	began := time.Now()
	result, log := run(t, tb, "chatty", Spec{})
	replaced := log.replaced
	if want := 2 * len(log.entries); replaced > want || result.Summary != "end" {
		t.Errorf("%d entries were replaced %d times in %v, want %d at most; %+v", len(log.entries), replaced, time.Since(began), want, result)
	}
	if said := log.said(logs.Stdout); len(said) != 2_000_005 {
		t.Errorf("the raw log has %d bytes, want all 2,000,005", len(said))
	}
	lines := 0
	for _, e := range log.entries {
		lines += strings.Count(e.Content, "y")
	}
	if lines != 1_000_000 {
		t.Errorf("the log has %d lines, want all 1,000,000", lines)
	}
}

func TestStartRefuses(t *testing.T) {
	tb := table(t, map[string]Config{
		"absent":  {Kind: "shell", Command: []string{"no-such-program-here"}, Install: "npm install it"},
		"folder":  {Kind: "shell", Command: []string{os.TempDir()}},
		"variant": {Kind: "shell", Command: []string{"cat"}, Variants: map[string]Variant{"a": {}}},
	})
	for id, c := range map[string]struct{ variant, code, says string }{
		"absent":  {"", "executor_unavailable", "no-such-program-here is not on the path; npm install it"},
		"folder":  {"", "executor_unavailable", "cannot be started"},
		"nope":    {"", "invalid_argument", `no executor "nope"`},
		"variant": {"b", "invalid_argument", `no variant "b"`},
	} {
		_, err := tb.Start(t.Context(), id, Spec{Dir: t.TempDir(), Variant: c.variant, Log: &memory{}, Env: os.Environ()})
		wantFault(t, "Start "+id, err, c.code, c.says)
	}
	for name, c := range map[string]Config{
		"kind": {Kind: "magic", Command: []string{"x"}}, "command": {Kind: "acp"}, "events": {Kind: "stream", Command: []string{"x"}, Events: "none"},
		"bad id": {Kind: "acp", Command: []string{"x"}}, "default": {Kind: "acp", Command: []string{"x"}, Default: "y"},
	} {
		_, err := New(map[string]Config{name: c})
		wantFault(t, "New "+name, err, "invalid_argument", name)
	}
	_, err := New(map[string]Config{"mine": {Kind: "magic"}})
	wantFault(t, "New", err, "invalid_argument", `kind "magic" is not one of `+strings.Join(Kinds(), ", "))
}

// T-144 to T-148.
func TestListSaysWhatIsThere(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	seen := map[string]Info{}
	for _, i := range table(t, map[string]Config{"My_Own": {Kind: "shell", Command: []string{os.Args[0]}}, "gemini": {Disabled: true}}).List() {
		seen[i.ID] = i
		if (i.Missing == "") != (i.ID == "fake" || i.ID == "my-own") {
			t.Errorf("%s: missing %q", i.ID, i.Missing)
		}
		if !strings.Contains(i.Missing, "npm install") && i.Missing != "" {
			t.Errorf("%s: %q does not say how to get it", i.ID, i.Missing)
		}
	}
	for id, want := range map[string]Info{
		"claude":          {Kind: "acp", MCP: true, FollowUp: true, Approvals: true},
		"codex-stream":    {Kind: "stream", MCP: true, FollowUp: true},
		"opencode-stream": {Kind: "stream", MCP: true, FollowUp: true},
		"gemini-stream":   {Kind: "stream", MCP: true},
		"fake":            {Kind: "fake", MCP: true, FollowUp: true, Approvals: true},
		"my-own":          {Kind: "shell"},
	} {
		if got := seen[id]; got.Kind != want.Kind || got.MCP != want.MCP || got.FollowUp != want.FollowUp || got.Approvals != want.Approvals {
			t.Errorf("%s = %+v, want %+v", id, got, want)
		}
	}
	if _, ok := seen["gemini"]; ok {
		t.Error("gemini was disabled and is there")
	}
}

func TestEnvironmentLetsSecretsOfOthersOut(t *testing.T) {
	env, secrets := Environment([]string{
		"PATH=/bin", "LC_ALL=C", "HOME=/h", "ANTHROPIC_API_KEY=k1", "OPENAI_API_KEY=k2", "DESKHAND_TOKEN=t", "AWS_SECRET=s", "MY_VAR=1", "=C:=x", "GIT_DIR=/x", "HTTP_PROXY=p",
	}, []string{"ANTHROPIC_*", "MY_VAR", "DESKHAND_*"})
	if got, want := strings.Join(env, " "), "PATH=/bin LC_ALL=C HOME=/h ANTHROPIC_API_KEY=k1 MY_VAR=1 HTTP_PROXY=p"; got != want {
		t.Errorf("Environment = %s, want %s", got, want)
	}
	if got := strings.Join(secrets, " "); got != "k1" {
		t.Errorf("secrets = %s, want k1", got)
	}
}

func TestAShippedAgentIsAmendedOrReplaced(t *testing.T) {
	shipped := Defaults()["claude"]
	table, err := New(map[string]Config{"Claude": {Env: map[string]string{"API_TOKEN": "s3cret-value-123", "PLAIN": "visible"}, Pass: []string{"X_*"}},
		"codex": {Kind: "shell", Command: []string{"true"}}})
	if err != nil {
		t.Fatal(err)
	}
	c := table.configs["claude"]
	if c.Kind != shipped.Kind || !slices.Equal(c.Command, shipped.Command) || len(c.Variants) != len(shipped.Variants) || c.Env["PLAIN"] != "visible" || !slices.Contains(c.Pass, "X_*") || len(c.Pass) != len(shipped.Pass)+1 {
		t.Errorf("an entry without kind gives %+v, want the shipped one with a variable more", c)
	}
	if c := table.configs["codex"]; c.Kind != "shell" || len(c.Variants) != 0 {
		t.Errorf("an entry with a kind gives %+v, want that alone", c)
	}
	if got := table.Secrets("claude"); !slices.Equal(got, []string{"s3cret-value-123"}) {
		t.Errorf("Secrets = %q, want the token of the environment", got)
	}
	if Defaults()["claude"].Env["PLAIN"] != "" {
		t.Error("the shipped one was changed")
	}
	if _, err := New(map[string]Config{"mine": {Env: map[string]string{"A": "b"}}}); err == nil {
		t.Error("an agent of no kind that is not shipped was taken")
	}
}
