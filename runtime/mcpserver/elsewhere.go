package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/yosida95/uritemplate/v3"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

// elsewhere holds other servers' entries in the catalog, by key. If it is empty,
// its functions are nil.
type elsewhere struct {
	*contract.Elsewhere
	prompts, resources, templates map[string]json.RawMessage
}

// publishElsewhere indexes e, which may be nil, in addition to the entries that p
// already contains. Entries that cannot be published are left out with a log
// message.
func publishElsewhere(p *published, e *contract.Elsewhere, log *slog.Logger) *elsewhere {
	if e == nil {
		return &elsewhere{}
	}
	return &elsewhere{
		Elsewhere: e,
		prompts: keyed(log, contract.PromptEntry, e.Prompts, func(shown *mcp.Prompt, key string) bool {
			return shown.Name == key && key != anyPrompt && p.prompts[key] == nil
		}),
		resources: keyed(log, contract.ResourceEntry, e.Resources, func(shown *mcp.Resource, uri string) bool {
			at, err := url.Parse(uri)
			return shown.URI == uri && err == nil && at.Scheme != "" && p.resources[uri] == nil
		}),
		templates: keyed(log, contract.TemplateEntry, e.Templates, func(shown *mcp.ResourceTemplate, template string) bool {
			_, err := uritemplate.New(template)
			return shown.URITemplate == template && err == nil && template != anyURI
		}),
	}
}

// keyed indexes the entries that decode into a T that fits its key.
func keyed[T any](log *slog.Logger, kind contract.EntryKind, entries []contract.Entry, fits func(shown *T, key string) bool) map[string]json.RawMessage {
	all := make(map[string]json.RawMessage, len(entries))
	for _, e := range entries {
		shown := new(T)
		err := contract.PublishableEntry(kind, e)
		if err == nil {
			err = json.Unmarshal(e.Published, shown)
		}
		if err == nil && (all[e.Key] != nil || !fits(shown, e.Key)) {
			err = errors.New("its key is invalid or used twice")
		}
		if err != nil {
			log.Warn("skipped another server's entry", "list", kind, "key", e.Key, "error", err)
			continue
		}
		all[e.Key] = e.Published
	}
	return all
}

// anyURI is a template that matches every URI. It is registered with the SDK so
// that reads of unlisted resources reach readElsewhere. No client sees it.
const anyURI = "{+deskhand}"

// anyPrompt is the name of a prompt that is registered with the SDK for the same purpose.
const anyPrompt = "{+deskhand}"

// announceElsewhere updates the SDK's lists of other servers' entries from the
// old catalog to the new one. It runs after the lists of our own entries have
// been updated.
func (s *Server) announceElsewhere(old, next *published) {
	was, is := old.elsewhere, next.elsewhere
	for name, shown := range is.prompts {
		if string(was.prompts[name]) != string(shown) || old.prompts[name] != nil {
			s.sdk.AddPrompt(decoded[mcp.Prompt](shown), s.getPrompt)
		}
	}
	for uri, shown := range is.resources {
		if string(was.resources[uri]) != string(shown) || old.resources[uri] != nil {
			s.sdk.AddResource(decoded[mcp.Resource](shown), s.readResource)
		}
	}
	for template, shown := range is.templates {
		if string(was.templates[template]) != string(shown) {
			s.sdk.AddResourceTemplate(decoded[mcp.ResourceTemplate](shown), s.readResource)
		}
	}
	if names := left(was.prompts, is.prompts, next.prompts); names != nil {
		s.sdk.RemovePrompts(names...)
	}
	if uris := left(was.resources, is.resources, next.resources); uris != nil {
		s.sdk.RemoveResources(uris...)
	}
	if templates := left[contract.Resource](was.templates, is.templates, nil); templates != nil {
		s.sdk.RemoveResourceTemplates(templates...)
	}
	switch {
	case was.Elsewhere == nil && is.Elsewhere != nil:
		s.announceAny()
	case was.Elsewhere != nil && is.Elsewhere == nil:
		s.sdk.RemovePrompts(anyPrompt)
		s.sdk.RemoveResourceTemplates(anyURI)
	}
}

