package a2a

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/waittest"
)

const patience = 15 * time.Second

// desk is a server over a store, and the hub of a person.
type desk struct {
	t    *testing.T
	hub  *elicit.Hub
	base string
}

func at(t *testing.T, place string, attended bool, o Options) *desk {
	t.Helper()
	db, err := store.Open(context.Background(), place, elicit.Schema(), Schema())
	if err != nil {
		t.Fatal(err)
	}
	hub := elicit.New(db, elicit.Options{Attended: attended})
	s := New(db, hub, o)
	mux := http.NewServeMux()
	for path, h := range s.Mounts() {
		mux.Handle(path, h)
	}
	mux.Handle(CardPath, s.Card())
	web := httptest.NewServer(mux)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		stop()
		running.Wait()
		hub.Close()
		db.Close()
	})
	return &desk{t, hub, web.URL}
}

func newDesk(t *testing.T) *desk { return at(t, t.TempDir(), true, Options{NoToken: true}) }

// reply is what a method came to.
type reply struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

func (d *desk) call(path, method string, params any) (r reply) {
	d.t.Helper()
	resp := d.post(path, method, params)
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		d.t.Fatalf("%s: %v", method, err)
	}
	return r
}

func (d *desk) post(path, method string, params any) *http.Response {
	d.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		d.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, d.base+path, bytes.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	return resp
}

// taskOf is the task in the answer of SendMessage or GetTask.
func (d *desk) taskOf(r reply) *sdk.Task {
	d.t.Helper()
	if r.Error != nil {
		d.t.Fatalf("refused: %+v", *r.Error)
	}
	var wrapped struct{ Task *sdk.Task }
	if err := json.Unmarshal(r.Result, &wrapped); err == nil && wrapped.Task != nil {
		return wrapped.Task
	}
	var t sdk.Task
	if err := json.Unmarshal(r.Result, &t); err != nil {
		d.t.Fatalf("%v in %s", err, r.Result)
	}
	return &t
}

var messages int

func message(of sdk.TaskID, parts ...any) map[string]any {
	messages++
	m := map[string]any{"messageId": fmt.Sprintf("m%d-%d", messages, time.Now().UnixNano()), "role": "ROLE_USER", "parts": parts}
	if of != "" {
		m["taskId"] = of
	}
	return m
}

func text(s string) any { return map[string]any{"text": s} }

func data(v any) any { return map[string]any{"data": v} }

func (d *desk) send(m map[string]any) *sdk.Task {
	d.t.Helper()
	return d.taskOf(d.call(Path, "SendMessage", map[string]any{"message": m}))
}

func (d *desk) get(id sdk.TaskID) *sdk.Task {
	d.t.Helper()
	return d.taskOf(d.call(Path, "GetTask", map[string]any{"id": id}))
}

func said(parts sdk.ContentParts) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text())
		if p.Data() != nil {
			fmt.Fprintf(&b, " %v", p.Data())
		}
	}
	return b.String()
}

// requestOf is what a task asks.
func (d *desk) requestOf(t *sdk.Task) elicit.Request {
	d.t.Helper()
	for _, p := range t.Status.Message.Parts {
		if about, ok := p.Data().(map[string]any); ok {
			id, _ := about["elicitationId"].(string)
			r, err := d.hub.Get(d.t.Context(), id)
			if err != nil {
				d.t.Fatal(err)
			}
			return r
		}
	}
	d.t.Fatalf("the status has no data part: %s", said(t.Status.Message.Parts))
	return elicit.Request{}
}

func (d *desk) person(r elicit.Request, how elicit.Outcome, fields map[string][]string) {
	d.t.Helper()
	answers, err := r.Fields(fields)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.hub.Dispatch(d.t.Context(), elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: how, Answers: answers, By: "ann", Channel: "web"}); err != nil {
		d.t.Fatal(err)
	}
}

