package gateway

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// TestMain makes this program an MCP server on stdin and stdout, for tests of
// upstreams that are commands.
func TestMain(m *testing.M) {
	if os.Getenv("GATEWAY_TEST_SERVER") == "" {
		os.Exit(m.Run())
	}
	if os.Getenv("GATEWAY_TEST_SERVER") == "raw" {
		rawCommand()
		return
	}
	// A server from before 2026-07-28 may ask on its own.
	server := mcp.NewServer(&mcp.Implementation{Name: "command", Version: "1"}, &mcp.ServerOptions{SupportedProtocolVersions: []string{"2025-11-25"}})
	say := func(text string) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	}
	object := json.RawMessage(echoSchema)
	server.AddTool(&mcp.Tool{Name: "key", InputSchema: object}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return say("the key has " + strings.Repeat("x", len(os.Getenv("NOTES_TOKEN"))))
	})
	server.AddTool(&mcp.Tool{Name: "environment", InputSchema: object}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return say(strings.Join(os.Environ(), "\n"))
	})
	server.AddTool(&mcp.Tool{Name: "die", InputSchema: object}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	server.AddTool(&mcp.Tool{Name: "ask", InputSchema: object}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		reply, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Mode: "form", Message: "Sure?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"sure":{"type":"boolean"}},"required":["sure"]}`)})
		if err != nil {
			return nil, err
		}
		content, _ := json.Marshal(reply.Content)
		return say(reply.Action + string(content))
	})
	_ = server.Run(context.Background(), &mcp.StdioTransport{})
}

func command(t *testing.T) Upstream {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Upstream{Name: "notes", Command: []string{self}, Env: map[string]string{"GATEWAY_TEST_SERVER": "1"}}
}

func TestCommandThatDiesIsStartedAgain(t *testing.T) {
	d := at(t, t.TempDir(), nil, command(t))
	if got := string(d.tool("notes_key").Input); got != echoSchema {
		t.Errorf("input schema = %s, want %s", got, echoSchema)
	}
	o := d.now("notes_die", `{}`)
	if f := fault.Of(o.err); f == nil || f.Code != "upstream_lost" || f.Retryable || !strings.Contains(f.Hint, "before you call again") {
		t.Errorf("a call that ends the server = %s, want that nobody knows what it did", o.text())
	}
	d.works("notes_key", `{}`, "the key has ") // the command is restarted
}

func TestKeyOfACommandIsInItsEnvironment(t *testing.T) {
	u := command(t)
	u.Scope = UserScope
	d := at(t, t.TempDir(), nil, u)
	ended := d.call("notes_key", contract.Caller{}, `{}`)
	newBrowser(t).press(d.asked().URL, "connect", "key", "12345")
	if got := d.wait(ended).text(); got != "the key has xxxxx" {
		t.Errorf("the call = %s, want that the command was started with the key", got)
	}
}

func TestCommandMayAskInTheMiddleOfACall(t *testing.T) { // I-045
	d := at(t, t.TempDir(), nil, command(t))
	ended := d.call("notes_ask", contract.Caller{Name: "agent"}, `{}`)
	r := d.asked()
	if r.Context.ToolName != "notes_ask" || r.Source.Name != "notes" {
		t.Errorf("request = %+v, want it of the call that is in flight", r)
	}
	d.answerSure(r.ID)
	if got := d.wait(ended).text(); got != `accept{"sure":true}` {
		t.Errorf("the upstream was told %s", got)
	}
}

// answerSure answers the question of the tool ask with yes.
func (d *desk) answerSure(id string) {
	d.t.Helper()
	_, err := d.hub.Dispatch(d.t.Context(), elicit.Action{Type: elicit.CompletedBy, RequestID: id, Response: elicit.Accept,
		Answers: map[string]elicit.Answer{"sure": {State: elicit.Submitted, Value: &elicit.Value{Kind: elicit.BooleanValue, Boolean: true}}}})
	if err != nil {
		d.t.Fatal(err)
	}
}
