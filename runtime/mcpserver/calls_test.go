package mcpserver

import (
	"context"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
)

// A client that took the answer of a long call under progress waits; one that
// was gone by then has shown nothing.
func TestAClientShowsThatItWaitsByTakingALateAnswer(t *testing.T) {
	told := func(context.Context, contract.Progress) {}
	for name, c := range map[string]struct {
		caller contract.Caller
		held   time.Duration
		taken  bool
		want   bool
	}{
		"it took it":             {contract.Caller{Name: "a", Progress: told}, patience, true, true},
		"it was gone":            {contract.Caller{Name: "b", Progress: told}, patience, false, false},
		"it came soon":           {contract.Caller{Name: "c", Progress: told}, patience - time.Second, true, false},
		"nobody told it":         {contract.Caller{Name: "d"}, patience, true, false},
		"another one of its own": {contract.Caller{Name: "a", Version: "2", Progress: told}, time.Second, true, false},
	} {
		s := newServer(t, Options{}, newDesk().catalog())
		key, leave := s.calls.enter(underway{})
		s.watchPatience(key, c.caller, c.held)
		leave(c.taken)
		if got := s.patient.has(c.caller); got != c.want {
			t.Errorf("%s: it waits %v, want %v", name, got, c.want)
		}
	}
}

// Whoever wants to know whether an answer was written is told once, whenever
// the call ends.
func TestWhatBecameOfAnAnswerIsTold(t *testing.T) {
	var c calls
	told := map[string][]bool{}
	for _, name := range []string{"written", "not written", "over before"} {
		key, leave := c.enter(underway{})
		if name == "over before" {
			leave(true)
		}
		c.whenWritten(key, func(ok bool) { told[name] = append(told[name], ok) })
		if name != "over before" {
			leave(name == "written")
		}
	}
	for name, want := range map[string]bool{"written": true, "not written": false, "over before": false} {
		if got := told[name]; len(got) != 1 || got[0] != want {
			t.Errorf("%s: told %v, want [%v]", name, got, want)
		}
	}
	if len(c.byKey) != 0 {
		t.Errorf("%d calls are left", len(c.byKey))
	}
}

// Only the result of a call is its answer: what the server asks or tells
// meanwhile is not.
func TestAResultIsKnownFromARequest(t *testing.T) {
	for text, want := range map[string]bool{
		"event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"method\":1}}\n\n":                                   true,
		`{"jsonrpc":"2.0","id":"me,\"thod","result":{}}`:                                                                       true,
		`{"jsonrpc":"2.0","id":"result","method":"x"}`:                                                                         false,
		`{"jsonrpc":"2.0","id":"a","result":{}}`:                                                                               true,
		"event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":{\"result\":1}}\n\n": false,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`:                                                      false,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"result"}}`:                                                       false,
		": ping\n\n":                        false,
		`{"jsonrpc":"2.0","id":1,"resul`:    false,
		`{"jsonrpc":"2.0","id":1,"x":[[{}]`: false,
	} {
		if got := isResult([]byte(text)); got != want {
			t.Errorf("isResult(%q) = %v, want %v", text, got, want)
		}
	}
}