// I-002, I-039, I-048: a question is a request like any other, the task wants
// input and says the question, and what a person answers elsewhere is the task's.
func TestAQuestionWaitsForAPerson(t *testing.T) {
	d := newDesk(t)
	task := d.send(message("", text("Which colour?")))
	if task.Status.State != sdk.TaskStateInputRequired || !strings.Contains(said(task.Status.Message.Parts), "Which colour?") {
		t.Fatalf("state %s, %s; want input-required with the question", task.Status.State, said(task.Status.Message.Parts))
	}
	r := d.requestOf(task)
	if r.Trigger != elicit.A2AInputRequired || r.Context.ConversationID != task.ContextID {
		t.Errorf("asked as %s in %q", r.Trigger, r.Context.ConversationID)
	}
	d.person(r, elicit.Accept, map[string][]string{"answer": {"blue"}})
	got := d.get(task.ID)
	if got.Status.State != sdk.TaskStateCompleted || len(got.Artifacts) != 1 || !strings.Contains(said(got.Artifacts[0].Parts), "blue") || len(got.History) != 1 {
		t.Errorf("state %s, artifacts %+v, %d messages; want blue", got.Status.State, got.Artifacts, len(got.History))
	}
}

// I-041, I-003: a further message is the answer; elicitationId is what it is for.
func TestAFurtherMessageAnswers(t *testing.T) {
	questions := map[string]any{"title": "Release", "questions": []any{
		map[string]any{"id": "name", "kind": "text", "message": "Name?", "required": true, "min": 3},
		map[string]any{"id": "where", "kind": "multi-select", "message": "Where?", "options": []any{map[string]any{"id": "eu", "label": "Europe"}, map[string]any{"id": "us", "label": "States"}}, "allowFreeform": true},
		map[string]any{"id": "sure", "kind": "boolean", "message": "Sure?"}, map[string]any{"id": "n", "kind": "integer", "message": "How many?"},
	}}
	d := newDesk(t)
	task := d.send(message("", data(questions)))
	r := d.requestOf(task)
	wrong := d.send(message(task.ID, data(map[string]any{"action": "accept", "content": map[string]any{"name": "v"}})))
	if wrong.Status.State != sdk.TaskStateInputRequired || !strings.Contains(said(wrong.Status.Message.Parts), "at least 3") {
		t.Errorf("a short name: %s, %s", wrong.Status.State, said(wrong.Status.Message.Parts))
	}
	for name, m := range map[string]any{
		"another request": data(map[string]any{"elicitationId": "elc_other", "action": "accept"}),
		"no action":       data(map[string]any{"content": map[string]any{}}),
		"a text for four": text("yes"),
		"an odd value":    data(map[string]any{"action": "accept", "content": map[string]any{"name": map[string]any{}}}),
	} {
		if got := d.call(Path, "SendMessage", map[string]any{"message": message(task.ID, m)}); got.Error == nil || got.Error.Code != -32602 {
			t.Errorf("%s: %s, %+v; want invalid params", name, got.Result, got.Error)
		}
	}
	done := d.send(message(task.ID, data(map[string]any{"elicitationId": r.ID, "action": "accept", "note": "after six",
		"content": map[string]any{"name": "v1.2", "where": []string{"eu"}, "where__other": []string{"the moon"}, "sure": true, "n": 12}})))
	if done.Status.State != sdk.TaskStateCompleted {
		t.Fatalf("state %s, %s", done.Status.State, said(done.Status.Message.Parts))
	}
	if want := "map[n:12 name:v1.2 sure:true where:[eu] where__other:[the moon]]"; !strings.Contains(said(done.Artifacts[0].Parts), want) {
		t.Errorf("artifact %s, want %s", said(done.Artifacts[0].Parts), want)
	}
	if now, err := d.hub.Get(t.Context(), r.ID); err != nil || now.Completion.Note != "after six" {
		t.Errorf("the request is %+v, %v; want the note", now.Completion, err)
	}
	if got := d.call(Path, "SendMessage", map[string]any{"message": message(task.ID, text("again"))}); got.Error == nil {
		t.Errorf("a message to a task that has ended: %s", got.Result)
	}
}

