package mcpserver

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/contract"
)

// A client's greeting is answered at once. Lists and calls wait for the catalog that is
// to be served, and then see this one.
func TestOnlyGreetingsAreAnsweredBeforeTheServerIsReady(t *testing.T) {
	ready := make(chan struct{})
	tool := func(description, text string) contract.Catalog {
		return contract.Catalog{Tools: []contract.Tool{{Name: "look", Description: description, ReadOnly: true,
			Input: []byte(`{"type":"object"}`),
			Call: func(context.Context, contract.Caller, json.RawMessage) (contract.Result, error) {
				return contract.Result{Text: []string{text}}, nil
			}}}}
	}
	s, err := New(Options{Ready: ready}, tool("early", "an early answer"))
	if err != nil {
		t.Fatal(err)
	}
	c := newByHand(t, s)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n" +
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"look","arguments":{}}}` + "\n" +
		`{"jsonrpc":"2.0","id":4,"method":"ping"}` + "\n")
	got := map[string]string{}
	for len(got) < 2 {
		m, err := c.read()
		if err != nil {
			t.Fatal(err)
		}
		got[m.Method+string(m.ID)] = string(m.Result)
	}
	if got["1"] == "" || got["4"] == "" {
		t.Fatalf("the first answers are %v, want those of initialize and ping", got)
	}
	if err := s.Replace(tool("late", "a late answer")); err != nil {
		t.Fatal(err)
	}
	close(ready)
	for got["2"] == "" || got["3"] == "" {
		m, err := c.read()
		if err != nil {
			t.Fatal(err)
		}
		got[m.Method+string(m.ID)] = string(m.Result)
	}
	if !strings.Contains(got["2"], "late") || !strings.Contains(got["3"], "a late answer") {
		t.Errorf("the answers after that are %v", got)
	}
}
