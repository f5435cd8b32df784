package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	callroom "github.com/deskhand/deskhand/runtime/calls"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// oldTasks is an upstream of 2025-11-25 with one tool, which can only be called as
// a task.
type oldTasks struct {
	asked     chan struct{} // holds one token after somebody asked for a result
	release   chan struct{}
	cancelled chan string
}

func (o *oldTasks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			TaskID string
			Task   *struct{ TTL int64 }
		}
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	answer := ""
	switch m.Method {
	case "initialize":
		answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"old","version":"1"}}`
	case "tools/list":
		answer = `"result":{"tools":[{"name":"research","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},{"name":"plain","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		answer = `"result":{"task":{"taskId":"t1","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":1000,"pollInterval":10}}`
		if m.Params.Task == nil || m.Params.Task.TTL <= 0 {
			answer = `"error":{"code":-32601,"message":"Tool research requires task augmentation (taskSupport: 'required')"}`
		}
	case "tasks/result":
		select {
		case o.asked <- struct{}{}:
		default:
		}
		select {
		case <-o.release:
		case <-r.Context().Done():
			return
		}
		answer = fmt.Sprintf(`"result":{"content":[{"type":"text","text":"found by %s"}],"structuredContent":{"b":1,"a":2}}`, m.Params.TaskID)
	case "tasks/cancel":
		o.cancelled <- m.Params.TaskID
		answer = `"result":{"taskId":"t1","status":"cancelled","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":1000}`
	case "server/discover":
		answer = `"error":{"code":-32601,"message":"Method not found"}`
	default:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
}

func TestToolsThatWantTasksCanBeCalledAtOldUpstreams(t *testing.T) {
	old := &oldTasks{asked: make(chan struct{}, 1), release: make(chan struct{}), cancelled: make(chan string, 1)}
	server := httptest.NewServer(old)
	t.Cleanup(server.Close)
	d := at(t, t.TempDir(), nil, Upstream{Name: "old", URL: server.URL})
	ended := d.call("old_research", contract.Caller{Name: "agent"}, `{}`)
	old.release <- struct{}{}
	o := d.wait(ended)
	structured, _ := json.Marshal(o.result.Structured)
	if o.text() != "found by t1" || string(structured) != `{"b":1,"a":2,"content_text":"found by t1"}` {
		t.Errorf("old_research = %s, %s; want the result of its task", o.text(), structured)
	}
	t.Run("a call that is cancelled cancels its task", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		tool := d.tool("old_research")
		<-old.asked // by the call above
		go func() { _, _ = tool.Call(ctx, contract.Caller{}, nil) }()
		<-old.asked
		cancel()
		select {
		case id := <-old.cancelled:
			if id != "t1" {
				t.Errorf("cancelled was %s, want t1", id)
			}
		case <-time.After(waittest.Patience):
			t.Error("the upstream was not told")
		}
	})
	t.Run("the need is remembered with the tools", func(t *testing.T) {
		tools, err := json.Marshal(d.upstreams[0].Tools)
		if err != nil || strings.Count(string(tools), `"onlyTask":true`) != 1 {
			t.Errorf("remembered are %s, %v; want one that can only be called as a task", tools, err)
		}
	})
}

// newTasks starts an upstream of 2026-07-28 whose tool can only be called as a
// task. The tool asks before it becomes a task or during the task. looked counts how often
// a client looked at a task.
func newTasks(t *testing.T) (url string, looked, cancelled *atomic.Int32) {
	t.Helper()
	db, err := store.Open(t.Context(), t.TempDir(), elicit.Schema(), callroom.Schema())
	if err != nil {
		t.Fatal(err)
	}
	hub := elicit.New(db, elicit.Options{})
	runner := callroom.New(callroom.Options{Patience: time.Millisecond, Open: func(context.Context) (*elicit.Hub, *store.DB, error) { return hub, db, nil }})
	looked, cancelled = new(atomic.Int32), new(atomic.Int32)
	handed := make(chan struct{}, 10) // one for each call that has become a task
	tool := contract.Tool{Name: "job", Input: json.RawMessage(`{"type":"object"}`), Later: &contract.Later{Only: true}}
	tool.Call = func(ctx context.Context, caller contract.Caller, args json.RawMessage) (contract.Result, error) {
		<-handed
		switch {
		case strings.Contains(string(args), "wait"):
			<-ctx.Done()
			cancelled.Add(1)
			return contract.Result{}, ctx.Err()
		case strings.Contains(string(args), "break"):
			panic("broken")
		}
		r, err := hub.Ask(ctx, elicit.Request{Trigger: elicit.AskUser, Questions: []elicit.Question{{ID: "name", Kind: elicit.Text, Message: "Whose?", Required: true}}},
			caller.Client.(elicit.Surface))
		if err != nil {
			return contract.Result{}, err
		}
		return contract.Result{Text: []string{"job of " + r.Answers["name"].Value.Text}}, nil
	}
	tool = runner.Later(tool)
	start := tool.Later.Start
	tool.Later.Start = func(ctx context.Context, caller contract.Caller, args json.RawMessage) (contract.Pending, error) {
		p, err := start(ctx, caller, args)
		handed <- struct{}{}
		return p, err
	}
	s, err := mcpserver.New(mcpserver.Options{}, contract.Catalog{Tools: []contract.Tool{tool}})
	if err != nil {
		t.Fatal(err)
	}
	handler := s.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "tasks/get" {
			looked.Add(1)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		_ = s.Close(context.Background())
		server.CloseClientConnections()
		server.Close()
		runner.Close()
		hub.Close()
		db.Close()
	})
	return server.URL, looked, cancelled
}

