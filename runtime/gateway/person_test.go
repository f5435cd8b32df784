package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// shared starts a gateway of a team: the owner's credential is there, and each person
// with a name has a gateway.
func shared(t *testing.T, change func(*Options)) (d *desk, g *guard, persons map[string]*Gateway) {
	t.Helper()
	g = newGuard(t)
	g.onlyCalls = true
	g.valid["key-of-the-owner"], g.valid["key-of-bob"] = true, true
	u := userScoped(g)
	u.Auth = Auth{Kind: Key}
	persons = map[string]*Gateway{}
	d = at(t, t.TempDir(), func(o *Options) {
		if change != nil {
			change(o)
		}
		own := *o
		own.Many = ""
		o.For = func(person string) (*Gateway, error) {
			if persons[person] == nil {
				own := own
				own.Principal = person
				g, err := New(own)
				if err != nil {
					return nil, err
				}
				g.Start(0)
				t.Cleanup(g.Close)
				persons[person] = g
			}
			return persons[person], nil
		}
	}, u)
	if err := d.Connect(t.Context(), "linear", "key-of-the-owner"); err != nil {
		t.Fatal(err)
	}
	return d, g, persons
}

// as calls a tool for a person with a name, or for the owner if the name is empty.
func (d *desk) as(name string) <-chan outcome {
	tool := d.tool("linear_echo")
	ctx := access.With(d.t.Context(), access.Caller{Level: access.Agents, Name: name, Scopes: []access.Scope{access.Ask}})
	ended := make(chan outcome, 1)
	go func() {
		result, err := tool.Call(ctx, contract.Caller{Name: "agent"}, json.RawMessage(`{"zeta":"z"}`))
		ended <- outcome{result, err}
	}()
	return ended
}

func TestAnAgentUsesTheCredentialOfItsPerson(t *testing.T) {
	d, g, persons := shared(t, nil)
	if o := d.wait(d.as("")); o.text() != `{"zeta":"z"}` {
		t.Fatalf("the owner's call = %s", o.text())
	}
	ended := d.as("bob")
	r := d.asked()
	if r.Audience.Principal != "bob" || r.Trigger != elicit.CredentialRequired {
		t.Fatalf("bob's agent asks %+v", r.Audience)
	}
	if err := persons["bob"].Connect(t.Context(), "linear", "key-of-bob"); err != nil {
		t.Fatal(err)
	}
	if o := d.wait(ended); o.text() != `{"zeta":"z"}` {
		t.Fatalf("bob's call = %s", o.text())
	}
	g.mu.Lock()
	delete(g.valid, "key-of-the-owner")
	g.mu.Unlock()
	if o := d.wait(d.as("bob")); o.text() != `{"zeta":"z"}` {
		t.Errorf("without the owner's key, bob's call = %s", o.text())
	}
	v, err := d.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for person, key := range map[string]string{"local": "key-of-the-owner", "bob": "key-of-bob"} {
		if c, err := v.credential(t.Context(), "linear", person); err != nil || c == nil || c.Key != key {
			t.Errorf("the credential of %s is %+v, %v", person, c, err)
		}
	}
}

// Another person may get the name of one who was removed.
func TestCredentialsOfARemovedPersonAreForgotten(t *testing.T) {
	d, _, persons := shared(t, nil)
	if _, err := d.options.For("bob"); err != nil {
		t.Fatal(err)
	}
	if err := persons["bob"].Connect(t.Context(), "linear", "key-of-bob"); err != nil {
		t.Fatal(err)
	}
	if o := d.wait(d.as("bob")); o.text() != `{"zeta":"z"}` {
		t.Fatalf("bob's call = %s", o.text())
	}
	v, err := d.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := v.db.Update(t.Context(), func(tx *store.Tx) error { return Forget(t.Context(), tx, "bob") }); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "bob's gateway to have no credential", func() (bool, any) {
		g := persons["bob"]
		all, err := g.Connections(t.Context())
		return err == nil && len(all) == 1 && !all[0].Connected, all
	})
	for person, kept := range map[string]bool{"local": true, "bob": false} {
		if c, err := v.credential(t.Context(), "linear", person); err != nil || (c != nil) != kept {
			t.Errorf("the credential of %s is %+v, %v; kept: %v", person, c, err, kept)
		}
	}
	if o := d.wait(d.as("")); o.text() != `{"zeta":"z"}` {
		t.Errorf("the owner's call = %s", o.text())
	}
}

// An upstream may know the account by the connection, and not look at later requests.
func TestAnotherAccountGetsAnotherConnection(t *testing.T) {
	handler := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		s, account := mcp.NewServer(&mcp.Implementation{Name: "double"}, nil), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer key-of-")
		s.AddTool(&mcp.Tool{Name: "account", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: account}}}, nil
		})
		return s
	}, nil)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	d := at(t, t.TempDir(), nil, Upstream{Name: "up", URL: server.URL, Scope: UserScope, Auth: Auth{Kind: Key}})
	for _, account := range []string{"one", "another"} {
		if err := d.Connect(t.Context(), "up", "key-of-"+account); err != nil {
			t.Fatal(err)
		}
		if got := d.now("up_account", "{}").text(); got != account {
			t.Errorf("with the key of %s, the account is %s", account, got)
		}
	}
	u := d.named("up")
	live := func() (bool, any) {
		u.mu.Lock()
		defer u.mu.Unlock()
		return u.live == nil, u.live
	}
	if err := d.db.Update(t.Context(), func(tx *store.Tx) error { return Forget(t.Context(), tx, "local") }); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the connection to end with its credential", live)
}

func TestPeopleWithNamesUseAServerOfMany(t *testing.T) {
	d, _, persons := shared(t, func(o *Options) { o.Many = "a test" })
	if o := d.wait(d.as("")); !strings.Contains(o.text(), "several people's agents") {
		t.Errorf("the agents' token uses the owner's credential: %s", o.text())
	}
	if _, err := d.options.For("bob"); err != nil {
		t.Fatal(err)
	}
	if err := persons["bob"].Connect(t.Context(), "linear", "key-of-bob"); err != nil {
		t.Fatal(err)
	}
	if o := d.wait(d.as("bob")); o.text() != `{"zeta":"z"}` {
		t.Errorf("bob's call = %s", o.text())
	}
}

func TestWithoutAGatewayOfTheirOwnPeopleAreRefused(t *testing.T) {
	d, _, _ := shared(t, nil)
	d.options.For = nil
	if o := d.wait(d.as("bob")); !strings.Contains(o.text(), "no way to use the one of bob") {
		t.Errorf("bob's call = %s", o.text())
	}
	ctx, cancel := context.WithTimeout(access.With(t.Context(), access.Caller{Name: "bob"}), time.Second)
	defer cancel()
	if c, err := d.upstreams[0].usable(ctx); c != nil || err == nil {
		t.Errorf("usable for bob = %+v, %v; want a refusal", c, err)
	}
}
