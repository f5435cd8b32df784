package mcpserver

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
)

func asksAs(name string) contract.Tool {
	return contract.Tool{Name: name, Description: "Not acme_ask_user, but ask_user.", Input: json.RawMessage(`{"type":"object","description":"of ask_user"}`),
		Call: func(context.Context, contract.Caller, json.RawMessage) (contract.Result, error) {
			return contract.Result{Text: []string{"asked by " + name}}, nil
		}}
}

// Gemini CLI without a terminal hides every tool called ask_user: it is told of
// ask_person instead, in all that it reads. A call by either name works for all.
func TestAToolIsListedUnderANameThatTheClientShows(t *testing.T) {
	s := newServer(t, Options{}, contract.Catalog{Tools: []contract.Tool{asksAs("ask_user"), asksAs("acme_ask_user")}, Instructions: "Call ask_user."})
	for client, want := range map[string]string{"tester": "ask_user", "gemini-cli-mcp-client": "ask_person"} {
		t.Run(client, func(t *testing.T) {
			bothErasAs(t, s, client, func(t *testing.T, session *mcp.ClientSession) {
				list, err := session.ListTools(t.Context(), nil)
				if err != nil || len(list.Tools) != 2 {
					t.Fatalf("tools %v, %v", list, err)
				}
				first, schema := list.Tools[0], encoded(t, list.Tools[0].InputSchema)
				if first.Name != want || first.Description != "Not acme_ask_user, but "+want+"." || !strings.Contains(schema, "of "+want) || list.Tools[1].Name != "acme_ask_user" {
					t.Errorf("the tool is listed as %s: %s %s, beside %s; want %s", first.Name, first.Description, schema, list.Tools[1].Name, want)
				}
				if got := session.InitializeResult().Instructions; got != "Call "+want+"." {
					t.Errorf("the instructions are %q", got)
				}
				for _, name := range []string{"ask_user", "ask_person"} {
					saysIt(t, session, name, map[string]any{}, "asked by ask_user", false)
				}
			})
		})
	}
}

func TestANameIsNotGivenTwice(t *testing.T) {
	s := newServer(t, Options{}, contract.Catalog{Tools: []contract.Tool{asksAs("ask_user"), asksAs("ask_person")}})
	bothErasAs(t, s, "gemini-cli-mcp-client", func(t *testing.T, session *mcp.ClientSession) {
		list, err := session.ListTools(t.Context(), nil)
		if err != nil || list.Tools[0].Name != "ask_user" || list.Tools[1].Name != "ask_person" {
			t.Errorf("tools %+v, %v; want both under their own names", list, err)
		}
		saysIt(t, session, "ask_person", map[string]any{}, "asked by ask_person", false)
	})
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Claude Code hides tools behind a search, except those that ask to be loaded. Only an
// attempt's server asks, and only for its own tools.
func TestOnlyOwnToolsAreAlwaysLoaded(t *testing.T) {
	foreign := asksAs("theirs")
	foreign.Published = json.RawMessage(`{"name":"theirs","inputSchema":{"type":"object"}}`)
	for _, always := range []bool{false, true} {
		s := newServer(t, Options{AlwaysLoad: always}, contract.Catalog{Tools: []contract.Tool{asksAs("ask_user"), foreign}})
		bothErasAs(t, s, "claude-code", func(t *testing.T, session *mcp.ClientSession) {
			list, err := session.ListTools(t.Context(), nil)
			if err != nil || len(list.Tools) != 2 {
				t.Fatalf("tools %v, %v", list, err)
			}
			for _, tool := range list.Tools {
				if got := tool.Meta["anthropic/alwaysLoad"]; (got == true) != (always && tool.Name == "ask_user") {
					t.Errorf("AlwaysLoad %v: %s has %v", always, tool.Name, tool.Meta)
				}
			}
		})
	}
}
