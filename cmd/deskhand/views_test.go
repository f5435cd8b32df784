package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// withViews is the _meta of a call by a client that shows views.
const withViews = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"byhand","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}}`

// viewed makes a call of the form by hand, and returns what the view is told.
func viewed(t *testing.T, p *pipe, args string) (out struct {
	Found          bool
	Key, Body      string
	RequestID      string `json:"request_id"`
	Status, Refuse string `json:"-"`
}) {
	t.Helper()
	var reply struct {
		Meta    map[string]json.RawMessage `json:"_meta"`
		IsError bool
		Content json.RawMessage
	}
	if err := json.Unmarshal(p.rpc("tools/call", `{"name":"ask_view","arguments":`+args+`,`+withViews+`}`), &reply); err != nil {
		t.Fatal(err)
	}
	if reply.IsError {
		t.Fatalf("ask_view(%s) = %s", args, reply.Content)
	}
	if err := json.Unmarshal(reply.Meta["deskhand/view"], &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// A view outlives the server that it was opened at: another one over the store
// knows its key, and the page that a host has kept.
func TestAViewGoesOnWithAnotherServer(t *testing.T) {
	t.Setenv("CI", "")
	state := filepath.Join(t.TempDir(), "state")
	one, two := byHand(t, state), byHand(t, state)
	read := one.rpc("resources/read", `{"uri":"ui://deskhand/ask",`+withViews+`}`)
	proof := regexp.MustCompile(`name=\\"proof\\" content=\\"([^\\]*)\\"`).FindSubmatch(read)
	if proof == nil {
		t.Fatalf("the page has no proof: %.300s", read)
	}
	asked := `{"questions":[{"id":"name","question":"What is it called?"}]}`
	answers := make(chan message, 1)
	go func() {
		m, _ := one.ask("tools/call", `{"name":"ask_user","arguments":`+asked+`,`+withViews+`}`)
		answers <- m
	}()
	r := oneOpen(t, inboxOf(t, state))
	opened := viewed(t, one, `{"do":"open","proof":`+encoded(t, string(proof[1]))+`,"arguments":`+asked+`}`)
	if !opened.Found || opened.RequestID != r.ID || !strings.Contains(opened.Body, `name="a.name"`) {
		t.Fatalf("open = %+v, want the form of %s", opened, r.ID)
	}
	sent := viewed(t, two, `{"do":"act","request_id":"`+r.ID+`","key":`+encoded(t, opened.Key)+`,"body":"do.act=send&a.name=Ann"}`)
	if !strings.Contains(sent.Body, "answered in the conversation") {
		t.Errorf("act at the other server = %s, want that it is answered", sent.Body)
	}
	if m := <-answers; !strings.Contains(string(m.Result), "Ann") {
		t.Errorf("ask_user = %s, want Ann", m.Result)
	}
}

// The agent of an attempt gets no views, and neither does a client of an
// installation that has turned them off.
func TestThereAreNoViewsInAnAttemptOrIfTurnedOff(t *testing.T) {
	t.Setenv("CI", "")
	for _, c := range []struct {
		name, value string
		want        bool
	}{{"DESKHAND_VIEWS", "on", true}, {"DESKHAND_VIEWS", "off", false}, {"DESKHAND_ATTEMPT_ID", "a1", false}} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			t.Setenv(c.name, c.value)
			p := byHand(t, filepath.Join(t.TempDir(), "state"))
			if list := p.rpc("tools/list", "{"+withViews+"}"); strings.Contains(string(list), "ask_view") != c.want || strings.Contains(string(list), "ui://") != c.want {
				t.Errorf("tools/list = %s, want views: %v", list, c.want)
			}
			m, err := p.ask("resources/read", `{"uri":"ui://deskhand/ask",`+withViews+`}`)
			if err != nil || (m.Error == nil) != c.want {
				t.Errorf("resources/read = %+v, %v; want the page: %v", m, err, c.want)
			}
		})
	}
}
