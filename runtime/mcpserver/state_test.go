package mcpserver

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

func TestAStateIsOfOneCall(t *testing.T) {
	s := newServer(t, Options{}, contract.Catalog{})
	call := binding{Tool: "ask_user", Digest: digest(json.RawMessage(`{"a":1,"b":[1.50,"x"]}`)), Client: "c"}
	made := call
	made.Request, made.Until = "elc_1", time.Now().Add(time.Minute).Unix()
	state, err := s.sign(made)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := s.verify(state, call); id != "elc_1" || err != nil {
		t.Fatalf("verify(its own call) = %q, %v; want elc_1", id, err)
	}
	same := call
	same.Digest = digest(json.RawMessage(` { "b":[1.50 , "x"], "a":1 }`))
	if id, err := s.verify(state, same); id != "elc_1" || err != nil {
		t.Errorf("verify(the same arguments in another order) = %q, %v; want elc_1", id, err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(state)
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(*binding)) binding {
		b := call
		change(&b)
		return b
	}
	past := made
	past.Until = time.Now().Add(-time.Second).Unix()
	expired, err := s.sign(past)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := newServer(t, Options{}, contract.Catalog{}).sign(made)
	if err != nil {
		t.Fatal(err)
	}
	tampered := strings.Replace(string(raw), "elc_1", "elc_2", 1)
	for name, c := range map[string]struct {
		state string
		call  binding
	}{
		"another tool":      {state, with(func(b *binding) { b.Tool = "other" })},
		"other arguments":   {state, with(func(b *binding) { b.Digest = digest(json.RawMessage(`{"a":2}`)) })},
		"another client":    {state, with(func(b *binding) { b.Client = "d" })},
		"another request":   {base64.RawURLEncoding.EncodeToString([]byte(tampered)), call},
		"another key":       {foreign, call},
		"expired":           {expired, call},
		"cut":               {state[:len(state)-4], call},
		"no state":          {"hello", call},
		"not even base64":   {"€€€", call},
		"only a mac":        {base64.RawURLEncoding.EncodeToString(raw[:32]), call},
		"a mac and rubbish": {base64.RawURLEncoding.EncodeToString(append(raw[:32:32], "{}"...)), call},
	} {
		id, err := s.verify(c.state, c.call)
		if f := fault.Of(err); id != "" || f == nil || f.Code != "bad_state" {
			t.Errorf("%s: verify = %q, %v; want bad_state", name, id, err)
		}
	}
}

func TestAKeyThatCannotBeHadIsNoRefusal(t *testing.T) {
	broken := errors.New("no disk")
	s := newServer(t, Options{StateKey: func() ([]byte, error) { return nil, broken }}, contract.Catalog{})
	if _, err := s.sign(binding{}); !errors.Is(err, broken) {
		t.Errorf("sign = %v, want %v", err, broken)
	}
	if _, err := s.verify(strings.Repeat("A", 100), binding{}); !errors.Is(err, broken) || fault.Of(err) != nil {
		t.Errorf("verify = %v, want %v and no fault", err, broken)
	}
}
