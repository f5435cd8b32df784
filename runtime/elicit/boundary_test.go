package elicit_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	. "github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

// as returns a context of a caller with a boundary.
func as(t *testing.T, name string, b access.Boundary) context.Context {
	return access.With(t.Context(), access.Caller{Name: name, Scopes: access.Scopes, Boundary: b})
}

func TestACallerKnowsOfTheRequestsInItsBoundary(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h := peer(t, place, Options{})
		only := func(projects ...string) access.Boundary { return access.Boundary{Confined: true, Projects: projects} }
		not := func(projects ...string) access.Boundary { return access.Boundary{Projects: projects} }
		open := func(ctx context.Context, project string) string {
			r := greeting()
			r.Context.ProjectID = project
			r, err := h.Open(ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			return r.ID
		}
		carl := as(t, "carl", only("p", "r"))
		names := map[string]string{open(t.Context(), "p"): "p", open(t.Context(), "q"): "q", open(t.Context(), ""): "none", open(carl, ""): "carl's"}
		for _, c := range []struct {
			who  string
			ctx  context.Context
			sees string
		}{
			{"the owner", t.Context(), "carl's none p q"},
			{"a member", as(t, "ada", not()), "carl's none p q"},
			{"a stranger", as(t, "bob", not("p")), "carl's none q"},
			{"a guest who asked", carl, "carl's p"},
			{"another guest", as(t, "dora", only("q")), "q"},
			{"a guest of nothing", as(t, "eve", only()), ""},
		} {
			check := func(how string, ids []string) {
				t.Helper()
				var got []string
				for _, id := range ids {
					got = append(got, names[id])
				}
				slices.Sort(got)
				if text := strings.Join(slices.Compact(got), " "); text != c.sees {
					t.Errorf("%s, by %s: %q, want %q", how, c.who, text, c.sees)
				}
			}
			list, err := h.List(c.ctx, Filter{})
			if err != nil {
				t.Fatal(err)
			}
			var listed, got, in, fed, done []string
			for _, r := range list.Requests {
				listed = append(listed, r.ID)
			}
			if n, err := h.Count(c.ctx, Filter{}); err != nil || n != len(listed) {
				t.Errorf("Count, by %s: %d, %v", c.who, n, err)
			}
			state, err := h.State(c.ctx, time.Now().Add(-time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			for id := range state.Requests {
				in = append(in, id)
			}
			changes, _, err := h.Changes(c.ctx, 0, 1000)
			if err != nil {
				t.Fatal(err)
			}
			for _, change := range changes {
				fed = append(fed, change.Action.RequestID)
			}
			for id := range names {
				if _, err := h.Get(c.ctx, id); err == nil {
					got = append(got, id)
				} else if f := fault.Of(err); f == nil || f.Code != UnknownRequest {
					t.Errorf("Get, by %s: %v", c.who, err)
				}
				a := Action{Type: AnswerChanged, RequestID: id, QuestionID: greeting().Questions[0].ID, Answer: &Answer{State: Draft, Value: &Value{Kind: TextValue, Text: c.who}}}
				if _, err := h.Dispatch(c.ctx, a); err == nil {
					done = append(done, id)
				} else if f := fault.Of(err); f == nil || f.Code != UnknownRequest {
					t.Errorf("Dispatch, by %s: %v", c.who, err)
				}
			}
			check("List", listed)
			check("Get", got)
			check("State", in)
			check("Changes", fed)
			check("Dispatch", done)
		}
		if _, err := h.Open(as(t, "bob", not("p")), Request{Trigger: CLI, Context: Context{ProjectID: "p"}, Questions: greeting().Questions}); fault.Of(err) == nil {
			t.Errorf("a stranger asks in the project: %v", err)
		}
	})
}

func TestAQuestionOfACallerWithOneProjectIsInIt(t *testing.T) {
	h := peer(t, t.TempDir(), Options{ProjectName: func(_ context.Context, id string) (string, error) { return "name of " + id, nil }})
	r, err := h.Open(as(t, "bob", access.Boundary{Confined: true, Projects: []string{"p"}}), greeting())
	if err != nil || r.Context.ProjectID != "p" || r.Context.Project != "name of p" || r.Source.Person != "bob" {
		t.Errorf("%+v %+v, %v", r.Context, r.Source, err)
	}
}

// Whoever does not see a project cannot be asked in it, and cannot answer in it on a surface
// that knows the person.
func TestPeopleOutsideAProjectAreNotAskedInIt(t *testing.T) {
	members := access.Members{"p": {"ada"}}
	h := peer(t, t.TempDir(), Options{Members: []Member{{Principal: Local}, {Principal: "ada"}, {Principal: "bob", Roles: []string{"ops"}}},
		Caller: func(_ context.Context, name string) (access.Caller, error) {
			c := access.Caller{Name: name, Boundary: members.Boundary(name, false)}
			if name != "cleo" {
				c.Scopes = []access.Scope{access.Answer}
			}
			return c, nil
		}})
	ask := func(project string, who Audience) (Request, error) {
		r := greeting()
		r.Context.ProjectID, r.Audience = project, who
		return h.Open(t.Context(), r)
	}
	for _, who := range []Audience{{Principal: "bob"}, {Roles: []string{"ops"}}} {
		if _, err := ask("p", who); err == nil || !strings.Contains(err.Error(), "does not see the questions of this project") || !strings.Contains(fault.Of(err).Hint, "ada") || strings.Contains(fault.Of(err).Hint, "bob") {
			t.Errorf("asking %+v in the project: %v", who, err)
		}
		if _, err := ask("q", who); err != nil {
			t.Errorf("asking %+v elsewhere: %v", who, err)
		}
	}
	r, err := ask("p", Audience{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Dispatch(t.Context(), Action{Type: CompletedBy, RequestID: r.ID, Response: Decline, By: "bob", Channel: "slack"}); fault.Of(err) == nil || fault.Of(err).Code != UnknownRequest {
		t.Errorf("bob answers: %v", err)
	}
	members["p"] = append(members["p"], "cleo")
	if _, err := h.Dispatch(t.Context(), Action{Type: CompletedBy, RequestID: r.ID, Response: Decline, By: "cleo", Channel: "slack"}); fault.Of(err) == nil || fault.Of(err).Code != NotYours {
		t.Errorf("cleo, who may not answer, answers: %v", err)
	}
	assumed, err := ask("p", Audience{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Dispatch(t.Context(), Action{Type: CompletedBy, RequestID: assumed.ID, Response: Decline, By: ByAssumed, Channel: "cli"}); err != nil {
		t.Errorf("the asker's own answer for the case that nobody is there: %v", err)
	}
	if _, err := h.Dispatch(t.Context(), Action{Type: CompletedBy, RequestID: r.ID, Response: Decline, By: "ada", Channel: "slack"}); err != nil {
		t.Errorf("ada answers: %v", err)
	}
}

// A late answer is for the person who asked, and only while that person sees the project.
func TestALateAnswerIsForThePersonWhoAsked(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h := peer(t, place, attended)
		all := access.Boundary{}
		ask := func(ctx context.Context) *Request {
			r := greeting()
			r.Context.ProjectID = "p"
			old, err := h.Earlier(ctx, r)
			if err != nil && fault.Of(err) == nil {
				t.Fatal(err)
			}
			return old
		}
		r := greeting()
		r.Context.ProjectID = "p"
		first, err := h.Open(as(t, "ada", all), r)
		if err != nil {
			t.Fatal(err)
		}
		must(t, h, accept(first.ID, "Ada"))
		for who, ctx := range map[string]context.Context{"bob": as(t, "bob", all), "the owner": t.Context(),
			"bob, who does not see it": as(t, "bob", access.Boundary{Projects: []string{"p"}})} {
			if old := ask(ctx); old != nil {
				t.Errorf("%s gets ada's answer %s", who, old.ID)
			}
		}
		elsewhere := greeting() // no project is named, so that asking is not refused
		if old, err := h.Earlier(as(t, "ada", access.Boundary{Projects: []string{"p"}}), elsewhere); old != nil || err != nil {
			t.Errorf("ada, who left the project, gets %v, %v", old, err)
		}
		if old := ask(as(t, "ada", all)); old == nil || old.ID != first.ID {
			t.Errorf("ada gets %v", old)
		}
	})
}

func TestAKeyOfAHiddenRequestTellsNothingOfIt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h := peer(t, place, attended)
		r := greeting()
		r.Key, r.Context.ProjectID = "k", "p"
		first, err := h.Open(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		bob := as(t, "bob", access.Boundary{Projects: []string{"p"}})
		for _, title := range []string{r.Title, "another"} {
			again := greeting()
			again.Key, again.Title = "k", title
			got, err := h.Open(bob, again)
			if f := fault.Of(err); f == nil || f.Code != KeyReused || got.ID != "" || strings.Contains(err.Error(), first.ID) {
				t.Errorf("bob, asking %q: %q, %v", title, got.ID, err)
			}
		}
	})
}