func TestATextAnswersOneQuestion(t *testing.T) {
	d := newDesk(t)
	for name, one := range map[string]struct {
		question map[string]any
		says     string
		want     string
	}{
		"yes":       {map[string]any{"id": "q", "kind": "boolean", "message": "Go?"}, "yes", "q:true"},
		"an option": {map[string]any{"id": "q", "kind": "single-select", "message": "Which?", "options": []any{map[string]any{"id": "a", "label": "Ay"}}}, "Ay", "q:a"},
		"own words": {map[string]any{"id": "q", "kind": "single-select", "message": "Which?", "allowFreeform": true, "options": []any{map[string]any{"id": "a", "label": "Ay"}}}, "neither", "q__other:[neither]"},
		"a number":  {map[string]any{"id": "q", "kind": "number", "message": "How many?"}, "1.5", "q:1.5"},
	} {
		task := d.send(message("", data(map[string]any{"questions": []any{one.question}})))
		if got := d.send(message(task.ID, text(one.says))); got.Status.State != sdk.TaskStateCompleted || !strings.Contains(said(got.Artifacts[0].Parts), one.want) {
			t.Errorf("%s: %s, %s; want %s", name, got.Status.State, said(got.Status.Message.Parts), one.want)
		}
	}
}

// I-038, I-042, I-043: a page to open is auth-required; declining and cancelling
// end the task as cancelled.
func TestAPageAndTheWaysToEnd(t *testing.T) {
	d := newDesk(t)
	page := func() *sdk.Task {
		return d.send(message("", data(map[string]any{"message": "Sign in", "url": "https://example.org/connect"})))
	}
	task := page()
	if task.Status.State != sdk.TaskStateAuthRequired || !strings.Contains(said(task.Status.Message.Parts), "https://example.org/connect") {
		t.Fatalf("state %s, %s; want auth-required with the link", task.Status.State, said(task.Status.Message.Parts))
	}
	for name, end := range map[string]func(*sdk.Task) *sdk.Task{
		"declined by message": func(t *sdk.Task) *sdk.Task {
			return d.send(message(t.ID, data(map[string]any{"action": "decline"})))
		},
		"declined elsewhere": func(t *sdk.Task) *sdk.Task {
			r := d.requestOf(t)
			if _, err := d.hub.Dispatch(d.t.Context(), elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Decline}); err != nil {
				d.t.Fatal(err)
			}
			return d.get(t.ID)
		},
		"cancelled": func(t *sdk.Task) *sdk.Task {
			return d.taskOf(d.call(Path, "CancelTask", map[string]any{"id": t.ID}))
		},
	} {
		task := page()
		if got := end(task); got.Status.State != sdk.TaskStateCanceled {
			t.Errorf("%s: %s, want canceled", name, got.Status.State)
		}
		if got := d.call(Path, "CancelTask", map[string]any{"id": task.ID}); got.Error == nil || got.Error.Code != -32002 {
			t.Errorf("%s, then cancelled: %s, want that it cannot be", name, got.Result)
		}
	}
	task = page()
	if got := d.send(message(task.ID, text("done"))); got.Status.State != sdk.TaskStateCompleted {
		t.Errorf("done: %s, want completed", got.Status.State)
	}
}

