package executor

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/coder/acp-go-sdk"
)

// SessionUpdate is never called, because updates are read before the SDK sees
// them.
func (c *client) SessionUpdate(context.Context, acp.SessionNotification) error { return nil }

// RequestPermission asks a person whether the agent may do something. It allows
// deskhand's own tools without asking. Otherwise an agent could not ask a
// question without first asking for permission.
func (c *client) RequestPermission(_ context.Context, p acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	raw, err := json.Marshal(p.ToolCall)
	if err != nil {
		return acp.RequestPermissionResponse{}, err
	}
	call := c.shown(raw)
	choose := func(kinds ...acp.PermissionOptionKind) (acp.RequestPermissionResponse, bool) {
		for _, kind := range kinds {
			for _, o := range p.Options {
				if o.Kind == kind {
					return selected(o.OptionId), true
				}
			}
		}
		return acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Cancelled: &acp.RequestPermissionOutcomeCancelled{}}}, false
	}
	if call.ours {
		if answer, ok := choose(acp.PermissionOptionKindAllowAlways, acp.PermissionOptionKindAllowOnce); ok {
			return answer, nil
		}
	}
	q := Question{Permission: true, Title: "Allow " + call.proposal.heading(call.name) + "?", Message: call.said, Tool: call.name, Proposal: &call.proposal}
	for _, o := range p.Options {
		q.Options = append(q.Options, Option{ID: string(o.OptionId), Label: o.Name, Kind: string(o.Kind)})
	}
	call.proposal.Call = withOption(call.rule, q.Options)
	c.mark(call.id, "pending_approval")
	a := c.run.ask(c.asking, q)
	switch a.Outcome {
	case "accept":
		for _, o := range p.Options {
			if string(o.OptionId) == a.Option {
				if a.Rule != "" {
					c.mark(call.id, "created")
					c.note("allowed " + a.Rule)
					allowed := selected(o.OptionId)
					allowed.Meta = map[string]any{"deskhand": map[string]any{"allowed": a.Rule}}
					return allowed, nil
				}
				if strings.HasPrefix(string(o.Kind), "reject") {
					c.mark(call.id, "denied")
				} else {
					c.mark(call.id, "created")
				}
				return selected(o.OptionId), nil
			}
		}
	case "decline":
		c.mark(call.id, "denied")
		answer, _ := choose(acp.PermissionOptionKindRejectOnce, acp.PermissionOptionKindRejectAlways)
		return answer, nil
	}
	c.mark(call.id, "timed_out")
	answer, _ := choose()
	return answer, nil
}

func selected(id acp.PermissionOptionId) acp.RequestPermissionResponse {
	return acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Selected: &acp.RequestPermissionOutcomeSelected{OptionId: id}}}
}

// UnstableCreateElicitation puts the agent's own question to a person.
func (c *client) UnstableCreateElicitation(_ context.Context, p acp.UnstableCreateElicitationRequest) (acp.UnstableCreateElicitationResponse, error) {
	var q Question
	switch {
	case p.Form != nil:
		schema, err := c.schemas.of(p.Form.RequestedSchema)
		if err != nil {
			return acp.UnstableCreateElicitationResponse{}, err
		}
		q = Question{Title: p.Form.Message, Schema: schema}
	case p.Url != nil:
		q = Question{Title: p.Url.Message, URL: p.Url.Url}
	}
	c.note("asked: " + q.Title)
	a := c.run.ask(c.asking, q)
	if a.Refused != "" {
		c.note("the question was not asked: " + a.Refused)
		return acp.UnstableCreateElicitationResponse{}, acp.NewInvalidParams(map[string]any{"message": a.Refused})
	}
	switch a.Outcome {
	case "accept":
		return acp.UnstableCreateElicitationResponse{Accept: &acp.UnstableCreateElicitationAccept{Content: a.Values}}, nil
	case "decline":
		return acp.UnstableCreateElicitationResponse{Decline: &acp.UnstableCreateElicitationDecline{}}, nil
	}
	return acp.UnstableCreateElicitationResponse{Cancel: &acp.UnstableCreateElicitationCancel{}}, nil
}

// rawSchemas keeps the schemas of forms as the agent wrote them. The SDK
// decodes the schemas into maps, and thereby loses the order of fields and any
// field that it does not recognize.
type rawSchemas struct {
	mu   sync.Mutex
	seen map[string]json.RawMessage // key: the JSON of the SDK's decoded schema
}

// maxSchemas is the maximum number of schemas to keep, in case an agent asks
// without waiting for answers.
const maxSchemas = 100

func (s *rawSchemas) see(raw json.RawMessage) {
	var typed acp.UnstableElicitationSchema
	if json.Unmarshal(raw, &typed) != nil {
		return // the SDK rejects the message
	}
	key, err := json.Marshal(typed)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil || len(s.seen) >= maxSchemas {
		s.seen = map[string]json.RawMessage{}
	}
	s.seen[string(key)] = slices.Clone(raw)
}

// of returns the original form of a schema that the SDK has decoded.
func (s *rawSchemas) of(typed acp.UnstableElicitationSchema) (json.RawMessage, error) {
	key, err := json.Marshal(typed)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if raw, ok := s.seen[string(key)]; ok {
		return raw, nil
	}
	return key, nil
}

// UnstableCompleteElicitation does nothing, because no call waits until a page
// has been completed.
func (c *client) UnstableCompleteElicitation(context.Context, acp.UnstableCompleteElicitationNotification) error {
	return nil
}

// ours matches the names that agents use for deskhand's own tools.
var ours = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:mcp__deskhand__[a-z_]+|mcp\.deskhand\.[a-z_]+|deskhand[._/][a-z_]+|Tool: deskhand/[a-z_]+|[a-z_]+ \(deskhand MCP Server\))$`)
})

var errNotOffered = errors.New("deskhand does not allow this for agents")

func (c *client) ReadTextFile(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	return acp.ReadTextFileResponse{}, errNotOffered
}
func (c *client) WriteTextFile(context.Context, acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, errNotOffered
}
func (c *client) CreateTerminal(context.Context, acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	return acp.CreateTerminalResponse{}, errNotOffered
}
func (c *client) KillTerminal(context.Context, acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	return acp.KillTerminalResponse{}, errNotOffered
}
func (c *client) TerminalOutput(context.Context, acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	return acp.TerminalOutputResponse{}, errNotOffered
}
func (c *client) ReleaseTerminal(context.Context, acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	return acp.ReleaseTerminalResponse{}, errNotOffered
}
func (c *client) WaitForTerminalExit(context.Context, acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	return acp.WaitForTerminalExitResponse{}, errNotOffered
}
