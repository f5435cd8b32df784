package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// answer is a tool's answer in the protocol's terms.
type answer struct {
	text       []string
	content    json.RawMessage // replaces text; nil if text is used
	structured json.RawMessage // on one line; nil if there is none
	meta       map[string]any
	isError    bool
	// If again is not nil, it replaces the answer: the client must then show
	// something and repeat the call.
	again *inputRequired
	// delivered, if not nil, is called when it is known whether the client received
	// the answer.
	delivered func(ok bool)
}

// run calls a tool and returns its answer or refusal.
func (s *Server) run(ctx context.Context, tool *contract.Tool, caller contract.Caller, args json.RawMessage) answer {
	return s.outcome(ctx, tool, func(ctx context.Context) (contract.Result, error) { return tool.Call(ctx, caller, args) })
}

// outcome runs call for a tool that is open to the caller, and returns its answer or
// refusal. This is the only place where an error becomes an MCP result: a fault shows its message and hint,
// and any other error shows an ID whose log line has the details.
func (s *Server) outcome(ctx context.Context, tool *contract.Tool, call func(context.Context) (contract.Result, error)) (a answer) {
	defer func() {
		if r := recover(); r != nil {
			a = s.failed(tool, fmt.Errorf("panic: %v\n%s", r, debug.Stack()))
		}
	}()
	if f := closed(ctx, tool); f != nil {
		return refusal(tool, f)
	}
	result, err := call(ctx)
	if err != nil {
		if again := new(inputRequired); errors.As(err, &again) {
			return answer{again: again}
		}
		if f := fault.Of(err); f != nil {
			return refusal(tool, f)
		}
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			f := fault.New("cancelled", "cancelled", "")
			if tool.Envelope {
				f.Hint, f.Retryable = "call "+tool.Name+" again", true
			}
			return refusal(tool, f)
		}
		if f := s.expected(err); f != nil {
			s.opts.Logger.Warn("tool failed", "tool", tool.Name, "code", f.Code, "error", err)
			return refusal(tool, f)
		}
		return s.failed(tool, err)
	}
	a.text, a.meta, a.content, a.isError, a.delivered = result.Text, result.Meta, result.Content, result.Refused, result.Delivered
	if result.Structured != nil {
		if a.structured, err = oneLine(result.Structured); err != nil {
			return s.failed(tool, fmt.Errorf("encode answer: %w", err))
		}
	}
	return a
}

func (s *Server) expected(err error) *fault.Fault {
	if s.opts.Expected == nil {
		return nil
	}
	return s.opts.Expected(err)
}

func (s *Server) failed(tool *contract.Tool, err error) answer {
	f := fault.New("internal", s.internal("call tool "+tool.Name, err), "")
	if tool.Envelope {
		f.Hint, f.Retryable = "call "+tool.Name+" again; if it fails again, give this ID to the server's operator, who can find it in the log", true
	}
	return refusal(tool, f)
}

// refusal returns an expected failure in the tool's own form.
func refusal(tool *contract.Tool, f *fault.Fault) answer {
	if tool.Envelope {
		raw, err := encode(envelope{f.Code, f.Message, f.Retryable, f.Hint, f.Details})
		if err == nil {
			return answer{text: []string{string(raw)}, structured: raw, isError: true}
		}
	}
	return answer{text: []string{worded(f)}, isError: true}
}

// envelope is a fault in the form that programs read.
type envelope struct {
	Code      string         `json:"code"`
	Message   string         `json:"message"`
	Retryable bool           `json:"retryable"`
	Hint      string         `json:"hint"`
	Details   map[string]any `json:"details,omitempty"`
}

// internal logs err and returns the message that replaces it for the client.
func (s *Server) internal(doing string, err error) string {
	id := rand.Text()[:8]
	s.opts.Logger.Error("internal error", "error_id", id, "doing", doing, "error", err)
	return "internal error (id " + id + ")"
}

func worded(f *fault.Fault) string {
	if f.Hint == "" {
		return f.Message
	}
	return strings.TrimSuffix(f.Message, ".") + ". " + f.Hint
}

// encode marshals v without escaping <, > and &, which are frequent in docs.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// oneLine marshals v on one line. It trusts JSON that the tool has marshalled
// itself and does not parse it again, because that would take as long as the rest
// of a short call.
func oneLine(v any) (json.RawMessage, error) {
	raw, ok := v.(json.RawMessage)
	if ok && len(raw) > 0 && bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw, nil
	}
	return encode(v) // this compacts a RawMessage
}