func TestALateAnswerIsForWhoAsksAgain(t *testing.T) {
	d := newDesk(t)
	ask := func() *sdk.Task {
		return d.send(message("", data(map[string]any{"waitMs": 200, "questions": []any{map[string]any{"id": "q", "kind": "text", "message": "Name?"}}})))
	}
	task := ask()
	r := d.requestOf(task)
	d.until("a failed task", func() bool { return d.get(task.ID).Status.State == sdk.TaskStateFailed })
	d.person(r, elicit.Accept, map[string][]string{"q": {"Ann"}})
	if got := d.get(task.ID); got.Status.State != sdk.TaskStateFailed {
		t.Errorf("a task that had failed is %s", got.Status.State)
	}
	if got := ask(); got.Status.State != sdk.TaskStateCompleted || !strings.Contains(said(got.Artifacts[0].Parts), "Ann") {
		t.Errorf("asked again: %s, want the late answer", got.Status.State)
	}
	if got := ask(); got.Status.State != sdk.TaskStateInputRequired {
		t.Errorf("asked a third time: %s, want a new question", got.Status.State)
	}
}

func (d *desk) until(what string, ok func() bool) {
	d.t.Helper()
	waittest.Until(d.t, what, func() (bool, any) { return ok(), nil })
}

func TestWithoutAPersonTheTaskIsRejected(t *testing.T) {
	d := at(t, t.TempDir(), false, Options{NoToken: true})
	if got := d.send(message("", text("Anybody?"))); got.Status.State != sdk.TaskStateRejected {
		t.Errorf("state %s, want rejected", got.Status.State)
	}
}

func TestAMessageSentTwiceAsksOnce(t *testing.T) {
	d := newDesk(t)
	m := message("", text("Once?"))
	if first, second := d.send(m), d.send(m); first.ID != second.ID {
		t.Errorf("tasks %s and %s of one message", first.ID, second.ID)
	}
}

func TestTasksAreListed(t *testing.T) {
	d := newDesk(t)
	var ids []sdk.TaskID
	context := ""
	for i := range 5 {
		m := message("", text(fmt.Sprintf("Question %d?", i)))
		if i%2 == 1 {
			m["contextId"] = context
		}
		task := d.send(m)
		ids, context = append(ids, task.ID), task.ContextID
	}
	d.person(d.requestOf(d.get(ids[2])), elicit.Accept, map[string][]string{"answer": {"x"}})
	list := func(params map[string]any) (l sdk.ListTasksResponse) {
		t.Helper()
		r := d.call(Path, "ListTasks", params)
		if r.Error != nil {
			t.Fatalf("ListTasks(%v): %+v", params, r.Error)
		}
		if err := json.Unmarshal(r.Result, &l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	if l := list(map[string]any{"status": "TASK_STATE_COMPLETED"}); len(l.Tasks) != 1 || l.Tasks[0].ID != ids[2] || l.Tasks[0].Artifacts != nil {
		t.Errorf("completed: %+v", l)
	}
	if l := list(map[string]any{"contextId": context}); l.TotalSize != 1 {
		t.Errorf("of one context: %+v", l)
	}
	seen, token := 0, ""
	for range 5 {
		l := list(map[string]any{"pageSize": 2, "pageToken": token})
		seen += len(l.Tasks)
		if token = l.NextPageToken; token == "" {
			break
		}
	}
	if seen != 5 {
		t.Errorf("%d tasks on all pages, want 5", seen)
	}
	if r := d.call(Path, "ListTasks", map[string]any{"pageToken": "x"}); r.Error == nil {
		t.Error("a page token that is none is taken")
	}
}

// events are those of a stream, until it ends or f says stop.
func events(t *testing.T, resp *http.Response, f func(string) (stop bool)) {
	t.Helper()
	defer resp.Body.Close()
	scanner := bufio.NewScanner(resp.Body)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		if after, ok := strings.CutPrefix(scanner.Text(), "data:"); ok && f(after) {
			return
		}
	}
}

func TestAStreamEndsWhenInputIsWantedAndASubscriptionWhenTheTaskHasEnded(t *testing.T) {
	d := newDesk(t)
	var task sdk.TaskID
	n := 0
	events(t, d.post(Path, "SendStreamingMessage", map[string]any{"message": message("", text("Which?"))}), func(e string) bool {
		var got struct{ Result struct{ Task *sdk.Task } }
		if err := json.Unmarshal([]byte(e), &got); err != nil || got.Result.Task == nil {
			t.Fatalf("%v: %s", err, e)
		}
		n++
		task = got.Result.Task.ID
		return false
	})
	if n != 1 {
		t.Errorf("%d events before input is wanted, want the task", n)
	}
	all := ""
	events(t, d.post(Path, "SubscribeToTask", map[string]any{"id": task}), func(e string) bool {
		if all == "" {
			d.person(d.requestOf(d.get(task)), elicit.Accept, map[string][]string{"answer": {"blue"}})
		}
		all += e + "\n"
		return false
	})
	if !strings.Contains(all, "artifactUpdate") || !strings.Contains(all, "TASK_STATE_COMPLETED") || !strings.Contains(all, "blue") {
		t.Errorf("the subscription said %s", all)
	}
	if body := d.text(d.post(Path, "SubscribeToTask", map[string]any{"id": task})); !strings.Contains(body, "has ended") {
		t.Errorf("a subscription to what has ended: %s", body)
	}
}

func (d *desk) text(resp *http.Response) string {
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}

func TestAStreamWaitsForAPageToBeDone(t *testing.T) {
	d := newDesk(t)
	all := ""
	resp := d.post(Path, "SendStreamingMessage", map[string]any{"message": message("", data(map[string]any{"message": "Sign in", "url": "https://example.org/"}))})
	events(t, resp, func(e string) bool {
		if all == "" {
			var got struct{ Result struct{ Task *sdk.Task } }
			if err := json.Unmarshal([]byte(e), &got); err != nil {
				t.Fatal(err)
			}
			r := d.requestOf(got.Result.Task)
			if _, err := d.hub.Dispatch(t.Context(), elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Accept}); err != nil {
				t.Fatal(err)
			}
		}
		all += e
		return false
	})
	if !strings.Contains(all, "AUTH_REQUIRED") || !strings.Contains(all, "COMPLETED") {
		t.Errorf("the stream said %s", all)
	}
}

