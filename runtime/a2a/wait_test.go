package a2a

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// paced is a Runner whose attempts stand where the test says.
type paced struct {
	began chan string // the attempts that start
	mu    sync.Mutex
	run   Run
	stops int
}

func newPaced() *paced { return &paced{began: make(chan string, 10), run: Run{State: Working}} }

func (p *paced) Start(_ context.Context, _, key string) (string, error) {
	p.began <- "attempt " + key
	return "attempt " + key, nil
}

func (p *paced) Look(context.Context, string) (Run, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run, nil
}

func (p *paced) Stop(context.Context, string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stops++
	return nil
}

// comesTo sets where attempts stand, and has the feed say that something
// happened.
func (p *paced) comesTo(d *desk, run Run) {
	d.t.Helper()
	p.mu.Lock()
	p.run = run
	p.mu.Unlock()
	d.asks("", elicit.Request{Message: "Anything?"})
}

// asks puts a question in the name of an attempt.
func (d *desk) asks(attempt string, r elicit.Request) elicit.Request {
	d.t.Helper()
	r.Trigger, r.Context.AttemptID = elicit.CLI, attempt
	if r.URL == "" {
		r.Questions = []elicit.Question{{ID: "answer", Kind: elicit.Text, Message: r.Message}}
	}
	r, err := elicit.Prepare(r)
	if err == nil {
		r, err = d.hub.Open(d.t.Context(), r)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

// sent is what a message comes to once SendMessage has returned.
type sent struct {
	task *sdk.Task
	err  error
}

// sends sends a message with the client of the library, which waits as long as
// the server makes it.
func (d *desk) sends(ctx context.Context, m *sdk.Message, config *sdk.SendMessageConfig) <-chan sent {
	d.t.Helper()
	card, err := agentcard.DefaultResolver.Resolve(ctx, d.base)
	if err != nil {
		d.t.Fatal(err)
	}
	client, err := a2aclient.NewFromCard(ctx, card)
	if err != nil {
		d.t.Fatal(err)
	}
	back := make(chan sent, 1)
	go func() {
		result, err := client.SendMessage(ctx, &sdk.SendMessageRequest{Message: m, Config: config})
		task, _ := result.(*sdk.Task)
		back <- sent{task, err}
	}()
	return back
}

func (d *desk) back(from <-chan sent) sent {
	d.t.Helper()
	select {
	case s := <-from:
		return s
	case <-time.After(patience):
		d.t.Fatal("SendMessage has not returned")
		return sent{}
	}
}

func (d *desk) want(from <-chan sent, state sdk.TaskState, words string) *sdk.Task {
	d.t.Helper()
	s := d.back(from)
	if s.err != nil || s.task == nil {
		d.t.Fatalf("SendMessage = %+v, %v", s.task, s.err)
	}
	if got := said(s.task.Status.Message.Parts); s.task.Status.State != state || !strings.Contains(got, words) {
		d.t.Fatalf("SendMessage = %s, %s; want %s with %q", s.task.Status.State, got, state, words)
	}
	return s.task
}

func work(words string) *sdk.Message {
	return sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart(words))
}

// A2A 1.0, 3.2.2: without returnImmediately SendMessage returns when the task has
// ended, or wants input or a sign-in, also for a further message of the task.
func TestSendMessageWaitsForTheWork(t *testing.T) {
	p := newPaced()
	d := at(t, t.TempDir(), true, Options{NoToken: true, Runner: p, Skill: RunSkill})
	first := d.sends(t.Context(), work("paint"), nil)
	attempt := <-p.began
	d.asks(attempt, elicit.Request{Message: "Which colour?"})
	task := d.want(first, sdk.TaskStateInputRequired, "Which colour?")

	answer := d.sends(t.Context(), sdk.NewMessageForTask(sdk.MessageRoleUser, task, sdk.NewTextPart("blue")), &sdk.SendMessageConfig{})
	d.until("the answer", func() bool { return d.get(task.ID).Status.State == sdk.TaskStateWorking })
	d.asks(attempt, elicit.Request{Message: "Sign in", Mode: elicit.URL, URL: "https://example.org/connect"})
	d.want(answer, sdk.TaskStateAuthRequired, "https://example.org/connect")

	for _, end := range []Run{{State: Completed, Text: "painted"}, {State: Failed, Text: "no paint"}, {State: Canceled, Text: "stopped"}} {
		p.comesTo(d, Run{State: Working})
		whole := d.sends(t.Context(), work("paint"), nil)
		<-p.began
		p.comesTo(d, end)
		if got := d.want(whole, end.State, end.Text); (len(got.Artifacts) == 1) != (end.State == Completed) {
			t.Errorf("%s with the artifacts %+v", end.State, got.Artifacts)
		}
	}
}

// Who does not want to wait says so, and clients of 0.3 never wait.
func TestSendMessageReturnsAtOnceWhenToldTo(t *testing.T) {
	d := at(t, t.TempDir(), true, Options{NoToken: true, Runner: newPaced(), Skill: RunSkill})
	d.want(d.sends(t.Context(), work("paint"), &sdk.SendMessageConfig{ReturnImmediately: true}), Working, "attemptId")
	for name, config := range map[string]map[string]any{"nothing": {}, "blocking": {"blocking": true}, "not blocking": {"blocking": false}} {
		m := map[string]any{"kind": "message", "messageId": name, "role": "user", "parts": []any{map[string]any{"kind": "text", "text": "paint"}}}
		if r := d.call(LegacyPath, "message/send", map[string]any{"message": m, "configuration": config}); !strings.Contains(string(r.Result), `"working"`) {
			t.Errorf("%s: message/send = %s, %+v; want working", name, r.Result, r.Error)
		}
	}
}

// A client that leaves, or a server that stops, ends the wait and not the work.
func TestOnlyTheWaitEndsWithTheClientOrTheServer(t *testing.T) {
	p := newPaced()
	db := t.TempDir()
	d := at(t, db, true, Options{NoToken: true, Runner: p, Skill: RunSkill})
	leaving, leave := context.WithCancel(t.Context())
	left := d.sends(leaving, work("paint"), nil)
	<-p.began
	leave()
	if s := d.back(left); s.err == nil {
		t.Fatalf("a client that left has %+v", s.task)
	}
	p.comesTo(d, Run{State: Completed, Text: "painted"})
	// The task may be stored only after the client has left.
	waittest.Until(t, "the work goes on after the client left", func() (bool, any) {
		list := string(d.call(Path, "ListTasks", map[string]any{}).Result)
		return strings.Contains(list, "TASK_STATE_COMPLETED") && strings.Contains(list, "painted"), list
	})
	if p.stops != 0 {
		t.Errorf("the agent was stopped %d times after the client left", p.stops)
	}

	s := server(t, db, Options{Runner: newPaced(), Skill: RunSkill})
	back := make(chan sent, 1)
	go func() {
		result, err := (&calls{Server: s}).SendMessage(t.Context(), &sdk.SendMessageRequest{Message: work("paint")})
		task, _ := result.(*sdk.Task)
		back <- sent{task, err}
	}()
	<-s.o.Runner.(*paced).began
	s.Close()
	d.want(back, Working, "attemptId")
}