func (s *Server) callTool(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if name, ok := ctx.Value(calledKey{}).(string); ok {
		req = renamed(req, name)
	}
	tool := s.current.Load().toolFor(ctx, req.Params.Name)
	if tool == nil || tool.OnlyViews && !showsViews(req) { // or it was removed after the SDK looked it up
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", req.Params.Name)}
	}
	key := keyOf(req.Extra)
	ctx, done := s.calls.untilGone(ctx, key)
	defer done()
	caller, began := s.callerOn(req), time.Now()
	if result, started, err := s.startLater(ctx, tool, caller, req); started {
		return result, err
	}
	a := s.run(ctx, tool, caller, req.Params.Arguments)
	s.watchPatience(key, caller, time.Since(began))
	s.tellDelivered(ctx, key, a.delivered)
	return s.callResult(tool, a)
}

// tellDelivered arranges that delivered, which may be nil, is called to report
// whether the client received the answer.
func (s *Server) tellDelivered(ctx context.Context, key string, delivered func(ok bool)) {
	switch {
	case delivered == nil:
	case ctx.Err() != nil:
		delivered(false)
	default:
		s.calls.whenWritten(key, delivered)
	}
}

// callResult returns an answer in the SDK's form.
func (s *Server) callResult(tool *contract.Tool, a answer) (*mcp.CallToolResult, error) {
	if a.again != nil {
		return a.again.result(), nil
	}
	result, err := a.result()
	if err != nil {
		return nil, s.protocolError("call tool "+tool.Name, err)
	}
	if a.structured != nil {
		result.StructuredContent = a.structured
	}
	if len(a.meta) > 0 {
		result.Meta = maps.Clone(a.meta)
	}
	return result, nil
}

// result returns an answer's content in the SDK's form, without structured content
// and metadata.
func (a *answer) result() (*mcp.CallToolResult, error) {
	result := &mcp.CallToolResult{Content: make([]mcp.Content, len(a.text))}
	for i, text := range a.text {
		result.Content[i] = &mcp.TextContent{Text: text}
	}
	if a.content != nil {
		if err := json.Unmarshal(fmt.Appendf(nil, `{"content":%s}`, a.content), result); err != nil {
			return nil, fmt.Errorf("read content to pass on: %w", err)
		}
	}
	result.IsError = a.isError
	return result, nil
}

func callerOf(client *mcp.Implementation) contract.Caller {
	if client == nil {
		return contract.Caller{}
	}
	return contract.Caller{Name: elicit.CleanName(client.Name), Version: elicit.CleanName(client.Version)}
}

func (s *Server) getPrompt(ctx context.Context, req *mcp.GetPromptRequest) (_ *mcp.GetPromptResult, err error) {
	if name, ok := ctx.Value(calledKey{}).(string); ok {
		req = calling(req, name)
	}
	now := s.current.Load()
	prompt := now.prompts[req.Params.Name]
	if !open(ctx, s.promptScope(req.Params.Name)) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown prompt %q", req.Params.Name)}
	}
	if e := now.elsewhereFor(ctx); prompt == nil && e.prompts[req.Params.Name] != nil {
		return s.promptElsewhere(ctx, e, req)
	}
	if prompt == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown prompt %q", req.Params.Name)}
	}
	for _, a := range prompt.Arguments {
		if _, ok := req.Params.Arguments[a.Name]; a.Required && !ok {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("Missing required prompt argument '%s'", a.Name)}
		}
	}
	defer s.recovered("render prompt "+prompt.Name, &err)
	messages, err := prompt.Render(req.Params.Arguments)
	if err != nil {
		return nil, s.protocolError("render prompt "+prompt.Name, err)
	}
	result := &mcp.GetPromptResult{Description: prompt.Description, Messages: make([]*mcp.PromptMessage, len(messages))}
	for i, m := range messages {
		result.Messages[i] = &mcp.PromptMessage{Role: mcp.Role(cmp.Or(m.Role, "user")), Content: &mcp.TextContent{Text: m.Text}}
	}
	return result, nil
}

func (s *Server) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (_ *mcp.ReadResourceResult, err error) {
	now := s.current.Load()
	r := now.resources[req.Params.URI]
	if !open(ctx, s.resourceScope(req.Params.URI)) {
		return nil, notFound(req.Params)
	}
	if r == nil {
		return s.readElsewhere(ctx, now.elsewhereFor(ctx), req)
	}
	if r.View && !showsViews(req) {
		return nil, notFound(req.Params)
	}
	defer s.recovered("read resource "+r.URI, &err)
	text, err := r.Read(ctx)
	if err != nil {
		return nil, s.protocolError("read resource "+r.URI, err)
	}
	contents := &mcp.ResourceContents{URI: r.URI, MIMEType: r.MIMEType, Text: text}
	if r.View {
		contents.MIMEType, contents.Meta = viewType, viewMeta()
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
}

// notFound returns the error with the code for the request's era. Up to
// 2025-11-25, the error has a code of its own.
func notFound(p *mcp.ReadResourceParams) error {
	code := int64(jsonrpc.CodeInvalidParams)
	if p.Meta[mcp.MetaKeyProtocolVersion] == nil {
		code = -32002
	}
	return &jsonrpc.Error{Code: code, Message: "Resource not found: " + p.URI}
}

func (s *Server) recovered(doing string, err *error) {
	if r := recover(); r != nil {
		*err = s.protocolError(doing, fmt.Errorf("panic: %v\n%s", r, debug.Stack()))
	}
}

func (s *Server) protocolError(doing string, err error) error {
	if f := fault.Of(err); f != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: worded(f)}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: s.internal(doing, err)}
}