// The task is in the store: another process answers for it.
func TestATaskOutlivesItsServer(t *testing.T) {
	place := t.TempDir()
	first, second := at(t, place, true, Options{}), at(t, place, true, Options{})
	task := first.send(message("", text("Which?")))
	if got := second.send(message(task.ID, text("blue"))); got.Status.State != sdk.TaskStateCompleted {
		t.Errorf("answered through another process: %s", got.Status.State)
	}
	if got := first.get(task.ID); got.Status.State != sdk.TaskStateCompleted || len(got.History) != 2 {
		t.Errorf("the first says %s with %d messages", got.Status.State, len(got.History))
	}
}

// server is one over a store, which serves nothing by itself.
func server(t *testing.T, place string, o Options) *Server {
	t.Helper()
	db, err := store.Open(t.Context(), place, elicit.Schema(), Schema())
	if err != nil {
		t.Fatal(err)
	}
	hub := elicit.New(db, elicit.Options{Attended: true})
	t.Cleanup(func() {
		hub.Close()
		db.Close()
	})
	return New(db, hub, o)
}

// works is a Runner whose agents work for ever.
type works struct{}

func (works) Start(_ context.Context, _, key string) (string, error) { return "attempt " + key, nil }
func (works) Look(context.Context, string) (Run, error)              { return Run{State: Working}, nil }
func (works) Stop(context.Context, string) error                     { return nil }

