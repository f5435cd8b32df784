package gateway

import (
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Alice has connected, and Bob's agent calls through the same server. No call uses
// her credential, and the agent is told why.
func TestAttackDoorsUpstreamAnotherPersonsAgent(t *testing.T) {
	lists := map[string]string{"tools/list": `{"tools":[` + oneGoodTool + `]}`, "prompts/list": `{"prompts":[{"name":"p"}]}`, "resources/list": `{"resources":[{"uri":"x://1","name":"r"}]}`}
	s := newStranger(t, &stranger{lists: lists})
	up := Upstream{Name: "up", URL: s.URL, Scope: UserScope, Auth: Auth{Kind: Key}}
	shared := Upstream{Name: "shared", URL: s.URL, Scope: ProjectScope, Auth: Auth{Kind: Key}}
	open := Upstream{Name: "open", URL: s.URL}
	dir := t.TempDir()
	alice := at(t, dir, nil, up, shared, open)
	for name, token := range map[string]string{"up": "key-of-alice-1", "shared": "key-of-all-1"} {
		if err := alice.Connect(t.Context(), name, token); err != nil {
			t.Fatal(err)
		}
	}
	if got := alice.now(alice.tool("up_good").Name, "{}").text(); got != "done" {
		t.Fatalf("the call of alice = %s", got)
	}
	alice.end()
	bob := at(t, dir, func(o *Options) { o.Many = "allow_host desk.example.com" }, up, shared, open)
	before := s.seen("key-of-alice-1")
	refused := func(t *testing.T, err error) {
		t.Helper()
		if f := fault.Of(err); f == nil || f.Code != "not_one_person" || !strings.Contains(f.Hint, "gateway.people") {
			t.Errorf("it ends with %v, want that nobody knows whose agent calls", err)
		}
	}
	t.Run("a tool", func(t *testing.T) { refused(t, bob.now("up_good", "{}").err) })
	e := bob.Elsewhere(none, none)
	t.Run("a prompt", func(t *testing.T) {
		_, err := e.Prompt(t.Context(), contract.Caller{}, "up_p", nil)
		refused(t, err)
	})
	t.Run("a resource", func(t *testing.T) {
		_, err := e.Read(t.Context(), contract.Caller{}, "deskhand:up/x://1")
		refused(t, err)
	})
	t.Run("a completion", func(t *testing.T) {
		_, err := e.Complete(t.Context(), contract.Caller{}, contract.Completing{Prompt: "up_p", Argument: "a"})
		refused(t, err)
	})
	t.Run("a subscription", func(t *testing.T) {
		_, err := e.Watch(t.Context(), contract.Caller{}, "deskhand:up/x://1", func() {})
		refused(t, err)
	})
	t.Run("an upstream that nobody has seen", func(t *testing.T) {
		d := at(t, t.TempDir(), func(o *Options) { o.Many = "allow_host desk.example.com" }, up)
		refused(t, d.now(d.tool("up_connect").Name, "{}").err)
	})
	t.Run("the credential is not used", func(t *testing.T) {
		if n := s.seen("key-of-alice-1") - before; n != 0 {
			t.Errorf("the upstream saw the credential %d times", n)
		}
	})
	for _, name := range []string{"open_good", "shared_good"} {
		if got := bob.now(bob.tool(name).Name, "{}").text(); got != "done" {
			t.Errorf("%s = %s, want its answer: it needs nobody's own credential", name, got)
		}
	}
}