// announceAny registers what stands for entries that the SDK does not know. It notifies
// clients that the lists have changed.
func (s *Server) announceAny() {
	s.sdk.AddPrompt(&mcp.Prompt{Name: anyPrompt}, s.getPrompt)
	s.sdk.AddResourceTemplate(&mcp.ResourceTemplate{Name: "any", URITemplate: anyURI}, s.readResource)
}

// decoded decodes an entry that publishElsewhere has already decoded once.
func decoded[T any](raw json.RawMessage) *T {
	shown := new(T)
	_ = json.Unmarshal(raw, shown)
	return shown
}

// left returns the keys that are in the old map, but neither in the new map nor
// among our own.
func left[T any](old, next map[string]json.RawMessage, own map[string]*T) (keys []string) {
	for key := range old {
		if next[key] == nil && own[key] == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// lacks reports whether a resource cannot exist on any server.
func (p *published) lacks(uri string) bool {
	return p.resources[uri] == nil && p.elsewhere.Elsewhere == nil
}

func (s *Server) announceCompletion(c *mcp.ServerCapabilities) {
	if c != nil && s.current.Load().elsewhere.Elsewhere != nil {
		c.Completions = &mcp.CompletionCapabilities{}
	}
}

// foreignResult is an SDK result in which another server's members replace some
// members.
type foreignResult struct {
	mcp.Result
	members map[string]json.RawMessage
}

// withMembers adds members to a result for req that the SDK would not keep
// unchanged.
func withMembers(req mcp.Request, r mcp.Result, members map[string]json.RawMessage) mcp.Result {
	if req.GetParams().GetMeta()[mcp.MetaKeyProtocolVersion] != nil { // the SDK adds resultType to its own types only
		members["resultType"] = json.RawMessage(`"complete"`)
	}
	return foreignResult{r, members}
}

func (f foreignResult) MarshalJSON() ([]byte, error) {
	raw, err := json.Marshal(f.Result)
	for name, value := range f.members {
		if err == nil {
			raw, err = contract.With(raw, name, value)
		}
	}
	return raw, err
}

// listedElsewhere adds other servers' entries to a list, unchanged. The SDK would
// drop unknown members, and members that are false.
func (s *Server) listedElsewhere(ctx context.Context, req mcp.Request, result mcp.Result) mcp.Result {
	now := s.current.Load()
	if now.elsewhere.Elsewhere == nil {
		return result
	}
	e := now.elsewhereFor(ctx)
	switch r := result.(type) {
	case *mcp.ListPromptsResult:
		return listed(req, r, "prompts", r.Prompts, e.prompts, func(p *mcp.Prompt) string { return p.Name })
	case *mcp.ListResourcesResult:
		return listed(req, r, "resources", r.Resources, e.resources, func(r *mcp.Resource) string { return r.URI })
	case *mcp.ListResourceTemplatesResult:
		return listed(req, r, "resourceTemplates", r.ResourceTemplates, e.templates, func(t *mcp.ResourceTemplate) string { return t.URITemplate })
	}
	return result
}

func listed[T any](req mcp.Request, r mcp.Result, member string, all []*T, shown map[string]json.RawMessage, key func(*T) string) mcp.Result {
	items := make([]json.RawMessage, 0, len(all))
	for _, one := range all {
		raw := shown[key(one)]
		if key(one) == anyURI || key(one) == anyPrompt {
			continue
		}
		if raw == nil { // one of our own
			var err error
			if raw, err = encode(one); err != nil {
				return r
			}
		}
		items = append(items, raw)
	}
	raw, err := encode(items)
	if err != nil {
		return r
	}
	return withMembers(req, r, map[string]json.RawMessage{member: raw})
}

func (s *Server) promptElsewhere(ctx context.Context, e *elsewhere, req *mcp.GetPromptRequest) (_ *mcp.GetPromptResult, err error) {
	ctx, done := s.calls.untilGone(ctx, keyOf(req.Extra))
	defer done()
	defer s.recovered("get prompt "+req.Params.Name, &err)
	caller := s.callerOn(asCall(req, "prompts/get "+req.Params.Name, req.Params.Arguments, req.Params.InputResponses, req.Params.RequestState))
	raw, err := e.Prompt(ctx, caller, req.Params.Name, req.Params.Arguments)
	result := &mcp.GetPromptResult{}
	if again := new(inputRequired); errors.As(err, &again) {
		result.InputRequests, result.RequestState = again.requests, again.state
		return result, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, result)
	}
	if err != nil {
		return nil, s.elsewhereError(ctx, "get prompt "+req.Params.Name, err)
	}
	return result, nil
}

func (s *Server) readElsewhere(ctx context.Context, e *elsewhere, req *mcp.ReadResourceRequest) (_ *mcp.ReadResourceResult, err error) {
	if e.Elsewhere == nil {
		return nil, notFound(req.Params)
	}
	ctx, done := s.calls.untilGone(ctx, keyOf(req.Extra))
	defer done()
	defer s.recovered("read resource "+req.Params.URI, &err)
	caller := s.callerOn(asCall(req, "resources/read "+req.Params.URI, nil, req.Params.InputResponses, req.Params.RequestState))
	raw, err := e.Read(ctx, caller, req.Params.URI)
	result := &mcp.ReadResourceResult{}
	if again := new(inputRequired); errors.As(err, &again) {
		result.InputRequests, result.RequestState = again.requests, again.state
		return result, nil
	}
	if err == nil && raw == nil {
		return nil, notFound(req.Params)
	}
	if err == nil {
		err = json.Unmarshal(raw, result)
	}
	if err != nil {
		return nil, s.elsewhereError(ctx, "read resource "+req.Params.URI, err)
	}
	if result.Contents == nil {
		result.Contents = []*mcp.ResourceContents{}
	}
	return result, nil
}

func (s *Server) complete(ctx context.Context, req *mcp.CompleteRequest) (_ mcp.Result, err error) {
	ctx, done := s.calls.untilGone(ctx, keyOf(req.Extra))
	defer done()
	defer s.recovered("complete", &err)
	if req.Params.Ref == nil || req.Params.Argument.Name == "" {
		return nil, invalidParams("ref and argument.name are required")
	}
	c := contract.Completing{Prompt: req.Params.Ref.Name, Template: req.Params.Ref.URI, Argument: req.Params.Argument.Name, Value: req.Params.Argument.Value}
	if req.Params.Context != nil {
		c.Others = req.Params.Context.Arguments
	}
	none := json.RawMessage(`{"values":[]}`)
	now := s.current.Load()
	e := now.elsewhereFor(ctx)
	if now.prompts[c.Prompt] != nil || e.Elsewhere == nil { // our own prompts suggest nothing
		return withMembers(req, &mcp.CompleteResult{}, map[string]json.RawMessage{"completion": none}), nil
	}
	raw, err := e.Complete(ctx, s.callerOn(asCall(req, "completion/complete", nil, nil, "")), c)
	if err != nil {
		return nil, s.elsewhereError(ctx, "complete", err)
	}
	if raw == nil {
		return nil, invalidParams("no such prompt or resource template: %.200q", c.Prompt+c.Template)
	}
	var answer struct{ Completion json.RawMessage }
	if err := json.Unmarshal(raw, &answer); err != nil || answer.Completion == nil {
		answer.Completion = none
	}
	return withMembers(req, &mcp.CompleteResult{}, map[string]json.RawMessage{"completion": answer.Completion}), nil
}

// asCall presents a request that is not a tool call as one, so the user can be
// asked and the client can receive progress.
func asCall[P mcp.Params](req *mcp.ServerRequest[P], what string, args map[string]string, replies mcp.InputResponseMap, state string) *mcp.CallToolRequest {
	raw, err := json.Marshal(args)
	if err != nil || args == nil {
		raw = nil
	}
	params := &mcp.CallToolParamsRaw{Name: what, Arguments: raw, InputResponses: replies, RequestState: state}
	params.SetMeta(req.Params.GetMeta())
	return &mcp.CallToolRequest{Session: req.Session, Params: params, Extra: req.Extra}
}

// elsewhereError returns the error for the client if another server did not return
// a prompt or resource.
func (s *Server) elsewhereError(ctx context.Context, doing string, err error) error {
	switch f := fault.Of(err); {
	case f != nil && f.Code == "not_found":
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: worded(f)}
	case f != nil:
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: worded(f)}
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "cancelled"}
	}
	return s.protocolError(doing, err)
}
