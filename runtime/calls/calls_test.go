package calls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// process is one of those that share a store.
type process struct {
	*Runner
	db    *store.DB
	ahead atomic.Int64 // nanoseconds by which its clock is
	log   waittest.Log
}

func at(t *testing.T, place string, o Options) *process {
	t.Helper()
	p := &process{}
	var err error
	if p.db, err = store.Open(t.Context(), place, elicit.Schema(), Schema()); err != nil {
		t.Fatal(err)
	}
	p.db.SetClock(func() time.Time { return time.Now().Add(time.Duration(p.ahead.Load())) })
	hub := elicit.New(p.db, elicit.Options{})
	o.Open = func(context.Context) (*elicit.Hub, *store.DB, error) { return hub, p.db, nil }
	if o.Patience == 0 {
		o.Patience = 10 * time.Millisecond
	}
	o.Log = slog.New(slog.NewTextHandler(&p.log, nil))
	p.Runner = New(o)
	t.Cleanup(func() { p.Close(); hub.Close(); p.db.Close() })
	return p
}

// job is a tool that ends when it is told to.
type job struct {
	contract.Tool
	release chan error
	gone    chan struct{} // one for each call that was cancelled
}

func (p *process) job() *job {
	j := &job{release: make(chan error), gone: make(chan struct{}, 10)}
	j.Tool = p.Later(contract.Tool{Name: "job", Call: func(ctx context.Context, caller contract.Caller, _ json.RawMessage) (contract.Result, error) {
		caller.Progress(ctx, contract.Progress{Message: "half  done"})
		select {
		case err := <-j.release:
			return contract.Result{Text: []string{"done"}, Structured: map[string]int{"n": 1}, Meta: map[string]any{"x/y": "z"}}, err
		case <-ctx.Done():
			j.gone <- struct{}{}
			return contract.Result{}, ctx.Err()
		}
	}})
	return j
}

func (j *job) start(t *testing.T) string {
	t.Helper()
	p, err := j.Later.Start(t.Context(), contract.Caller{}, nil)
	if err != nil || p.ID == "" || p.State != contract.Working {
		t.Fatalf("Start = %+v, %v; want a call that works", p, err)
	}
	return p.ID
}

// becomes looks at a call until it has a state.
func (p *process) becomes(t *testing.T, id string, state contract.PendingState) contract.Pending {
	t.Helper()
	var got contract.Pending
	waittest.Until(t, fmt.Sprintf("call %s comes to state %d", id, state), func() (bool, any) {
		var err error
		if got, err = p.Look(t.Context(), contract.Caller{}, id); err != nil {
			t.Fatalf("Look = %+v, %v; want state %d", got, err, state)
		}
		return got.State == state, got
	})
	return got
}

