package ahp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/deskhand/deskhand/runtime/access"
	. "github.com/deskhand/deskhand/runtime/ahp"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// Clients of different projects see only their own sessions, before and after they connect,
// and answer nothing else, also if they know its ID and channel.
func TestChannelsOfAProjectAreForItsMembers(t *testing.T) {
	hub := hubOver(t, t.TempDir())
	server := New(Options{Hub: func(context.Context) (*elicit.Hub, error) { return hub, nil }})
	callers := map[string]access.Caller{
		"owner": {Level: access.People},
		"ada":   {Name: "ada", Scopes: access.Scopes},
		"bob":   {Name: "bob", Scopes: access.Scopes, Boundary: access.Boundary{Projects: []string{"p"}}},
		"carl":  {Name: "carl", Scopes: access.Scopes, Boundary: access.Boundary{Confined: true, Projects: []string{"q"}}},
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server.ServeHTTP(w, r.WithContext(access.With(r.Context(), callers[r.Header.Get("Who")])))
	}))
	t.Cleanup(front.Close)
	t.Cleanup(server.Close)
	ask := func(project string) elicit.Request {
		r, err := hub.Open(t.Context(), elicit.Request{Trigger: elicit.CLI, Context: elicit.Context{ProjectID: project, SessionID: "s-" + project},
			Questions: []elicit.Question{{ID: "q", Kind: elicit.Text, Message: "Which?"}}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	secret := ask("p")
	clients := map[string]*Client{}
	for who := range callers {
		c := NewClient(ClientOptions{URL: front.URL, Header: http.Header{"Who": {who}}, ID: "same"})
		if err := c.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Disconnect)
		clients[who] = c
	}
	ask("q")
	ask("")
	for who, want := range map[string][]string{"owner": {"s-", "s-p", "s-q"}, "ada": {"s-", "s-p", "s-q"}, "bob": {"s-", "s-q"}, "carl": {"s-q"}} {
		waittest.Until(t, who+" has the sessions", func() (bool, any) {
			all, err := clients[who].Sessions(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, one := range all {
				got = append(got, one.Resource[len("ahp-session:/"):])
			}
			slices.Sort(got)
			return slices.Equal(got, want), got
		})
	}
	for who, sees := range map[string]bool{"ada": true, "bob": false, "carl": false} {
		err := clients[who].Subscribe(t.Context(), "ahp-session:/s-p")
		if (err == nil) != sees {
			t.Errorf("%s subscribes: %v", who, err)
		}
		if sees {
			continue
		}
		if _, err := clients[who].Dispatch(t.Context(), "", Action{Type: Completed, RequestID: secret.ID, Response: elicit.Decline}); err == nil {
			if r, err := hub.Get(t.Context(), secret.ID); err != nil || r.Status != elicit.Open {
				t.Errorf("%s ended the question: %+v, %v", who, r.Completion, err)
			}
		}
	}
}
