package ask

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// withViews is a client that shows views, and forms if show is not nil.
func withViews(show func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)) mcp.ClientOptions {
	o := mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
	if show != nil {
		o = dialog(show)
	}
	o.Capabilities.Extensions = map[string]any{"io.modelcontextprotocol/ui": map[string]any{"mimeTypes": []any{"text/html;profile=mcp-app"}}}
	return o
}

// patience sets how long a client has to show a view.
func patience(t *testing.T, d time.Duration) {
	before := viewPatience
	viewPatience = d
	t.Cleanup(func() { viewPatience = before })
}

// presents is what a view does when it shows a question.
func (p person) presents(r elicit.Request) {
	p.t.Helper()
	if _, err := p.hub.Dispatch(context.Background(), elicit.Action{Type: elicit.PresentedTo, RequestID: r.ID, Channel: ViewChannel, Client: "testclient"}); err != nil {
		p.t.Fatal(err)
	}
}

func viewed(place string) Options {
	o := unattended(place)
	o.Views = true
	return o
}

// A person who has the view needs no inbox, and is not asked by the dialog too.
func TestAViewMakesAPersonReachableAndComesBeforeTheDialog(t *testing.T) {
	eras(t, func(t *testing.T, version string) {
		for _, withDialog := range []bool{false, true} {
			place := t.TempDir()
			var dialogs atomic.Int32
			var show func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)
			if withDialog {
				show = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
					dialogs.Add(1)
					return nil, errors.New("no dialog was expected")
				}
			}
			human := personAt(t, place)
			agent := callerOf(t, place, version, viewed(place), withViews(show))
			replies := agent.calls(t.Context(), "ask_user", oneQuestion, nil)
			r := human.sees()
			human.presents(r)
			human.answers(r, "Ann")
			if out := got(t, replies).output(t); !out.Answered || out.Answers[0].Values[0] != "Ann" || dialogs.Load() > 0 {
				t.Errorf("dialog %v: ask_user = %+v with %d dialogs, want Ann by the view only", withDialog, out, dialogs.Load())
			}
		}
	})
}

func TestTheDialogIsShownIfNoViewAppears(t *testing.T) {
	patience(t, 20*time.Millisecond)
	eras(t, func(t *testing.T, version string) {
		place := t.TempDir()
		agent := callerOf(t, place, version, viewed(place), withViews(says("accept", map[string]any{"name": "Ann", "style": "Plain"})))
		if out := agent.call("ask_user", twoQuestions).output(t); !out.Answered {
			t.Errorf("ask_user = %+v, want the answer of the dialog", out)
		}
	})
}

func TestWithoutAViewAndAnInboxNobodyIsReachable(t *testing.T) {
	patience(t, 20*time.Millisecond)
	place := t.TempDir()
	agent := callerOf(t, place, legacy, viewed(place), withViews(nil))
	reply := agent.call("ask_user", oneQuestion)
	out := reply.output(t)
	if completion, _ := reply.Meta[metaCompletion].(map[string]any); out.Answered || completion["reason"] != "unreachable" {
		t.Errorf("ask_user = %+v, %v; want that nobody is reachable", out, reply.Meta)
	}
}

// In an attempt there are no views, whatever the client declares.
func TestWithoutTheOptionAViewIsNotWaitedFor(t *testing.T) {
	patience(t, time.Hour)
	place := t.TempDir()
	agent := callerOf(t, place, legacy, unattended(place), withViews(nil))
	if reply := agent.call("ask_user", oneQuestion); reply.output(t).Answered || reply.took > 10*time.Second {
		t.Errorf("ask_user = %v after %v, want at once that nobody is reachable", reply.texts(), reply.took)
	}
}

func TestAViewFindsTheQuestionOfItsCall(t *testing.T) {
	place := t.TempDir()
	hub, stop, err := hubAt(place, elicit.Options{Attended: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	d := New(Options{Open: func(context.Context) (*elicit.Hub, func(), error) { return hub, func() {}, nil }, Views: true})
	me := contract.Caller{Name: "host", Session: "one", Views: true}
	find := func(who contract.Caller, args string, again ...bool) string {
		t.Helper()
		id, err := d.Find(t.Context(), who, json.RawMessage(args), len(again) > 0)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	opens := func(who contract.Caller, args string) elicit.Request {
		t.Helper()
		r, err := read(json.RawMessage(args), d.from(who))
		if err == nil {
			r, err = hub.Open(t.Context(), r)
		}
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if id := find(me, oneQuestion); id != "" {
		t.Errorf("before the call: %s", id)
	}
	first := opens(me, oneQuestion)
	human := person{t, hub}
	if id := find(me, oneQuestion); id != first.ID {
		t.Errorf("after the call: %q, want %s", id, first.ID)
	}
	for who, other := range map[string]contract.Caller{"another session": {Name: "host", Session: "two"}, "another client": {Name: "other", Session: "one"}} {
		if id := find(other, oneQuestion); id != "" {
			t.Errorf("%s finds %s", who, id)
		}
	}
	if id := find(me, twoQuestions); id != "" {
		t.Errorf("other questions find %s", id)
	}
	human.presents(first)
	if id := find(me, oneQuestion); id != "" { // a second view is of a call that is on its way
		t.Errorf("once a view shows it: %q, want none", id)
	}
	second := opens(me, oneQuestion)
	if id := find(me, oneQuestion); id != second.ID {
		t.Errorf("the second call: %q, want %s, which no view shows", id, second.ID)
	}
	human.presents(second)
	human.answers(second, "Ann")
	if id := find(me, oneQuestion, true); id != first.ID { // the page was loaded again
		t.Errorf("again, once the second is answered: %q, want the first", id)
	}
	if _, err := d.Find(t.Context(), me, json.RawMessage(`{"questions":[]}`), false); err == nil {
		t.Error("arguments that ask_user refuses find something")
	}
}
