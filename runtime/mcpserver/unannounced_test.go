package mcpserver

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// A tool that is not announced is listed and called like any other, by clients of
// both eras, and nobody is told that it came.
func TestUnannouncedToolsAreListedAndCalledInSilence(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			s := newServer(t, Options{}, newDesk().catalog())
			in, out, _ := overPipes(t, s)
			changed := make(chan string, 8)
			client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
				ToolListChangedHandler:   func(context.Context, *mcp.ToolListChangedRequest) { changed <- "tools" },
				PromptListChangedHandler: func(context.Context, *mcp.PromptListChangedRequest) { changed <- "prompts" },
			})
			session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: out, Writer: in}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			for { // until changes are told: a subscription is not answered
				if err := s.Replace(withPrompt(newDesk().catalog(), time.Now().String())); err != nil {
					t.Fatal(err)
				}
				select {
				case <-changed:
				case <-time.After(100 * time.Millisecond):
					continue
				}
				break
			}
			quiet := withPrompt(newDesk().catalog(), "last")
			quiet.Tools = append(quiet.Tools, contract.Tool{Name: "pinned", Description: "Pinned.", Input: noInput, Unannounced: true,
				Call: func(_ context.Context, c contract.Caller, _ json.RawMessage) (contract.Result, error) {
					return contract.Result{Text: []string{"pinned for " + c.Name}}, nil
				}})
			if err := s.Replace(quiet); err != nil {
				t.Fatal(err)
			}
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil || tools.Tools[len(tools.Tools)-1].Name != "pinned" {
				t.Fatalf("tools = %+v, %v; want pinned at the end", tools, err)
			}
			saysIt(t, session, "pinned", nil, "pinned for c", false)

			// It goes as it came; what is told is the change of a prompt, which comes last.
			if err := s.Replace(withPrompt(newDesk().catalog(), "after")); err != nil {
				t.Fatal(err)
			}
			for told := ""; told != "prompts"; {
				select {
				case told = <-changed:
					if told == "tools" {
						t.Error("told of the tools although none that is announced has changed")
					}
				case <-time.After(waittest.Patience):
					t.Fatal("not told of the prompt")
				}
			}
			if version == "2026-07-28" {
				t.Skip("NOT TESTED: whether pinned is gone: this client's SDK keeps a list for a minute")
			}
			if tools, err = session.ListTools(t.Context(), nil); err != nil || len(tools.Tools) != len(newDesk().catalog().Tools) {
				t.Errorf("tools = %+v, %v; want those without pinned", tools, err)
			}
			if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "pinned"}); err == nil {
				t.Error("a tool that is gone was called")
			}
		})
	}
}

// withPrompt is c with a prompt that is described so.
func withPrompt(c contract.Catalog, text string) contract.Catalog {
	c.Prompts = append(c.Prompts, contract.Prompt{Name: "changing", Description: text})
	return c
}
