package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// askingServer is a server that asks people, in a process of its own.
func askingServer(t *testing.T, state string, variables ...string) *mcpserver.Client {
	t.Helper()
	c, err := mcpserver.Dial(t.Context(), mcpserver.Target{
		Command: []string{"deskhand", "serve", "--tools", "ask", "--state", state},
		Env:     append([]string{"CI="}, variables...),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// inboxOf is a person in this process, over the store of a state folder.
func inboxOf(t *testing.T, state string) *elicit.Hub {
	t.Helper()
	db, err := store.Open(context.Background(), state, elicit.Schema())
	if err != nil {
		t.Fatal(err)
	}
	hub := elicit.New(db, elicit.Options{})
	t.Cleanup(func() { hub.Close(); db.Close() })
	return hub
}

// calls begins a call in the background.
func calls(t *testing.T, c *mcpserver.Client, tool string, args map[string]any) <-chan string {
	answers := make(chan string, 1)
	go func() {
		text, _, refused, err := c.Call(context.WithoutCancel(t.Context()), tool, args)
		answers <- fmt.Sprintf("%s%v", text, map[bool]any{true: err, false: ""}[err != nil || refused])
	}()
	return answers
}

func oneOpen(t *testing.T, hub *elicit.Hub) (found elicit.Request) {
	t.Helper()
	waittest.Until(t, "something is asked", func() (bool, any) {
		list, err := hub.List(t.Context(), elicit.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Requests) > 0 {
			found = list.Requests[0]
		}
		return len(list.Requests) > 0, nil
	})
	return found
}

func answerWith(t *testing.T, hub *elicit.Hub, r elicit.Request, text string) {
	t.Helper()
	answers, err := r.Fields(map[string][]string{r.Questions[0].ID: {text}})
	if err != nil {
		t.Fatal(err)
	}
	a := elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Accept, Answers: answers}
	if _, err := hub.Dispatch(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

func come(t *testing.T, answers <-chan string) string {
	t.Helper()
	select {
	case text := <-answers:
		return text
	case <-time.After(patience):
		t.Fatal("no answer came")
		return ""
	}
}

func question(text string) map[string]any {
	return map[string]any{"questions": []any{map[string]any{"question": text}}}
}

func TestAQuestionOfOneProcessIsAnsweredInAnother(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	answers := calls(t, askingServer(t, state), "ask_user", question("What is it called?"))
	hub := inboxOf(t, state)
	r := oneOpen(t, hub)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if r.Source.Kind != "mcp" || r.Source.Name != "deskhand" || r.Context.CWD != here || r.Context.ToolName != "ask_user" {
		t.Errorf("asked by %+v in %+v, want the client, from %s", r.Source, r.Context, here)
	}
	if left := time.Until(r.Deadline.Time); left < 4*time.Minute || left > 5*time.Minute {
		t.Errorf("%v left, want 5 minutes", left)
	}
	answerWith(t, hub, r, "Ann")
	if got := come(t, answers); !strings.Contains(got, `"values":["Ann"]`) {
		t.Errorf("ask_user = %s, want Ann", got)
	}
}

func TestAKilledServerLosesNoAnswer(t *testing.T) {
	for name, answeredBefore := range map[string]bool{"answered while nobody serves": true, "answered later": false} {
		t.Run(name, func(t *testing.T) {
			state := filepath.Join(t.TempDir(), "state")
			first := askingServer(t, state)
			answers := calls(t, first, "ask_user", question("What is it called?"))
			hub := inboxOf(t, state)
			r := oneOpen(t, hub)
			killProcess(t, first.PID())
			if got := come(t, answers); strings.Contains(got, "answered") {
				t.Fatalf("the killed server said %s", got)
			}
			if answeredBefore {
				answerWith(t, hub, r, "Ann")
			}
			again := calls(t, askingServer(t, state), "await_answer", map[string]any{"request_id": r.ID, "timeout": 30000})
			if !answeredBefore {
				time.Sleep(100 * time.Millisecond)
				answerWith(t, hub, r, "Ann")
			}
			if got := come(t, again); !strings.Contains(got, `"values":["Ann"]`) {
				t.Errorf("await_answer = %s, want Ann", got)
			}
		})
	}
}

func killProcess(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
}

// A client whose server was killed asks again at once, and the person has one question.
func TestAQuestionRepeatedAfterAKillIsTheSame(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	first := askingServer(t, state)
	answers := calls(t, first, "ask_user", question("What is it called?"))
	hub := inboxOf(t, state)
	r := oneOpen(t, hub)
	killProcess(t, first.PID())
	come(t, answers)
	again := calls(t, askingServer(t, state), "ask_user", question("What is it called?"))
	eventually(t, "the repeated call", func() error {
		now, err := hub.Get(t.Context(), r.ID)
		if err != nil || now.Asker == r.Asker {
			return fmt.Errorf("the question waits for %s, %v", now.Asker, err)
		}
		return nil
	})
	answerWith(t, hub, oneOpen(t, hub), "Ann")
	if got := come(t, again); !strings.Contains(got, `"values":["Ann"]`) {
		t.Errorf("the repeated ask_user = %s, want Ann", got)
	}
}

func TestInABuildNobodyIsAsked(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	got := come(t, calls(t, askingServer(t, state, "CI=true"), "ask_user", question("Go?")))
	if want := `{"answered":false,"cancelled":false,"timedOut":false,"answers":[]}` + "\nNo person can be reached"; !strings.HasPrefix(got, want) {
		t.Errorf("ask_user = %s, want %s", got, want)
	}
}

func TestWithoutAnInboxNobodyIsAskedUnlessSomebodyIsThere(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	agent := askingServer(t, state, "DESKHAND_INBOX=off")
	if got := come(t, calls(t, agent, "ask_user", question("Go?"))); !strings.Contains(got, "No person can be reached") {
		t.Errorf("ask_user = %s, want that nobody is reachable", got)
	}
	hub := inboxOf(t, state)
	_, _, leave, err := hub.Attach(t.Context(), elicit.Station{Kind: "terminal"})
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	answers := calls(t, agent, "ask_user", question("Go?"))
	answerWith(t, hub, oneOpen(t, hub), "yes")
	if got := come(t, answers); !strings.Contains(got, `"values":["yes"]`) {
		t.Errorf("with an open inbox: ask_user = %s, want yes", got)
	}
}

func TestTimeoutOfTheInstallationIsForCallsWithoutOne(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	agent := askingServer(t, state, "DESKHAND_ELICITATION_TIMEOUT=300ms")
	if got := come(t, calls(t, agent, "ask_user", question("Go?"))); !strings.Contains(got, `"timedOut":true`) {
		t.Errorf("ask_user = %s, want a timeout", got)
	}
	own := question("Stay?")
	own["timeout"] = 60_000
	answers, hub := calls(t, agent, "ask_user", own), inboxOf(t, state)
	r := newest(t, hub, "Stay?")
	if left := time.Until(r.Deadline.Time); left < 30*time.Second {
		t.Errorf("a call with a timeout of a minute has %v left", left)
	}
	answerWith(t, hub, r, "yes")
	come(t, answers)
}

// newest waits until a question with that text is asked.
func newest(t *testing.T, hub *elicit.Hub, text string) (found elicit.Request) {
	t.Helper()
	waittest.Until(t, fmt.Sprintf("%q is asked", text), func() (bool, any) {
		list, err := hub.List(t.Context(), elicit.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list.Requests, func(r elicit.Request) bool { return r.Message == text })
		if i >= 0 {
			found = list.Requests[i]
		}
		return i >= 0, list.Requests
	})
	return found
}

func TestQuestionsOfAnAttemptBelongToIt(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	answers := calls(t, askingServer(t, state, "DESKHAND_ATTEMPT_ID=a1", "DESKHAND_TASK_ID=t1", "DESKHAND_PROJECT_ID=p1", "DESKHAND_BRANCH=fix"), "ask_user", question("Go?"))
	hub := inboxOf(t, state)
	r := oneOpen(t, hub)
	if c := r.Context; c.AttemptID != "a1" || c.TaskID != "t1" || c.ProjectID != "p1" || c.Branch != "fix" {
		t.Errorf("context %+v, want the attempt", c)
	}
	answerWith(t, hub, r, "yes")
	come(t, answers)
}

// Two servers over one store go on with each other's calls.
func TestServersOverOneStoreShareTheKeyOfStates(t *testing.T) {
	t.Setenv("CI", "")
	state := filepath.Join(t.TempDir(), "state")
	caps := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"byhand","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`
	call := `"name":"ask_user","arguments":{"questions":[{"id":"name","question":"What is it called?"}]}`
	var first struct {
		ResultType    string
		RequestState  string
		InputRequests map[string]struct {
			Method string
			Params struct {
				Mode            string
				RequestedSchema json.RawMessage
			}
		}
	}
	one, two := byHand(t, state), byHand(t, state)
	if err := json.Unmarshal(one.rpc("tools/call", "{"+call+","+caps+"}"), &first); err != nil {
		t.Fatal(err)
	}
	r := oneOpen(t, inboxOf(t, state))
	asked, ok := first.InputRequests[r.ID]
	if first.ResultType != "input_required" || !ok || asked.Method != "elicitation/create" || asked.Params.Mode != "form" || !strings.Contains(string(asked.Params.RequestedSchema), `"name"`) {
		t.Fatalf("the first call came to %+v, want the form of %s", first, r.ID)
	}
	retry := func(args, name string) string {
		responses := fmt.Sprintf(`"inputResponses":{%q:{"action":"accept","content":{"name":%q}}},"requestState":%q`, r.ID, name, first.RequestState)
		return string(two.rpc("tools/call", "{"+args+","+responses+","+caps+"}"))
	}
	if got := retry(strings.Replace(call, "What", "Who", 1), "Eve"); !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "for this call") {
		t.Errorf("with other arguments: %s, want a refusal", got)
	}
	for _, name := range []string{"Ann", "Bob"} { // whoever repeats it changes nothing
		if got := retry(call, name); !strings.Contains(got, `["Ann"]`) {
			t.Errorf("with %s: %s, want Ann", name, got)
		}
	}
}

// byHand is a server that asks people, spoken to without a session.
func byHand(t *testing.T, state string) *pipe {
	t.Helper()
	return unmet(t, "--tools", "ask", "--state", state)
}

// A client says of itself what it likes, and its questions what they like: a
// list still has one row for each.
func TestAClientCannotForgeARow(t *testing.T) {
	t.Setenv("CI", "")
	state := filepath.Join(t.TempDir(), "state")
	p := unmet(t, "--tools", "ask", "--state", state)
	name := "tool\nelc_00000000000000000000000000  open  1s ago  boss  Pay?\x1b[2J" + strings.Repeat("x", 1<<20)
	p.rpc("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":`+encoded(t, name)+`,"version":"1\n2"}}`)
	p.line(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p.line(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"ask_user","arguments":{"title":"A\u001b]0;b\u0007\nelc_1","questions":[{"question":"Go?"}]}}}`)
	hub := inboxOf(t, state)
	r := oneOpen(t, hub)
	if len(r.Source.Name) > 100 || strings.ContainsAny(r.Source.Name+r.Source.Version, "\n\x1b") {
		t.Errorf("the source is %+v, want it cut and on one line", r.Source)
	}
	if list := done(t, t.TempDir(), "ask", "list", "--state", state); strings.Count(list, "\n") != 2 {
		t.Errorf("ask list = %q, want a head and one row", list)
	}
	if got := p.rpc("tools/call", `{"name":"list_questions","arguments":{}}`); !strings.Contains(string(got), r.ID) {
		t.Errorf("list_questions = %s, want its own %s", got, r.ID)
	}
	a := elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Cancel}
	if _, err := hub.Dispatch(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

// An invitation leads to the address that the server was started with, also if only the
// server knows it.
func TestAnInvitationLeadsToTheServersPublicAddress(t *testing.T) {
	t.Setenv("CI", "")
	state := t.TempDir()
	socketOf(t, exec.Command("deskhand", "serve", "--http", "127.0.0.1:0", "--tools", "ask", "--base-url", "https://desk.example.com/team", "--state", state))
	done(t, "", "people", "add", "ada", "--state", state)
	waittest.Until(t, "the server has said where it is", func() (bool, any) {
		got := deskhand(t, "", "people", "invite", "ada", "--state", state)
		return strings.HasPrefix(got.stdout, "https://desk.example.com/team/") && !strings.Contains(got.stderr, "only on this machine"), got
	})
}