func (p *process) rows(t *testing.T) (n int) {
	t.Helper()
	err := p.db.View(t.Context(), func(tx *store.Tx) error { return tx.QueryRow(t.Context(), "SELECT COUNT(*) FROM calls").Scan(&n) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestACallIsFollowedFromAnotherProcess(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		one, other := at(t, place, Options{Retention: time.Hour}), at(t, place, Options{Retention: time.Hour})
		j := one.job()
		id := j.start(t)
		if p := other.becomes(t, id, contract.Working); p.Message != "half done" || p.TTL != 0 || p.Poll <= 0 {
			t.Errorf("while it runs Look = %+v", p)
		}
		w, err := other.Watch(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		j.release <- nil
		if err := w.Wait(t.Context()); err != nil {
			t.Errorf("Wait = %v, want to hear of the end", err)
		}
		p := other.becomes(t, id, contract.Ended)
		structured, _ := json.Marshal(p.Result.Structured)
		if p.Err != nil || p.Result.Text[0] != "done" || string(structured) != `{"n":1}` || p.Result.Meta["x/y"] != "z" || p.TTL < time.Hour {
			t.Errorf("at the end Look = %+v", p)
		}
	})
}

func TestACallCanBeCancelledFromAnotherProcess(t *testing.T) {
	place := t.TempDir()
	one, other := at(t, place, Options{}), at(t, place, Options{})
	j := one.job()
	id := j.start(t)
	for range 2 { // which is once too many, and no error
		if err := other.Cancel(t.Context(), contract.Caller{}, id); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-j.gone:
	case <-time.After(waittest.Patience):
		t.Fatal("the tool was not told")
	}
	if p := one.becomes(t, id, contract.Cancelled); p.Result.Text != nil || p.Err != nil {
		t.Errorf("Look = %+v, want nothing but cancelled", p)
	}
}

func TestAQuickCallLeavesNothing(t *testing.T) {
	p := at(t, t.TempDir(), Options{Patience: time.Minute})
	quick := p.Later(contract.Tool{Name: "quick", Call: func(context.Context, contract.Caller, json.RawMessage) (contract.Result, error) {
		return contract.Result{Text: []string{"at once"}}, nil
	}})
	got, err := quick.Later.Start(t.Context(), contract.Caller{}, nil)
	if err != nil || got.ID != "" || got.Result.Text[0] != "at once" || p.rows(t) != 0 {
		t.Errorf("Start = %+v, %v with %d rows; want the result and no row", got, err, p.rows(t))
	}
}

func TestACallWhoseProcessDiedIsLost(t *testing.T) {
	place := t.TempDir()
	one, other := at(t, place, Options{}), at(t, place, Options{})
	j := one.job()
	id := j.start(t)
	other.ahead.Store(int64(leaseTime - time.Second))
	other.becomes(t, id, contract.Working)
	other.ahead.Store(int64(leaseTime + 5*time.Second))
	if p := other.becomes(t, id, contract.Lost); !strings.Contains(p.Message, "crashed") {
		t.Errorf("Look = %+v, want that its server crashed", p)
	}
	// It was only slow: what is told once does not change.
	select {
	case <-j.gone:
	case <-time.After(waittest.Patience):
		t.Fatal("the tool was not told that its call is lost")
	}
	one.becomes(t, id, contract.Lost)
}

func TestTheCallsOfAProcessThatStopsAreLost(t *testing.T) {
	place := t.TempDir()
	one, other := at(t, place, Options{}), at(t, place, Options{})
	j := one.job()
	id := j.start(t)
	one.Close()
	if p := other.becomes(t, id, contract.Lost); !strings.Contains(p.Message, "stopped") {
		t.Errorf("Look = %+v, want that its server stopped", p)
	}
	if _, err := j.Later.Start(t.Context(), contract.Caller{}, nil); fault.Of(err) == nil || fault.Of(err).Code != "stopping" {
		t.Errorf("Start = %v, want the fault stopping", err)
	}
}

func TestFailuresOfCalls(t *testing.T) {
	p := at(t, t.TempDir(), Options{})
	j := p.job()
	t.Run("a fault is the result", func(t *testing.T) {
		id := j.start(t)
		j.release <- fault.New("upstream_error", "no tea", "bring some").With("n", 1)
		got := p.becomes(t, id, contract.Ended)
		if f := fault.Of(got.Err); f == nil || f.Code != "upstream_error" || f.Hint != "bring some" || f.Details["n"] != 1.0 {
			t.Errorf("Look = %+v, want the fault", got)
		}
	})
	t.Run("another error is lost, and not told outside", func(t *testing.T) {
		id := j.start(t)
		j.release <- errors.New("secret path")
		got := p.becomes(t, id, contract.Lost)
		_, word, _ := strings.Cut(got.Message, "(id ")
		if strings.Contains(got.Message, "secret") || word == "" || !strings.Contains(p.log.String(), strings.TrimSuffix(word, ")")) {
			t.Errorf("Look = %+v with the log %q; want an id that the log has", got, p.log.String())
		}
	})
	t.Run("an answer that is too large", func(t *testing.T) {
		large := p.Later(contract.Tool{Name: "large", Call: func(context.Context, contract.Caller, json.RawMessage) (contract.Result, error) {
			<-j.release
			return contract.Result{Text: []string{strings.Repeat("x", maxOutcome)}}, nil
		}})
		got, err := large.Later.Start(t.Context(), contract.Caller{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		j.release <- nil
		if got := p.becomes(t, got.ID, contract.Lost); !strings.Contains(got.Message, "bytes") {
			t.Errorf("Look = %+v, want that the answer is too large", got)
		}
	})
}

func TestRunningCallsAreBounded(t *testing.T) {
	p := at(t, t.TempDir(), Options{MaxRunning: 2})
	j := p.job()
	j.start(t)
	j.start(t)
	if _, err := j.Later.Start(t.Context(), contract.Caller{}, nil); fault.Of(err) == nil || fault.Of(err).Code != "too_many_calls" || !fault.Of(err).Retryable {
		t.Errorf("Start of a third = %v, want too_many_calls", err)
	}
}

func TestOutcomesAreForgotten(t *testing.T) {
	p := at(t, t.TempDir(), Options{Retention: time.Hour})
	j := p.job()
	id := j.start(t)
	j.release <- nil
	p.becomes(t, id, contract.Ended)
	p.ahead.Store(int64(2 * time.Hour))
	j.start(t)
	if _, err := p.Look(t.Context(), contract.Caller{}, id); fault.Of(err) == nil || fault.Of(err).Code != contract.UnknownCall {
		t.Errorf("Look after its time = %v, want %s", err, contract.UnknownCall)
	}
}

// A call that ends as it is handed over is either there at once or in the store.
func TestNoOutcomeIsLostAtTheHandOver(t *testing.T) {
	p := at(t, t.TempDir(), Options{Patience: time.Millisecond})
	tool := p.Later(contract.Tool{Name: "tool", Call: func(ctx context.Context, _ contract.Caller, _ json.RawMessage) (contract.Result, error) {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
		}
		return contract.Result{Text: []string{"done"}}, nil
	}})
	for range 50 {
		got, err := tool.Later.Start(t.Context(), contract.Caller{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.ID != "" {
			got = p.becomes(t, got.ID, contract.Ended)
		}
		if got.Result.Text[0] != "done" {
			t.Fatalf("a call came to %+v", got)
		}
	}
}
