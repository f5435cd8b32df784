package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/proc"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Target is a server to connect to: a command that speaks MCP over its stdin
// and stdout, or a URL that speaks it over HTTP. Exactly one is set.
type Target struct {
	// Command is a program and its arguments.
	Command []string
	// Env is added to the command's environment, as KEY=value.
	Env []string
	// Dir is the command's working folder. Empty means this process's.
	Dir string
	// URL is the endpoint, for example http://127.0.0.1:20310/mcp.
	URL string
	// Token is sent as a bearer token to URL. It may be empty.
	Token string
}

// Client is one session with a server of either protocol era. Its methods may be
// called concurrently, except Close.
type Client struct {
	session *mcp.ClientSession
	process *exec.Cmd // nil over HTTP
}

// RemoteTool is a tool as its server describes it.
type RemoteTool struct {
	Name, Title, Description string
	Input                    json.RawMessage
	ReadOnly                 bool
}

// Dial starts or connects to the target and negotiates a protocol version. ctx
// limits only the time for connecting, not the session. If a command fails, the
// error includes the end of its stderr.
func Dial(ctx context.Context, target Target) (*Client, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "deskhand", Version: "dev"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, // without roots, sampling and elicitation
	})
	switch {
	case len(target.Command) > 0 && target.URL == "":
		return dialCommand(ctx, client, target)
	case len(target.Command) == 0 && target.URL != "":
		return dialURL(ctx, client, target)
	}
	return nil, errors.New("connect to the server: want either a command or a URL")
}

func dialCommand(ctx context.Context, client *mcp.Client, target Target) (*Client, error) {
	stderr := &textutil.Tail{Max: 4 << 10}
	cmd := exec.Command(target.Command[0], target.Command[1:]...)
	cmd.Env, cmd.Dir = append(os.Environ(), target.Env...), target.Dir
	cmd.Stderr = stderr
	cmd.WaitDelay = time.Second // a grandchild may keep stderr open
	session, err := client.Connect(ctx, commandTransport{cmd}, nil)
	if err != nil {
		err = fmt.Errorf("dial %s: %w", target.Command[0], err)
		if said := stderr.String(); said != "" {
			err = fmt.Errorf("%w; it said: %s", err, said)
		}
		return nil, err
	}
	return &Client{session: session, process: cmd}, nil
}

// commandTransport starts a command in a process group of its own, which ends with the
// session: a command may be a script that starts the server.
type commandTransport struct{ cmd *exec.Cmd }

// Connect implements [mcp.Transport].
func (t commandTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	stdin, stdout, err := proc.StartServer(t.cmd)
	if err != nil {
		return nil, err
	}
	return (&mcp.IOTransport{Reader: io.NopCloser(stdout), Writer: stdin}).Connect(ctx)
}

func dialURL(ctx context.Context, client *mcp.Client, target Target) (*Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16 // for one session's concurrent calls
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:             target.URL,
		HTTPClient:           &http.Client{Transport: bearer{token: target.Token, next: transport}},
		DisableStandaloneSSE: true,
		MaxRetries:           -1,
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", target.URL, err)
	}
	return &Client{session: session}, nil
}

// bearer adds the token to each request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(r)
}

// PID returns the ID of the process that Dial started, or 0 over HTTP.
func (c *Client) PID() int {
	if c.process == nil || c.process.Process == nil {
		return 0
	}
	return c.process.Process.Pid
}

// ListTools returns all tools, in the server's order.
func (c *Client) ListTools(ctx context.Context) ([]RemoteTool, error) {
	var tools []RemoteTool
	for t, err := range c.session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list tools: %w", err)
		}
		input, err := json.Marshal(t.InputSchema)
		if err != nil {
			return nil, fmt.Errorf("list tools: schema of %s: %w", t.Name, err)
		}
		tools = append(tools, RemoteTool{
			Name: t.Name, Title: t.Title, Description: t.Description, Input: input,
			ReadOnly: t.Annotations != nil && t.Annotations.ReadOnlyHint,
		})
	}
	return tools, nil
}

// Call calls a tool. isError reports whether the tool refused; text is then its
// reason. err is not nil if there was no answer at all. Text blocks are joined by
// newlines. structured is nil if the server sent none.
func (c *Client) Call(ctx context.Context, tool string, args map[string]any) (text string, structured json.RawMessage, isError bool, err error) {
	result, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", nil, false, fmt.Errorf("call %s: %w", tool, err)
	}
	var blocks []string
	for _, content := range result.Content {
		if block, ok := content.(*mcp.TextContent); ok {
			blocks = append(blocks, block.Text)
		}
	}
	if result.StructuredContent != nil {
		if structured, err = encode(result.StructuredContent); err != nil {
			return "", nil, false, fmt.Errorf("call %s: structured content: %w", tool, err)
		}
	}
	return strings.Join(blocks, "\n"), structured, result.IsError, nil
}

// Close ends the session. If Dial started a command, Close closes its stdin and
// terminates it if it does not exit within seconds.
func (c *Client) Close() error {
	err := c.session.Close()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return nil // the command's exit status does not matter
	}
	return err
}