func TestATaskOfASkillThatIsGoneHidesNoOther(t *testing.T) {
	place := t.TempDir()
	before := &calls{Server: server(t, place, Options{Runner: works{}, Skill: RunSkill})}
	for _, skill := range []string{RunSkill, AskSkill} {
		m := sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart("Which?"))
		m.Metadata = map[string]any{"skill": skill}
		push := &sdk.SendMessageRequest{Message: m, Config: &sdk.SendMessageConfig{ReturnImmediately: true, PushConfig: &sdk.PushConfig{URL: "https://192.0.2.1/"}}}
		if _, err := before.SendMessage(t.Context(), push); err != nil {
			t.Fatalf("SendMessage(%s) = %v", skill, err)
		}
	}
	after := &calls{Server: server(t, place, Options{})}
	list, err := after.ListTasks(t.Context(), &sdk.ListTasksRequest{})
	if err != nil || len(list.Tasks) != 1 {
		t.Fatalf("ListTasks = %+v, %v; want the question", list, err)
	}
	if _, err := after.CancelTask(t.Context(), &sdk.CancelTaskRequest{ID: list.Tasks[0].ID}); err != nil {
		t.Fatal(err)
	}
	if due, err := after.due(t.Context()); err != nil || len(due) != 1 {
		t.Errorf("due = %+v, %v; want what became of the question", due, err)
	}
}

func TestATaskWhoseRequestIsGoneIsForgotten(t *testing.T) {
	s := server(t, t.TempDir(), Options{})
	c := &calls{Server: s}
	var tasks []*task
	for _, text := range []string{"Which?", "Who?"} {
		kept, _, err := c.begin(t.Context(), sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart(text)))
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, kept)
	}
	err := s.db.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(t.Context(), "DELETE FROM requests WHERE id = ?", tasks[0].subject)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if next := s.sweep(t.Context(), ""); next != "" {
		t.Errorf("sweep goes on behind %s, want from the beginning", next)
	}
	if left, err := s.list(t.Context(), ""); err != nil || len(left) != 1 || left[0].id != tasks[1].id {
		t.Errorf("after sweep there are %d tasks, %v; want the one that still asks", len(left), err)
	}
}

func TestMessagesThatComeAtOnceAreAllKept(t *testing.T) {
	place := t.TempDir()
	here, there := server(t, place, Options{}), server(t, place, Options{})
	_, task, err := (&calls{Server: here}).begin(t.Context(), sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart("Which?")))
	if err != nil {
		t.Fatal(err)
	}
	var saying sync.WaitGroup
	for i := range 20 {
		saying.Go(func() {
			m := sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart(fmt.Sprint(i)))
			if err := []*Server{here, there}[i%2].said(t.Context(), task.ID, m); err != nil {
				t.Error(err)
			}
		})
	}
	saying.Wait()
	if got, err := here.load(t.Context(), task.ID); err != nil || len(got.history) != 21 {
		t.Errorf("load = %d messages, %v; want 21", len(got.history), err)
	}
}

func TestPushNotificationsComeOnce(t *testing.T) {
	type note struct{ body, token, auth string }
	notes := make(chan note, 10)
	broken := true
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if broken {
			broken = false
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		}
		notes <- note{string(b), r.Header.Get("A2A-Notification-Token"), r.Header.Get("Authorization")}
	}))
	defer listener.Close()
	place := t.TempDir()
	named := Options{PushTo: []string{strings.TrimPrefix(listener.URL, "http://")}}
	d := at(t, place, true, named)
	at(t, place, true, named) // whoever sends, one does
	config := map[string]any{"url": listener.URL, "token": "secret", "authentication": map[string]any{"scheme": "Bearer", "credentials": "abc"}}
	send := func() *sdk.Task {
		return d.taskOf(d.call(Path, "SendMessage", map[string]any{"message": message("", text("Which?")), "configuration": map[string]any{"taskPushNotificationConfig": config}}))
	}
	task := send()
	list := d.call(Path, "ListTaskPushNotificationConfigs", map[string]any{"taskId": task.ID})
	if !strings.Contains(string(list.Result), listener.URL) {
		t.Errorf("configurations: %s %+v", list.Result, list.Error)
	}
	d.person(d.requestOf(task), elicit.Accept, map[string][]string{"answer": {"blue"}})
	told := func(of *sdk.Task) {
		t.Helper()
		select {
		case n := <-notes:
			if !strings.Contains(n.body, "TASK_STATE_COMPLETED") || !strings.Contains(n.body, string(of.ID)) || n.token != "secret" || n.auth != "Bearer abc" {
				t.Errorf("notified with %+v, want the end of %s", n, of.ID)
			}
		case <-time.After(patience):
			t.Fatal("no notification came")
		}
	}
	told(task)
	// What comes next is the end of another task, and not the same again.
	another := send()
	d.person(d.requestOf(another), elicit.Accept, map[string][]string{"answer": {"red"}})
	told(another)
	waittest.Nothing(t, "a second notification of the same end", notes)
	if got := d.call(Path, "CreateTaskPushNotificationConfig", map[string]any{"taskId": task.ID, "url": "file:///etc/passwd"}); got.Error == nil {
		t.Error("an address that is none is taken")
	}
}

