package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

// client talks to an agent with the Agent Client Protocol. The SDK handles
// requests and their answers. Updates are read here, in order and before the
// SDK sees them. The SDK would drop the connection if updates arrived faster
// than it handles them, or if it did not recognize the kind of an update.
type client struct {
	mode, auth string

	run    *Run
	conn   *acp.ClientSideConnection
	asking context.Context // ends when the turn should end

	schemas rawSchemas

	mu     sync.Mutex // guards talk
	talk   *talk
	silent bool // whether the agent is replaying a session's history
	plan   int64
}

var acpKind = kind{
	name:  "acp",
	check: lacksCommand,
	can:   func(Config) Info { return Info{MCP: true, FollowUp: true, Approvals: true} },
	start: program(func(l *launch) (driver, error) { return &client{mode: l.Mode, auth: l.Auth}, nil }),
}

// leaveTime is how long an agent may take to exit after its turn is over and
// its stdin is closed. After that time, deskhand terminates the agent. After
// twice that time, deskhand kills it.
const leaveTime = 2 * time.Second

func (c *client) drive(r *Run, stdout io.Reader) Result {
	c.run = r
	c.plan = -1
	c.talk = &talk{log: r.spec.Log, session: r.session, tools: map[string]*tool{}}
	var quiet func()
	c.asking, quiet = context.WithCancel(r.ctx)
	defer quiet()
	theirs, ours := io.Pipe()
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer ours.Close()
		eachLine(&rawTee{stdout, r.spec.Log}, func(line []byte) { c.line(line, ours) })
	}()
	c.conn = acp.NewClientSideConnection(c, r.stdin, theirs)
	c.conn.SetLogger(slog.New(slog.DiscardHandler))
	err := c.turn(quiet)
	if err == nil {
		r.turnEnded()
	}
	r.stdin.Close()
	gentle := time.AfterFunc(leaveTime, r.group.Terminate)
	firm := time.AfterFunc(2*leaveTime, r.group.Kill)
	<-read
	select { // prefer an exit status, which explains more than a lost connection
	case <-r.ctx.Done():
	case <-time.After(3 * leaveTime):
	}
	gentle.Stop()
	firm.Stop()
	theirs.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.talk.endText()
	result := c.talk.result
	if err != nil {
		result.Failure, result.unsure = err.Error(), true
	}
	return result
}