func TestToolsThatWantTasksCanBeCalledAtNewUpstreams(t *testing.T) {
	url, looked, cancelled := newTasks(t)
	d := at(t, t.TempDir(), nil, Upstream{Name: "new", URL: url})
	t.Run("a question of the task is one of ours", func(t *testing.T) {
		ended := d.call("new_job", contract.Caller{Name: "agent"}, `{}`)
		asked := d.asked()
		if asked.Questions[0].Message != "Whose?" || asked.Context.Upstream != "new" {
			t.Errorf("asked was %+v, want the upstream's question", asked)
		}
		_, err := d.hub.Dispatch(t.Context(), elicit.Action{Type: elicit.CompletedBy, RequestID: asked.ID, Response: elicit.Accept,
			Answers: map[string]elicit.Answer{asked.Questions[0].ID: {State: elicit.Submitted, Value: &elicit.Value{Kind: elicit.TextValue, Text: "Ann"}}}})
		if err != nil {
			t.Fatal(err)
		}
		if o := d.wait(ended); o.text() != "job of Ann" {
			t.Errorf("new_job = %s, want the answer in it", o.text())
		}
	})
	t.Run("a call that is cancelled cancels its task", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		tool := d.tool("new_job")
		ended, before := make(chan error, 1), looked.Load()
		go func() { _, err := tool.Call(ctx, contract.Caller{}, json.RawMessage(`{"wait":true}`)); ended <- err }()
		waittest.Until(t, "the call has become a task", func() (bool, any) { return looked.Load() > before, nil })
		cancel()
		<-ended
		waittest.Until(t, "the upstream is told", func() (bool, any) { return cancelled.Load() > 0, nil })
	})
	t.Run("a task that fails is an error", func(t *testing.T) {
		o := d.now("new_job", `{"break":true}`)
		if f := fault.Of(o.err); f == nil || f.Code != "upstream_error" || !strings.Contains(f.Message, "internal error") {
			t.Errorf("new_job = %s, want an upstream_error", o.text())
		}
	})
}

func TestNeedsOfToolsAreReadAnyWhere(t *testing.T) {
	for message, want := range map[string]string{
		`{"tools":[{"name":"a","execution":{"taskSupport":"required"}},{"name":"b","execution":{"taskSupport":"optional"}}]}`: "[a]",
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","execution":{"taskSupport":"required"}}]}}`:                   "[a]",
		`{"tools":[{"name":1,"execution":{"taskSupport":"required"}}]}`:                                                       "[]",
		`["taskSupport"]`: "[]", `{"tools":[{"name":"a"}]}`: "[]",
	} {
		if got := fmt.Sprint(taskTools([]byte(message))); got != want {
			t.Errorf("taskTools(%s) = %s, want %s", message, got, want)
		}
	}
}
