package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
)

// published is an indexed catalog. It is immutable, except for theirs, a cache.
type published struct {
	tools        map[string]*contract.Tool
	prompts      map[string]*contract.Prompt
	resources    map[string]*contract.Resource
	toolOrder    map[string]int
	unannounced  []*mcp.Tool // in order; not registered with the SDK
	standIn      string      // a tool that the SDK knows; empty if there is none
	elsewhere    *elsewhere
	elsewhereOf  func(ctx context.Context, person string) *contract.Elsewhere
	theirs       sync.Map // *elsewhere by person
	log          *slog.Logger
	later        []*contract.Later // one per kind
	toolsOf      func(ctx context.Context, person string) []contract.Tool
	instructions func(context.Context) string
	alwaysLoad   bool // [Options.AlwaysLoad]
}

// publish validates c and indexes a copy. An entry that cannot be published is an
// error, or is left out with a log message if it belongs to another server.
func publish(c contract.Catalog, o Options) (*published, error) {
	log := o.Logger
	p := &published{
		tools:        make(map[string]*contract.Tool, len(c.Tools)),
		prompts:      make(map[string]*contract.Prompt, len(c.Prompts)),
		resources:    make(map[string]*contract.Resource, len(c.Resources)),
		toolOrder:    make(map[string]int, len(c.Tools)),
		instructions: instructions(&c),
		toolsOf:      c.ToolsOf,
		elsewhereOf:  c.ElsewhereOf,
		log:          log,
		alwaysLoad:   o.AlwaysLoad,
	}
	for i, t := range c.Tools {
		err := contract.Publishable(&t)
		if err == nil && p.tools[t.Name] != nil {
			err = errors.New("the name is used twice")
		}
		switch {
		case err != nil && t.Published != nil:
			log.Warn("skipped another server's tool", "tool", t.Name, "error", err)
			continue
		case err != nil:
			return nil, fmt.Errorf("publish tool %q: %w", t.Name, err)
		}
		p.tools[t.Name], p.toolOrder[t.Name] = &t, i
		if t.Unannounced {
			p.unannounced = append(p.unannounced, p.sdkTool(&t))
		} else if p.standIn == "" {
			p.standIn = t.Name
		}
		if l := t.Later; l != nil && !slices.ContainsFunc(p.later, func(k *contract.Later) bool { return k.Kind == l.Kind }) {
			p.later = append(p.later, l)
		}
	}
	for _, prompt := range c.Prompts {
		if prompt.Name == "" || prompt.Name == anyPrompt || p.prompts[prompt.Name] != nil {
			return nil, fmt.Errorf("publish prompt %q: the name is empty or used twice", prompt.Name)
		}
		p.prompts[prompt.Name] = &prompt
	}
	for _, r := range c.Resources {
		if u, err := url.Parse(r.URI); err != nil || u.Scheme == "" {
			return nil, fmt.Errorf("publish resource %q: not an absolute URI", r.URI)
		}
		if p.resources[r.URI] != nil {
			return nil, fmt.Errorf("publish resource %q: the URI is used twice", r.URI)
		}
		p.resources[r.URI] = &r
	}
	p.elsewhere = publishElsewhere(p, c.Elsewhere, log)
	return p, nil
}

// announce updates the SDK's lists from the old catalog to the new one. It
// registers an entry again only if the part that clients see has changed, because
// the SDK notifies clients of each registration. What an entry does is always
// looked up in s.current.
func (s *Server) announce(old, next *published) {
	for name, t := range next.tools {
		if t.Unannounced {
			continue
		}
		if shown := next.sdkTool(t); !old.announced(name) || !reflect.DeepEqual(shown, old.sdkTool(old.tools[name])) {
			s.sdk.AddTool(shown, s.callTool)
		}
	}
	for name, p := range next.prompts {
		if shown := sdkPrompt(p); old.prompts[name] == nil || !reflect.DeepEqual(shown, sdkPrompt(old.prompts[name])) {
			s.sdk.AddPrompt(shown, s.getPrompt)
		}
	}
	for uri, r := range next.resources {
		if shown := sdkResource(r); old.resources[uri] == nil || !reflect.DeepEqual(shown, sdkResource(old.resources[uri])) {
			s.sdk.AddResource(shown, s.readResource)
		}
	}
	var names []string
	for name := range old.tools {
		if old.announced(name) && !next.announced(name) {
			names = append(names, name)
		}
	}
	if names != nil {
		s.sdk.RemoveTools(names...)
	}
	if names := gone(old.prompts, next.prompts); names != nil {
		s.sdk.RemovePrompts(names...)
	}
	if uris := gone(old.resources, next.resources); uris != nil {
		s.sdk.RemoveResources(uris...)
	}
	s.announceElsewhere(old, next)
}

func gone[T any](old, next map[string]*T) (names []string) {
	for name := range old {
		if next[name] == nil {
			names = append(names, name)
		}
	}
	return names
}

func (p *published) sdkTool(t *contract.Tool) *mcp.Tool {
	if t.Published != nil {
		return foreignTool(t)
	}
	closed := false // our tools work on this server's own data
	shown := &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Input,
		Annotations: &mcp.ToolAnnotations{
			Title: t.Title, ReadOnlyHint: t.ReadOnly, IdempotentHint: t.ReadOnly || t.Idempotent, OpenWorldHint: &closed,
		},
	}
	if t.ReadOnly || t.Additive {
		shown.Annotations.DestructiveHint = &closed
	}
	if t.Output != nil { // a nil RawMessage in an interface is not nil
		shown.OutputSchema = t.Output
	}
	if p.alwaysLoad {
		shown.Meta = mcp.Meta{"anthropic/alwaysLoad": true}
	}
	return shown
}

// foreignTool returns another server's tool as that server publishes it, under our
// name. If that definition cannot be decoded, the result has only the fields in t.
func foreignTool(t *contract.Tool) *mcp.Tool {
	shown := new(mcp.Tool)
	if err := json.Unmarshal(t.Published, shown); err != nil {
		shown = &mcp.Tool{Title: t.Title}
	}
	shown.Name, shown.Description, shown.InputSchema, shown.OutputSchema = t.Name, t.Description, t.Input, nil
	if t.Output != nil {
		shown.OutputSchema = t.Output
	}
	return shown
}

func sdkPrompt(p *contract.Prompt) *mcp.Prompt {
	shown := &mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
	for _, a := range p.Arguments {
		shown.Arguments = append(shown.Arguments, &mcp.PromptArgument{
			Name: a.Name, Title: a.Title, Description: a.Description, Required: a.Required,
		})
	}
	return shown
}

func sdkResource(r *contract.Resource) *mcp.Resource {
	shown := &mcp.Resource{URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType}
	if r.View {
		shown.MIMEType, shown.Meta = viewType, viewMeta()
	}
	return shown
}
