package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	callroom "github.com/deskhand/deskhand/runtime/calls"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/waittest"
)

const elicits, withTasks = `"elicitation":{}`, `"extensions":{"io.modelcontextprotocol/tasks":{}}`

// late is a server over a store, with tools whose calls outlive their requests.
type late struct {
	*Server
	hub     *elicit.Hub
	release chan struct{} // lets wait end
	ended   atomic.Int32  // how often wait has ended
}

// lateAt serves the store in a folder. Servers of one folder have one key.
func lateAt(t *testing.T, folder string) *late {
	t.Helper()
	db, err := store.Open(t.Context(), folder, elicit.Schema(), callroom.Schema())
	if err != nil {
		t.Fatal(err)
	}
	l := &late{hub: elicit.New(db, elicit.Options{}), release: make(chan struct{})}
	runner := callroom.New(callroom.Options{Patience: 20 * time.Millisecond,
		Open: func(context.Context) (*elicit.Hub, *store.DB, error) { return l.hub, db, nil }})
	t.Cleanup(func() { runner.Close(); l.hub.Close(); db.Close() })
	tool := func(name string, call func(context.Context, contract.Caller, struct{}) (contract.Result, error)) contract.Tool {
		return contract.Define(contract.Spec{Name: name, Description: name, Input: noInput}, call)
	}
	wait := tool("wait", func(ctx context.Context, _ contract.Caller, _ struct{}) (contract.Result, error) {
		defer l.ended.Add(1)
		select {
		case <-l.release:
			return contract.Result{Text: []string{"waited"}, Structured: json.RawMessage(`{"waited":true}`)}, nil
		case <-ctx.Done():
			return contract.Result{}, ctx.Err()
		}
	})
	ask := tool("ask", func(ctx context.Context, caller contract.Caller, _ struct{}) (contract.Result, error) {
		r, err := l.hub.Ask(ctx, elicit.Request{Trigger: elicit.AskUser, Questions: []elicit.Question{{ID: "port", Kind: elicit.Integer, Message: "Which port?", Required: true}}},
			caller.Client.(elicit.Surface))
		if err != nil {
			return contract.Result{}, err
		}
		return contract.Result{Text: []string{fmt.Sprintf("%s %v", r.Completion.Outcome, r.Answers["port"].Value)}}, nil
	})
	only := tool("only", func(context.Context, contract.Caller, struct{}) (contract.Result, error) {
		return contract.Result{Text: []string{"quick"}}, nil
	})
	only.Later = &contract.Later{Only: true}
	l.Server = newServer(t, Options{StateKey: func() ([]byte, error) { return []byte("of " + folder), nil }},
		contract.Catalog{Tools: []contract.Tool{runner.Later(wait), runner.Later(ask), runner.Later(only)}})
	return l
}

// visiting is a client of 2026-07-28 by hand.
type visiting struct {
	t    *testing.T
	name string
	can  []string // members of its capabilities
	n    int
	raw  json.RawMessage // the last result
	// send sends a message, and gives what is answered to it.
	send func(method, name, message string, id int) wire
	told chan note
}

// note is a notification.
type note struct {
	Method string
	Params struct {
		taskFields
		Meta          map[string]any `json:"_meta"`
		Notifications struct{ TaskIDs []string }
	}
}

