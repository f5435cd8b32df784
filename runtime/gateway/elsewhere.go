package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// completeTime is the time limit for a completion. After that, the person has
// probably typed something else.
const completeTime = 10 * time.Second

// prompt gets a filled-in prompt from an upstream.
func (r *routes) prompt(ctx context.Context, caller contract.Caller, name string, args map[string]string) (json.RawMessage, error) {
	to, ok := r.prompts[name]
	if !ok {
		return nil, fault.New("not_found", fmt.Sprintf("unknown prompt %q", name), "")
	}
	return to.u.fetch(ctx, caller, name, func(ctx context.Context, s *session) (json.RawMessage, error) {
		result, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: to.name, Arguments: args})
		if err != nil {
			return nil, err
		}
		for _, m := range result.Messages {
			to.u.relink([]mcp.Content{m.Content})
		}
		messages := result.Messages
		if messages == nil {
			messages = []*mcp.PromptMessage{}
		}
		return to.u.answer(result.Meta, map[string]any{"description": result.Description, "messages": messages})
	})
}

// read reads a resource from an upstream.
func (r *routes) read(ctx context.Context, caller contract.Caller, uri string) (json.RawMessage, error) {
	u, original := r.to(uri)
	if u == nil {
		return nil, nil
	}
	return u.fetch(ctx, caller, textutil.Shorten(uri, 200), func(ctx context.Context, s *session) (json.RawMessage, error) {
		result, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: original})
		if err != nil {
			return nil, err
		}
		contents := make([]*mcp.ResourceContents, len(result.Contents))
		for i, c := range result.Contents { // the SDK may keep the data that it returned
			shown := *c
			if shown.URI == original {
				shown.URI = uri
			} else {
				shown.URI = r.shown(u, c.URI)
			}
			contents[i] = &shown
		}
		return u.answer(result.Meta, map[string]any{"contents": contents})
	})
}

// complete gets suggested values from an upstream.
func (r *routes) complete(ctx context.Context, caller contract.Caller, c contract.Completing) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	to, ref := r.prompts[c.Prompt], &mcp.CompleteReference{Type: "ref/prompt"}
	ref.Name = to.name
	if c.Template != "" {
		ref = &mcp.CompleteReference{Type: "ref/resource"}
		for _, t := range r.templates {
			if t.shown == c.Template {
				to.u, ref.URI = t.u, t.original
				break
			}
		}
	}
	if to.u == nil {
		return nil, nil
	}
	none := json.RawMessage(`{"completion":{"values":[]}}`)
	if usable, err := to.u.usable(ctx); err != nil || usable == nil && to.u.Scope != NoScope {
		return none, err // a suggestion is not worth a sign-in request
	}
	return to.u.fetch(ctx, caller, "completion", func(ctx context.Context, s *session) (json.RawMessage, error) {
		if opened := s.InitializeResult(); opened == nil || opened.Capabilities == nil || opened.Capabilities.Completions == nil {
			return none, nil
		}
		params := &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: c.Argument, Value: c.Value}}
		if len(c.Others) > 0 {
			params.Context = &mcp.CompleteContext{Arguments: c.Others}
		}
		result, err := s.Complete(ctx, params)
		if err != nil {
			return nil, err
		}
		raw, err := to.u.rawCache.entry("completion", &result.Completion)
		if err != nil {
			return nil, err
		}
		return to.u.answer(nil, map[string]any{"completion": raw})
	})
}

// fetch requests something other than a tool from the upstream. Like
// [upstream.call], it uses a credential and asks a person for a missing one. name
// is shown to people.
func (u *upstream) fetch(ctx context.Context, caller contract.Caller, name string, get func(context.Context, *session) (json.RawMessage, error)) (json.RawMessage, error) {
	result, err := u.handle(ctx, &call{caller: caller, name: name, get: get})
	if err != nil {
		return nil, err
	}
	if result.Refused {
		return nil, fault.New("not_connected", strings.Join(result.Text, " "), "")
	}
	return result.Structured.(json.RawMessage), nil
}

// answer returns the upstream's answer with its meta, except for the protocol's own
// members.
func (u *upstream) answer(meta mcp.Meta, members map[string]any) (json.RawMessage, error) {
	if meta = foreignMeta(meta); len(meta) > 0 {
		members["_meta"] = meta
	}
	raw, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("pass on the answer from %s: %w", u.Name, err)
	}
	if len(raw) > u.in.most() {
		return nil, fault.New("too_large", fmt.Sprintf("the answer from %s is %d bytes long; the maximum is %d", u.Title, len(raw), u.in.most()), "request a part of it")
	}
	return raw, nil
}

func foreignMeta(meta mcp.Meta) mcp.Meta {
	meta = maps.Clone(meta)
	maps.DeleteFunc(meta, func(name string, _ any) bool { return strings.HasPrefix(name, "io.modelcontextprotocol/") })
	return meta
}
