package tasks_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// elsewhere is an A2A agent whose task never ends on its own.
type elsewhere struct {
	*httptest.Server
	mu        sync.Mutex
	deaf      bool // it no longer answers
	cancelled chan string
}

func newElsewhere(t *testing.T) *elsewhere {
	e := &elsewhere{cancelled: make(chan string, 10)}
	mux := http.NewServeMux()
	e.Server = httptest.NewServer(mux)
	t.Cleanup(func() { e.CloseClientConnections(); e.Close() })
	mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"name":"far","protocolVersion":"0.3.0","url":"%s/rpc","preferredTransport":"JSONRPC","capabilities":{"streaming":true}}`, e.URL)
	})
	mux.HandleFunc("/rpc", func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			Method string
			Params struct{ ID string }
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			t.Error(err)
		}
		e.mu.Lock()
		deaf := e.deaf
		e.mu.Unlock()
		task := `{"jsonrpc":"2.0","id":"1","result":{"kind":"task","id":"t","contextId":"c","status":{"state":"working"}}}`
		switch {
		case deaf:
		case call.Method == "tasks/get":
			fmt.Fprint(w, task)
			return
		case call.Method == "tasks/cancel":
			e.cancelled <- call.Params.ID
			fmt.Fprint(w, task)
			return
		case call.Method == "message/stream":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: %s\n\n", task)
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	})
	return e
}

// killed starts an attempt with the agent and kills its runner.
func (e *elsewhere) killed(t *testing.T) (*desk, Started) {
	d := open(t, Repo{}, settings{Lease: time.Minute, Elsewhere: e.URL})
	made := task(t, d.Manager, d.project.ID, "Far away")
	request := d.request(made.ID, "work")
	request.Executor = "far"
	started, err := d.Start(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	s := d.until(started.AttemptID, "has a session", func(s AttemptStatus) bool { return s.SessionID != "" || s.State != Running })
	d.until(started.AttemptID, "has a task there", func(AttemptStatus) bool { return len(d.entries(started.AttemptID, Raw)) > 0 })
	pid := d.running(s.ID).runner
	if pid <= 1 || syscall.Kill(pid, syscall.SIGKILL) != nil {
		t.Fatalf("runner %d of %+v cannot be killed", pid, s)
	}
	await(t, "the end of the runner", func() bool { return dead(pid) })
	return d, started
}

func TestASweepCancelsWhatAKilledRunnerLeftElsewhere(t *testing.T) {
	e := newElsewhere(t)
	d, started := e.killed(t)
	if err := d.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := d.ended(started.AttemptID); s.Failure != "lost: its runner died" {
		t.Errorf("Status = %+v, want it lost", s)
	}
	select {
	case id := <-e.cancelled:
		if id != "t" {
			t.Errorf("task %q was cancelled, want t", id)
		}
	case <-time.After(waittest.Patience):
		t.Error("the task was not cancelled")
	}
}

func TestASweepDoesNotWaitForAnAgentElsewhere(t *testing.T) {
	e := newElsewhere(t)
	d, started := e.killed(t)
	e.mu.Lock()
	e.deaf = true
	e.mu.Unlock()
	began := time.Now()
	if err := d.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > waittest.Soon {
		t.Errorf("Sweep took %v with an agent that does not answer", took)
	}
	d.ended(started.AttemptID)
	began = time.Now()
	if d.Close(); time.Since(began) > 2*waittest.Soon {
		t.Errorf("Close took %v with an agent that does not answer", time.Since(began))
	}
}