// line processes a line from the agent. It handles updates itself and passes
// other messages to the SDK. A line that is not a message appears only in the
// raw log.
func (c *client) line(line []byte, on io.Writer) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		return
	}
	var m struct {
		Method string          `json:"method"`
		ID     json.RawMessage `json:"id"`
		Params struct {
			Update json.RawMessage `json:"update"`
			Schema json.RawMessage `json:"requestedSchema"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	if m.Method == "session/update" && len(m.ID) == 0 {
		c.update(m.Params.Update)
		return
	}
	if len(m.Params.Schema) > 0 {
		c.schemas.see(m.Params.Schema)
	}
	on.Write(append(line, '\n')) // the SDK reads until the end
}

// turn opens a session, sends the prompt and waits until the turn ends.
func (c *client) turn(quiet func()) error {
	ctx := context.Background() // the context needs no end, because the connection ends when the process exits
	hello, err := c.conn.Initialize(ctx, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber,
		// fs is not offered. An agent that writes files through deskhand skips
		// its own checks, and one of the agents cannot create new files through
		// fs.
		ClientCapabilities: acp.ClientCapabilities{Elicitation: &acp.ElicitationCapabilities{Form: &acp.ElicitationFormCapabilities{}, Url: &acp.ElicitationUrlCapabilities{}}},
		ClientInfo:         &acp.Implementation{Name: "deskhand", Version: "1"},
	})
	if err != nil {
		return wrapError("the agent did not answer initialize", err)
	}
	if c.auth != "" {
		if _, err := c.conn.Authenticate(ctx, acp.AuthenticateRequest{MethodId: c.auth}); err != nil {
			return c.setup("sign in to the agent on this machine", wrapError("the agent cannot sign in with "+c.auth, err))
		}
	}
	session, modes, err := c.open(ctx, hello.AgentCapabilities)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.talk.begin(string(session))
	c.mu.Unlock()
	if c.mode != "" && offers(modes, c.mode) {
		if _, err := c.conn.SetSessionMode(ctx, acp.SetSessionModeRequest{SessionId: session, ModeId: acp.SessionModeId(c.mode)}); err != nil {
			c.note(fmt.Sprintf("the agent rejected mode %s: %v", c.mode, err))
		}
	}
	c.run.onInterrupt(func() bool {
		quiet()
		return c.conn.Cancel(ctx, acp.CancelNotification{SessionId: session}) == nil
	})
	answer, err := c.conn.Prompt(ctx, acp.PromptRequest{SessionId: session, Prompt: []acp.ContentBlock{acp.TextBlock(c.run.spec.Prompt)}})
	if err != nil {
		return wrapError("the agent ended its turn with an error", err)
	}
	return c.ended(answer)
}

// open resumes a session or starts one.
func (c *client) open(ctx context.Context, can acp.AgentCapabilities) (acp.SessionId, *acp.SessionModeState, error) {
	s := &c.run.spec
	servers := []acp.McpServer{}
	if s.MCP.URL != "" && can.McpCapabilities.Http {
		servers = append(servers, acp.McpServer{Http: &acp.McpServerHttpInline{
			Name: "deskhand", Type: "http", Url: s.MCP.URL, Headers: []acp.HttpHeader{{Name: "Authorization", Value: "Bearer " + s.MCP.Token}},
		}})
	}
	if s.Resume != "" {
		id := acp.SessionId(s.Resume)
		var modes *acp.SessionModeState
		err := errors.New("it does not support that")
		if can.SessionCapabilities.Resume != nil {
			var r acp.ResumeSessionResponse
			r, err = c.conn.ResumeSession(ctx, acp.ResumeSessionRequest{Cwd: s.Dir, McpServers: servers, SessionId: id})
			modes = r.Modes
		} else if can.LoadSession {
			c.setReplaying(true)
			var r acp.LoadSessionResponse
			r, err = c.conn.LoadSession(ctx, acp.LoadSessionRequest{Cwd: s.Dir, McpServers: servers, SessionId: id})
			c.setReplaying(false)
			modes = r.Modes
		}
		if err == nil {
			return id, modes, nil
		}
		c.note(fmt.Sprintf("the agent cannot continue its session and starts a new one: %v", err))
		s.Prompt = s.Before + s.Prompt
	}
	r, err := c.conn.NewSession(ctx, acp.NewSessionRequest{Cwd: s.Dir, McpServers: servers})
	if err != nil {
		err = wrapError("the agent did not start a session", err)
		var refused *acp.RequestError
		if errors.As(err, &refused) && refused.Code == -32000 { // the protocol's code for "authentication required"
			err = c.setup("sign in to the agent on this machine", err)
		}
		return "", nil, err
	}
	return r.SessionId, r.Modes, nil
}

// setReplaying records whether the agent is replaying history. An earlier log
// already contains that history.
func (c *client) setReplaying(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = on
}

func offers(modes *acp.SessionModeState, mode string) bool {
	if modes == nil {
		return false
	}
	for _, m := range modes.AvailableModes {
		if string(m.Id) == mode {
			return true
		}
	}
	return false
}

func (c *client) note(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.talk.system(text)
}

// setup shows what a person must do before the agent can work.
func (c *client) setup(what string, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := logs.Failed(fmt.Sprintf("%s: %v", what, err))
	e.Type.Error.Type = "setup_required"
	c.talk.log.Append(e)
	return err
}

func wrapError(what string, err error) error { return fmt.Errorf("%s: %w", what, err) }

// ended returns the error for a turn that ended without success.
func (c *client) ended(a acp.PromptResponse) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.talk.result.Usage
	if a.Usage != nil {
		u.TokensIn, u.TokensOut = int64(a.Usage.InputTokens), int64(a.Usage.OutputTokens)
	} else if tokens := quota(a.Meta); tokens != (logs.Usage{}) {
		u.TokensIn, u.TokensOut = tokens.TokensIn, tokens.TokensOut
	}
	c.talk.usage(u)
	switch a.StopReason {
	case acp.StopReasonEndTurn:
		return nil
	case acp.StopReasonCancelled:
		return errors.New("cancelled")
	case acp.StopReasonRefusal:
		return errors.New("the agent refuses to continue")
	}
	return fmt.Errorf("the agent stopped before it was done: %s", a.StopReason)
}

// quota returns the usage in the reserved _meta field, in which one of the
// agents reports it.
func quota(meta map[string]any) logs.Usage {
	data, err := json.Marshal(meta)
	if err != nil {
		return logs.Usage{}
	}
	var m struct {
		Quota struct {
			Tokens struct {
				In  int64 `json:"input_tokens"`
				Out int64 `json:"output_tokens"`
			} `json:"token_count"`
		} `json:"quota"`
	}
	json.Unmarshal(data, &m) // zero if the data has another shape
	return logs.Usage{TokensIn: m.Quota.Tokens.In, TokensOut: m.Quota.Tokens.Out}
}