// middleware changes those results of the SDK that do not meet our needs. It sets
// the current instructions, returns lists that are never half replaced, sorts tools
// in the catalog's order, adds unannounced tools, and names the URI in "not found".
func (s *Server) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		ctx = s.from(ctx, req)
		if err := s.untilReady(ctx, method); err != nil {
			return nil, err
		}
		switch method {
		case "initialize", "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list":
			s.met(ctx, method, req)
			s.lists.RLock()
			defer s.lists.RUnlock()
		case "tasks/get", "tasks/update", "tasks/cancel":
			if about, ok := req.(*mcp.ServerRequest[*taskParams]); ok {
				return s.serveTask(ctx, method, about)
			}
		case "subscriptions/listen":
			if listen, ok := req.(*mcp.SubscriptionsListenRequest); ok {
				return s.listen(ctx, listen, func(ctx context.Context) (mcp.Result, error) { return next(ctx, method, req) })
			}
		case "resources/read":
			if p, ok := req.GetParams().(*mcp.ReadResourceParams); ok && s.current.Load().lacks(p.URI) {
				return nil, notFound(p)
			}
		case "tools/call":
			if call, ok := req.(*mcp.CallToolRequest); ok {
				ctx, req = s.current.Load().known(ctx, call)
			}
		case "prompts/get":
			if get, ok := req.(*mcp.GetPromptRequest); ok {
				ctx, req = s.current.Load().knownPrompt(ctx, get)
			}
		case "completion/complete":
			if r, ok := req.(*mcp.CompleteRequest); ok && open(ctx, foreignScope) && s.current.Load().elsewhere.Elsewhere != nil {
				return s.complete(ctx, r)
			}
		}
		result, err := next(ctx, method, req)
		if err != nil {
			return nil, err
		}
		return s.shaped(ctx, req, result), nil
	}
}

// untilReady waits for [Options.Ready], unless the answer to method does not depend on
// the catalog or, as a greeting, must come at once.
func (s *Server) untilReady(ctx context.Context, method string) error {
	kind, _, _ := strings.Cut(method, "/")
	if !slices.Contains([]string{"tools", "prompts", "resources", "completion"}, kind) {
		return nil
	}
	select {
	case <-s.opts.Ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ready reports whether [Options.Ready] does not make anything wait.
func (s *Server) ready() bool {
	select {
	case <-s.opts.Ready:
		return true
	default:
		return false
	}
}

// shaped changes a result for the caller of ctx.
func (s *Server) shaped(ctx context.Context, req mcp.Request, result mcp.Result) mcp.Result {
	switch r := result.(type) {
	case *mcp.InitializeResult:
		r.Instructions = s.current.Load().instructions(ctx)
		s.announceCompletion(r.Capabilities)
		s.http.opened(req.GetSession(), access.Of(ctx).Name)
	case *mcp.DiscoverResult:
		r.Instructions = s.current.Load().instructions(ctx)
		s.announceCompletion(r.Capabilities)
		s.announceTasks(r)
	case *mcp.CallToolResult:
		return created(r)
	case *mcp.ListToolsResult:
		current := s.current.Load()
		if r.NextCursor == "" {
			r.Tools = append(r.Tools, current.unannounced...)
		}
		order := current.toolOrder
		slices.SortFunc(r.Tools, func(a, b *mcp.Tool) int { return order[a.Name] - order[b.Name] })
		r.Tools = current.personal(ctx, s.openTools(ctx, s.toolsFor(req, r.Tools)), r.NextCursor == "")
	case *mcp.ListResourcesResult:
		r.Resources = s.openResources(ctx, s.resourcesFor(req, s.current.Load().personalResources(ctx, r)))
		return s.listedElsewhere(ctx, req, result)
	case *mcp.ListPromptsResult:
		r.Prompts = s.openPrompts(ctx, s.current.Load().personalPrompts(ctx, r))
		return s.listedElsewhere(ctx, req, result)
	case *mcp.ListResourceTemplatesResult:
		r.ResourceTemplates = s.openTemplates(ctx, s.current.Load().personalTemplates(ctx, r))
		return s.listedElsewhere(ctx, req, result)
	}
	return result
}
