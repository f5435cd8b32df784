package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/usage"
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
	silent bool // while the agent replays a session's history
	// lastCall reports that the agent reports only the tokens of its last model call.
	lastCall bool
	plan     int64
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
	c.talk = r.talk()
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
		Result json.RawMessage `json:"result"`
		Params struct {
			Update  json.RawMessage `json:"update"`
			Schema  json.RawMessage `json:"requestedSchema"`
			Message json.RawMessage `json:"message"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	if m.Method == "session/update" && len(m.ID) == 0 {
		c.update(m.Params.Update)
		return
	}
	if m.Method == claudeNotice && len(m.ID) == 0 {
		var retry claudeRetry
		if json.Unmarshal(m.Params.Message, &retry) == nil && retry.Attempt > 0 {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.talk.failed(retry.String())
		}
		return
	}
	if len(m.Result) > 0 {
		c.learn(m.Result)
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
	c.lastCall = hello.AgentInfo != nil && strings.EqualFold(hello.AgentInfo.Name, "opencode")
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
	answer, err := c.conn.Prompt(ctx, acp.PromptRequest{SessionId: session, Prompt: c.run.spec.promptBlocks(hello.AgentCapabilities)})
	if err != nil {
		return wrapError("the agent ended its turn with an error", err)
	}
	return c.ended(answer)
}

// claudeNotice is the notification by which Claude's adapter passes on what the program
// behind it says, if the session asks for it. Without it, the adapter is silent for the
// minutes in which a model does not respond.
const claudeNotice = "_claude/sdkMessage"

// extras returns what a session asks an agent for in addition to the protocol.
func extras(can acp.AgentCapabilities) map[string]any {
	if can.Meta["claudeCode"] == nil {
		return nil
	}
	return map[string]any{"claudeCode": map[string]any{"emitRawSDKMessages": []map[string]string{{"type": "system", "subtype": "api_retry"}}}}
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
			r, err = c.conn.ResumeSession(ctx, acp.ResumeSessionRequest{Meta: extras(can), Cwd: s.Dir, McpServers: servers, SessionId: id})
			modes = r.Modes
		} else if can.LoadSession {
			c.setReplaying(true)
			var r acp.LoadSessionResponse
			r, err = c.conn.LoadSession(ctx, acp.LoadSessionRequest{Meta: extras(can), Cwd: s.Dir, McpServers: servers, SessionId: id})
			c.setReplaying(false)
			modes = r.Modes
		}
		if err == nil {
			return id, modes, nil
		}
		c.note(wrapError("the agent cannot continue its session and starts a new one", err).Error())
		s.Prompt = s.Before + s.Prompt
	}
	r, err := c.conn.NewSession(ctx, acp.NewSessionRequest{Meta: extras(can), Cwd: s.Dir, McpServers: servers})
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

func wrapError(what string, err error) error {
	var sent *acp.RequestError
	if errors.As(err, &sent) {
		err = agentError{sent}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// agentError is an error that an agent sent. Its text is what the agent says, without the
// JSON around it, which the raw log has.
type agentError struct{ *acp.RequestError }

func (e agentError) Unwrap() error { return e.RequestError }

func (e agentError) Error() string {
	text := e.Message
	data, _ := e.Data.(map[string]any)
	for _, name := range []string{"details", "message"} { // where agents put the reason
		if more, _ := data[name].(string); more != "" && !strings.Contains(text, more) {
			text += ": " + more
		}
	}
	if text == "" {
		return e.RequestError.Error()
	}
	return text
}

// ended returns the error for a turn that ended without success.
func (c *client) ended(a acp.PromptResponse) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.talk.usage(c.usage(a))
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

// usage returns what the turn consumed. Cost was reported before.
func (c *client) usage(a acp.PromptResponse) usage.Report {
	u := c.talk.result.Usage
	switch models := quota(a.Meta); {
	case a.Usage != nil:
		u.Models, u.Coverage = []usage.Model{{Name: c.talk.model, Tokens: acpTokens(*a.Usage)}}, usage.Full
		if c.lastCall && len(c.talk.tools) > 0 {
			u.Coverage = usage.Part
		}
	case len(models) > 0:
		u.Models, u.Coverage = models, usage.Full
	}
	return u
}

// quota returns the usage by model that one agent reports in the reserved _meta field.
func quota(meta map[string]any) []usage.Model {
	data, err := json.Marshal(meta)
	if err != nil {
		return nil
	}
	type count struct {
		In  int64 `json:"input_tokens"`
		Out int64 `json:"output_tokens"`
	}
	var m struct {
		Quota struct {
			Tokens count `json:"token_count"`
			Models []struct {
				Model  string `json:"model"`
				Tokens count  `json:"token_count"`
			} `json:"model_usage"`
		} `json:"quota"`
	}
	json.Unmarshal(data, &m) // zero if the data has another shape
	var list []usage.Model
	for _, one := range m.Quota.Models {
		list = append(list, usage.Model{Name: one.Model, Tokens: usage.Tokens{In: one.Tokens.In, Out: one.Tokens.Out}})
	}
	if all := m.Quota.Tokens; len(list) == 0 && all != (count{}) {
		list = append(list, usage.Model{Tokens: usage.Tokens{In: all.In, Out: all.Out}})
	}
	return list
}

// learn takes the name of the session's model from a response to session/new,
// session/load or session/resume, which the SDK does not decode.
func (c *client) learn(raw json.RawMessage) {
	var result struct {
		Models struct {
			Current string `json:"currentModelId"`
		} `json:"models"`
		Options []struct {
			ID       string          `json:"id"`
			Category string          `json:"category"`
			Current  json.RawMessage `json:"currentValue"`
		} `json:"configOptions"`
	}
	if json.Unmarshal(raw, &result) != nil {
		return
	}
	name := result.Models.Current
	for _, o := range result.Options {
		if name == "" && (o.Category == "model" || o.ID == "model") {
			json.Unmarshal(o.Current, &name) // not a string: unknown
		}
	}
	if name != "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.talk.model = name
	}
}