func (v *visiting) message(method, members string) (message string, id int) {
	v.n++
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{%s},"io.modelcontextprotocol/clientInfo":{"name":%q,"version":"1"}}}}`,
		v.n, method, members, strings.Join(v.can, ","), v.name), v.n
}

// calls calls a tool.
func (v *visiting) calls(tool string) (taskResult, int) {
	v.t.Helper()
	message, id := v.message("tools/call", fmt.Sprintf(`"name":%q,"arguments":{},`, tool))
	return v.reads(v.send("tools/call", tool, message, id))
}

// about makes a request about a task.
func (v *visiting) about(method, task, more string) (taskResult, int) {
	v.t.Helper()
	message, id := v.message(method, fmt.Sprintf(`"taskId":%q,%s`, task, more))
	return v.reads(v.send(method, task, message, id))
}

func (v *visiting) reads(w wire) (taskResult, int) {
	v.t.Helper()
	if w.Error != nil {
		return taskResult{}, w.Error.Code
	}
	v.raw = w.Result
	var r taskResult
	if err := json.Unmarshal(w.Result, &r); err != nil {
		v.t.Fatalf("result %s: %v", w.Result, err)
	}
	return r, 0
}

// becomes looks at a task until it has a status.
func (v *visiting) becomes(task, status string) taskResult {
	v.t.Helper()
	var r taskResult
	waittest.Until(v.t, "the task is "+status, func() (bool, any) {
		var code int
		if r, code = v.about("tasks/get", task, ""); code != 0 {
			v.t.Fatalf("tasks/get = %+v, error %d; want status %s", r, code, status)
		}
		return r.Status == status, r
	})
	return r
}

// hears waits for a notification of a method.
func (v *visiting) hears(method string) note {
	v.t.Helper()
	select {
	case n := <-v.told:
		if n.Method != method {
			v.t.Fatalf("told %s %+v, want %s", n.Method, n.Params, method)
		}
		return n
	case <-time.After(waittest.Patience):
		v.t.Fatalf("nothing was told, want %s", method)
		return note{}
	}
}

// visits tests over both transports.
func visits(t *testing.T, s *late, test func(t *testing.T, as func(name string, can ...string) *visiting)) {
	t.Run("http", func(t *testing.T) {
		url := overHTTP(t, s.Server)
		test(t, func(name string, can ...string) *visiting { return visitHTTP(t, url, name, can) })
	})
	t.Run("stdio", func(t *testing.T) {
		test(t, func(name string, can ...string) *visiting { return visitStdio(t, s.Server, name, can) })
	})
}

func visitHTTP(t *testing.T, url, name string, can []string) *visiting {
	v := &visiting{t: t, name: name, can: can, told: make(chan note, 100)}
	v.send = func(method, task, message string, id int) (answer wire) {
		t.Helper()
		header := modernHeaders(method, task)
		if method == "subscriptions/listen" {
			return v.listenHTTP(url, header, message)
		}
		_, _, body := request{body: message, header: header}.send(t, url)
		for line := range strings.SplitSeq(body, "\n") {
			line = strings.TrimPrefix(line, "data: ")
			if json.Unmarshal([]byte(line), &answer) == nil && string(answer.ID) == fmt.Sprint(id) {
				return answer
			}
		}
		t.Fatalf("%s was answered %q", message, body)
		return answer
	}
	return v
}

// listenHTTP reads a stream into told, or gives the refusal.
func (v *visiting) listenHTTP(url string, header map[string]string, message string) (answer wire) {
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		v.t.Fatal(err)
	}
	header["Content-Type"], header["Accept"] = "application/json", "application/json, text/event-stream"
	for name, value := range header {
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			v.t.Fatal(err)
		}
		return answer
	}
	go func() {
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				v.hear([]byte(data))
			}
		}
	}()
	return wire{Result: json.RawMessage(`{}`)}
}

func (v *visiting) hear(message []byte) {
	var n note
	if json.Unmarshal(message, &n) == nil && n.Method != "" {
		v.told <- n
	}
}

func visitStdio(t *testing.T, s *Server, name string, can []string) *visiting {
	v := &visiting{t: t, name: name, can: can, told: make(chan note, 100)}
	hand := newByHand(t, s)
	answers := make(chan wire, 100)
	go func() {
		for {
			line, err := hand.out.ReadBytes('\n')
			if err != nil {
				return
			}
			var w wire
			if json.Unmarshal(line, &w) == nil && w.Method == "" {
				answers <- w
			} else {
				v.hear(line)
			}
		}
	}()
	v.send = func(method, _, message string, id int) wire {
		t.Helper()
		hand.send(message + "\n")
		var patience <-chan time.Time
		if method == "subscriptions/listen" { // which is answered at its end, or refused at once
			patience = time.After(200 * time.Millisecond)
		}
		for {
			select {
			case w := <-answers:
				if string(w.ID) == fmt.Sprint(id) {
					return w
				}
			case <-patience:
				return wire{Result: json.RawMessage(`{}`)}
			case <-time.After(waittest.Patience):
				t.Fatalf("%s was not answered", message)
			}
		}
	}
	return v
}

func TestACallIsATaskForAClientThatDeclaresIt(t *testing.T) {
	s := lateAt(t, t.TempDir())
	visits(t, s, func(t *testing.T, as func(string, ...string) *visiting) {
		v := as("tester", withTasks)
		created, code := v.calls("wait")
		if code != 0 || created.ResultType != "task" || created.Status != "working" || created.TTL != nil || created.Poll <= 0 {
			t.Fatalf("tools/call = %+v, error %d; want a task that works", created, code)
		}
		if r, code := v.about("tasks/get", created.TaskID, ""); code != 0 || r.ResultType != "complete" || r.Status != "working" || r.CreatedAt != created.CreatedAt {
			t.Errorf("tasks/get = %+v, error %d; want the task at work", r, code)
		}
		s.release <- struct{}{}
		done := v.becomes(created.TaskID, "completed")
		structured, _ := json.Marshal(done.Result.StructuredContent)
		if !strings.Contains(string(v.raw), `"result":{"resultType":"complete",`) {
			t.Errorf("the inlined result is in %s, want what tools/call returns", v.raw)
		}
		if done.Result.IsError || string(structured) != `{"waited":true}` || done.TTL == nil || len(done.Result.Content) != 1 {
			t.Errorf("the task came to %+v, want the tool's own result and a TTL", done)
		}
		if r, code := v.about("tasks/cancel", created.TaskID, ""); code != 0 || r.ResultType != "complete" {
			t.Errorf("tasks/cancel of an ended task = %+v, error %d; want it acknowledged", r, code)
		}
		if r := v.becomes(created.TaskID, "completed"); r.Result == nil {
			t.Error("the result was gone after the cancellation")
		}
	})
}

func TestACallThatBeganWithoutATaskGoesOnWithoutOne(t *testing.T) {
	s := lateAt(t, t.TempDir())
	visits(t, s, func(t *testing.T, as func(string, ...string) *visiting) {
		v := as("tester", withTasks)
		go func() { s.release <- struct{}{} }()
		message, id := v.message("tools/call", `"name":"wait","arguments":{},"requestState":"of another time",`)
		if r, code := v.reads(v.send("tools/call", "wait", message, id)); code != 0 || r.ResultType != "complete" || r.TaskID != "" {
			t.Errorf("tools/call with a requestState = %+v, error %d; want the result", r, code)
		}
	})
}

func TestACancelledTaskEndsItsCall(t *testing.T) {
	s := lateAt(t, t.TempDir())
	visits(t, s, func(t *testing.T, as func(string, ...string) *visiting) {
		v, before := as("tester", withTasks), s.ended.Load()
		created, _ := v.calls("wait")
		if _, code := v.about("tasks/cancel", created.TaskID, ""); code != 0 {
			t.Fatalf("tasks/cancel: error %d", code)
		}
		if r := v.becomes(created.TaskID, "cancelled"); r.Result != nil || r.Error != nil {
			t.Errorf("a cancelled task has %+v", r)
		}
		waittest.Until(t, "the tool is told", func() (bool, any) { return s.ended.Load() > before, nil })
	})
}

func TestATaskIsItsOwners(t *testing.T) {
	s := lateAt(t, t.TempDir())
	visits(t, s, func(t *testing.T, as func(string, ...string) *visiting) {
		created, _ := as("owner", withTasks).calls("wait")
		id, code, _ := strings.Cut(created.TaskID, ".")
		for what, c := range map[string]struct {
			who  *visiting
			task string
			want int
		}{
			"another client":            {as("other", withTasks), created.TaskID, -32602},
			"no code":                   {as("owner", withTasks), id, -32602},
			"a code of another call":    {as("owner", withTasks), id + "x." + code, -32602},
			"a made-up code":            {as("owner", withTasks), id + "." + strings.Repeat("a", len(code)), -32602},
			"no ID":                     {as("owner", withTasks), "", -32602},
			"a client without the word": {as("owner", elicits), created.TaskID, -32021},
		} {
			for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
				if r, got := c.who.about(method, c.task, `"inputResponses":{},`); got != c.want {
					t.Errorf("%s by %s = %+v, error %d; want error %d", method, what, r, got, c.want)
				}
			}
		}
		if r, _ := as("owner", withTasks).about("tasks/get", created.TaskID, ""); r.Status != "working" {
			t.Errorf("then the task is %+v, want it at work", r)
		}
	})
}

func TestTheQuestionOfATaskIsAnsweredThroughAnyServer(t *testing.T) {
	folder := t.TempDir()
	first, second := lateAt(t, folder), lateAt(t, folder)
	visits(t, second, func(t *testing.T, as func(string, ...string) *visiting) {
		created, _ := visitHTTP(t, overHTTP(t, first.Server), "asker", []string{elicits, withTasks}).calls("ask")
		v := as("asker", elicits, withTasks)
		waits := v.becomes(created.TaskID, "input_required")
		raw, _ := json.Marshal(waits.InputRequests)
		if len(waits.InputRequests) != 1 || !strings.Contains(string(raw), "elicitation/create") || !strings.Contains(string(raw), "Which port?") {
			t.Fatalf("the task waits for %s, want the question", raw)
		}
		if r, _ := as("asker", withTasks).about("tasks/get", created.TaskID, ""); r.Status != "working" || r.InputRequests != nil {
			t.Errorf("a client without elicitation sees %+v, want a task at work", r)
		}
		key := ""
		for key = range waits.InputRequests {
		}
		if _, code := v.about("tasks/update", created.TaskID, `"inputResponses":{"nonsense":{"x":1},"`+key+`":17},`); code != 0 {
			t.Errorf("tasks/update with keys that are none: error %d, want them ignored", code)
		}
		if _, code := v.about("tasks/update", created.TaskID, `"inputResponses":{"`+key+`":{"action":"accept","content":{"port":"high"}}},`); code != -32602 {
			t.Errorf("tasks/update with a text for a number: error %d, want -32602", code)
		}
		if r := v.becomes(created.TaskID, "input_required"); r.InputRequests[key] == nil {
			t.Error("then the question is not asked any more")
		}
		if _, code := v.about("tasks/update", created.TaskID, `"inputResponses":{"`+key+`":{"action":"accept","content":{"port":8080}}},`); code != 0 {
			t.Errorf("tasks/update: error %d", code)
		}
		done, _ := json.Marshal(v.becomes(created.TaskID, "completed").Result)
		if !strings.Contains(string(done), "8080") {
			t.Errorf("the task came to %s, want the answer", done)
		}
	})
}

func TestAToolThatNeedsATaskSaysSo(t *testing.T) {
	visits(t, lateAt(t, t.TempDir()), func(t *testing.T, as func(string, ...string) *visiting) {
		if _, code := as("tester", elicits).calls("only"); code != -32021 {
			t.Errorf("tools/call without the extension: error %d, want -32021", code)
		}
		if r, code := as("tester", withTasks).calls("only"); code != 0 || r.ResultType != "complete" {
			t.Errorf("tools/call of a quick one = %+v, error %d; want its result", r, code)
		}
	})
}

func TestTasksAreToldToWhoListens(t *testing.T) {
	s := lateAt(t, t.TempDir())
	visits(t, s, func(t *testing.T, as func(string, ...string) *visiting) {
		v := as("tester", withTasks)
		created, _ := v.calls("wait")
		wanted := fmt.Sprintf(`"notifications":{"toolsListChanged":true,"taskIds":[%q,"call_none.xyz"]},`, created.TaskID)
		message, id := as("tester").message("subscriptions/listen", wanted)
		if r, code := v.reads(as("tester").send("subscriptions/listen", "", message, id)); code != -32021 {
			t.Errorf("subscriptions/listen without the extension = %+v, error %d; want -32021", r, code)
		}
		message, id = v.message("subscriptions/listen", wanted)
		if _, code := v.reads(v.send("subscriptions/listen", "", message, id)); code != 0 {
			t.Fatalf("subscriptions/listen: error %d", code)
		}
		acked := v.hears("notifications/subscriptions/acknowledged")
		if got := acked.Params.Notifications.TaskIDs; !slices.Equal(got, []string{created.TaskID}) {
			t.Errorf("agreed were the tasks %q, want %q alone", got, created.TaskID)
		}
		for _, status := range []string{"working", "completed"} {
			n := v.hears("notifications/tasks")
			if p := n.Params; p.TaskID != created.TaskID || p.Status != status || fmt.Sprint(p.Meta["io.modelcontextprotocol/subscriptionId"]) != fmt.Sprint(id) {
				t.Errorf("told was %+v, want %s with the ID of the subscription", p, status)
			}
			if status == "working" {
				s.release <- struct{}{}
			} else if n.Params.Result == nil {
				t.Error("the end was told without the result")
			}
		}
		if err := s.Replace(contract.Catalog{Tools: append(toolsOf(s), contract.Tool{Name: "new" + fmt.Sprint(len(toolsOf(s))), Input: noInput})}); err != nil {
			t.Fatal(err)
		}
		v.hears("notifications/tools/list_changed") // on the same stream
	})
}

// toolsOf are the tools that are served.
func toolsOf(s *late) (tools []contract.Tool) {
	for _, t := range s.current.Load().tools {
		tools = append(tools, *t)
	}
	return tools
}

func TestRequestsAboutTasksAreRoutedByTheirHeader(t *testing.T) {
	url := overHTTP(t, lateAt(t, t.TempDir()).Server)
	v := visitHTTP(t, url, "tester", []string{withTasks})
	created, _ := v.calls("wait")
	message, _ := v.message("tasks/get", fmt.Sprintf(`"taskId":%q,`, created.TaskID))
	for what, header := range map[string]string{"another task": "call_other", "none": ""} {
		status, _, body := request{body: message, header: modernHeaders("tasks/get", header)}.send(t, url)
		if status != http.StatusBadRequest || !strings.Contains(body, "-32020") {
			t.Errorf("Mcp-Name of %s: %d %s; want 400 and -32020", what, status, body)
		}
	}
}

func TestClientsOfSessionsKnowNoTasks(t *testing.T) {
	s := lateAt(t, t.TempDir())
	hand := newByHand(t, s.Server)
	hand.send(strings.Replace(initializeLine, `"capabilities":{}`, `"capabilities":{`+withTasks+`}`, 1) + "\n")
	w, err := hand.read()
	if err != nil || strings.Contains(string(w.Result), tasksExtension) {
		t.Fatalf("initialize = %s, %v; want no word of tasks", w.Result, err)
	}
	hand.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	hand.send(`{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"x"}}` + "\n")
	if w, err = hand.read(); err != nil || w.says() != "2 -32601" {
		t.Errorf("tasks/get = %+v, %v; want -32601", w, err)
	}
	close(s.release)
	hand.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"wait","arguments":{}}}` + "\n")
	if w, err = hand.read(); err != nil || !strings.Contains(string(w.Result), "waited") || strings.Contains(string(w.Result), "taskId") {
		t.Errorf("tools/call = %s, %v; want the result", w.Result, err)
	}
}