func TestAnAddressThatDoesNotAnswerHoldsUpNoOther(t *testing.T) {
	end, told := make(chan struct{}), make(chan bool, 1)
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end }))
	defer silent.Close()
	defer close(end)
	listener := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { told <- true }))
	defer listener.Close()
	d := at(t, t.TempDir(), true, Options{PushTo: []string{strings.TrimPrefix(silent.URL, "http://"), strings.TrimPrefix(listener.URL, "http://")}})
	task := d.taskOf(d.call(Path, "SendMessage", map[string]any{"message": message("", text("Which?"))}))
	for id, url := range map[string]string{"1": silent.URL, "2": listener.URL} {
		if r := d.call(Path, "CreateTaskPushNotificationConfig", map[string]any{"taskId": task.ID, "id": id, "url": url}); r.Error != nil {
			t.Fatal(r.Error)
		}
	}
	d.person(d.requestOf(task), elicit.Accept, map[string][]string{"answer": {"blue"}})
	select {
	case <-told:
	case <-time.After(pushTime / 2):
		t.Error("the second address has heard nothing while the first is silent")
	}
}

// Clients of 0.3 speak to another path, which the card names.
func TestClientsOfTheOldProtocol(t *testing.T) {
	d := newDesk(t)
	m := map[string]any{"kind": "message", "messageId": "old", "role": "user", "parts": []any{map[string]any{"kind": "text", "text": "Which?"}}}
	var task struct {
		Kind, ID, ContextID string
		Status              struct {
			State   string
			Message json.RawMessage
		}
	}
	r := d.call(LegacyPath, "message/send", map[string]any{"message": m})
	if err := json.Unmarshal(r.Result, &task); err != nil || task.Kind != "task" || task.Status.State != "input-required" || !strings.Contains(string(task.Status.Message), "Which?") {
		t.Fatalf("message/send = %s, %+v, %v", r.Result, r.Error, err)
	}
	m["messageId"], m["taskId"], m["parts"] = "old2", task.ID, []any{map[string]any{"kind": "text", "text": "blue"}}
	if r := d.call(LegacyPath, "message/send", map[string]any{"message": m}); !strings.Contains(string(r.Result), `"completed"`) || !strings.Contains(string(r.Result), "blue") {
		t.Errorf("the answer: %s, %+v", r.Result, r.Error)
	}
	if r := d.call(LegacyPath, "tasks/get", map[string]any{"id": task.ID}); !strings.Contains(string(r.Result), `"completed"`) {
		t.Errorf("tasks/get: %s, %+v", r.Result, r.Error)
	}
	var card map[string]any
	if err := json.Unmarshal([]byte(d.text(d.fetch(CardPath))), &card); err != nil {
		t.Fatal(err)
	}
	if card["url"] != d.base+LegacyPath || card["protocolVersion"] != "0.3" && card["protocolVersion"] != "0.3.0" {
		t.Errorf("the card says %v %v to clients of 0.3", card["url"], card["protocolVersion"])
	}
}

func (d *desk) fetch(path string) *http.Response {
	d.t.Helper()
	resp, err := http.Get(d.base + path)
	if err != nil {
		d.t.Fatal(err)
	}
	return resp
}

func TestTheClientOfTheLibraryFindsItsWay(t *testing.T) {
	d := newDesk(t)
	card, err := agentcard.DefaultResolver.Resolve(t.Context(), d.base)
	if err != nil {
		t.Fatal(err)
	}
	if len(card.Skills) != 1 || card.Skills[0].ID != AskSkill || !card.Capabilities.Streaming || !card.Capabilities.PushNotifications {
		t.Errorf("the card is %+v", card)
	}
	client, err := a2aclient.NewFromCard(t.Context(), card)
	if err != nil {
		t.Fatal(err)
	}
	result, err := client.SendMessage(t.Context(), &sdk.SendMessageRequest{Message: sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart("Which?"))})
	if err != nil {
		t.Fatal(err)
	}
	task := result.(*sdk.Task)
	if result, err = client.SendMessage(t.Context(), &sdk.SendMessageRequest{Message: sdk.NewMessageForTask(sdk.MessageRoleUser, task, sdk.NewTextPart("blue"))}); err != nil {
		t.Fatal(err)
	}
	if got := result.(*sdk.Task); got.Status.State != sdk.TaskStateCompleted {
		t.Errorf("state %s", got.Status.State)
	}
}

func TestWhatCannotBeAskedIsRefused(t *testing.T) {
	d := newDesk(t)
	for name, m := range map[string]map[string]any{
		"no parts":        {"messageId": "x", "role": "ROLE_USER", "parts": []any{}},
		"no id":           {"role": "ROLE_USER", "parts": []any{text("x")}},
		"blank":           message("", text("   ")),
		"too long":        message("", text(strings.Repeat("x", elicit.MaxMessage+1))),
		"bad question":    message("", data(map[string]any{"questions": []any{map[string]any{"kind": "colour", "message": "?"}}})),
		"bad data":        message("", data(map[string]any{"questions": "none"})),
		"a bad address":   message("", data(map[string]any{"message": "x", "url": "javascript:alert(1)"})),
		"a form of MCP":   message("", data(map[string]any{"message": "x", "requestedSchema": map[string]any{"type": "object"}})),
		"an agent":        {"messageId": "agent", "role": "ROLE_AGENT", "parts": []any{text("x")}},
		"a secret":        message("", text("What is your password?")),
		"an unknown task": message("nope", text("x")),
		"an unknown skill": func() map[string]any {
			m := message("", text("x"))
			m["metadata"] = map[string]any{"skill": "dance"}
			return m
		}(),
	} {
		if got := d.call(Path, "SendMessage", map[string]any{"message": m}); got.Error == nil || strings.Contains(got.Error.Message, "internal") {
			t.Errorf("%s: %s, %+v; want a refusal", name, got.Result, got.Error)
		}
	}
	if got := d.call(Path, "SendMessage", map[string]any{}); got.Error == nil {
		t.Errorf("no message: %s", got.Result)
	}
}

func FuzzReadMessages(f *testing.F) {
	f.Add([]byte(`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"Which?"}]}`))
	f.Add([]byte(`{"messageId":"m","parts":[{"data":{"action":"accept","content":{"a":[1,"x"]}}},{"data":{"questions":[{"message":"a","kind":"select","options":[{"id":"1","label":"2"}]}]}}]}`))
	r, err := elicit.Prepare(elicit.Request{Trigger: elicit.CLI, Questions: []elicit.Question{{ID: "a", Kind: elicit.Number, Message: "?"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m sdk.Message
		if json.Unmarshal(b, &m) != nil {
			return
		}
		if asked, err := readRequest(&m, 0); err == nil {
			asked.Status = elicit.Open
			(&task{}).view(&asked)
		}
		_, _ = readAnswer(&m, &r)
	})
}
