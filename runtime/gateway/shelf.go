package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/yosida95/uritemplate/v3"

	"github.com/deskhand/deskhand/runtime/contract"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// offered holds the tools and other entries that an upstream offers, in the form
// in which they are stored.
type offered struct {
	Tools []remote `json:"tools"`
	shelf
	// Lends holds the client features that were declared to the upstream.
	Lends contract.Lends `json:"lends,omitzero"`
}

// shelf holds what an upstream offers in addition to tools, in its order.
type shelf struct {
	Prompts   []entry `json:"prompts,omitempty"`
	Resources []entry `json:"resources,omitempty"`
	Templates []entry `json:"templates,omitempty"`
	// Readable reports whether it has resources, which need not be in a list.
	Readable bool `json:"readable,omitempty"`
}

// entry is a prompt, resource or template as the upstream publishes it. Key is its
// name, URI or URI template.
type entry = contract.Entry

// decodeOffered decodes a stored offer. Earlier versions stored only a list of
// tools.
func decodeOffered(data []byte) (o offered, err error) {
	if first(data) == '[' {
		return o, json.Unmarshal(data, &o.Tools)
	}
	return o, json.Unmarshal(data, &o)
}

// listShelf lists what an upstream offers in addition to tools. If a list fails,
// the failure is logged and the list is empty, because the tools are still useful.
func (u *upstream) listShelf(ctx context.Context, s *session) (all shelf, err error) {
	opened := s.InitializeResult()
	if opened == nil || opened.Capabilities == nil {
		return all, nil
	}
	if opened.Capabilities.Prompts != nil {
		if all.Prompts, err = entries(u, "prompts", s.Prompts(ctx, nil), func(p *mcp.Prompt) (string, mcp.Meta, bool) {
			return p.Name, p.Meta, p.Name != ""
		}); err != nil {
			return all, err
		}
	}
	if opened.Capabilities.Resources == nil || u.NoResources {
		return all, nil
	}
	all.Readable = true
	if all.Resources, err = entries(u, "resources", s.Resources(ctx, nil), func(r *mcp.Resource) (string, mcp.Meta, bool) {
		at, err := url.Parse(r.URI)
		return r.URI, r.Meta, err == nil && at.Scheme != "" && len(r.URI) <= maxURI
	}); err != nil {
		return all, err
	}
	all.Templates, err = entries(u, "resourceTemplates", s.ResourceTemplates(ctx, nil), func(t *mcp.ResourceTemplate) (string, mcp.Meta, bool) {
		_, err := uritemplate.New(t.URITemplate)
		return t.URITemplate, t.Meta, err == nil && literal(t.URITemplate) != "" && len(t.URITemplate) <= maxURI
	})
	return all, err
}

// maxURI is the maximum length of a URI that is passed on, in bytes.
const maxURI = 4 << 10

// entries reads one list. It fails only if the connection fails.
func entries[T any](u *upstream, kind string, from iter.Seq2[*T, error], read func(*T) (key string, meta mcp.Meta, ok bool)) (all []entry, err error) {
	taken, room := map[string]bool{}, u.in.most()
	for one, err := range from {
		if said := new(jsonrpc.Error); errors.As(err, &said) && said.Code != rejected {
			u.g.log.Warn("cannot pass on an upstream's list", "upstream", u.Name, "list", kind, "error", u.clean(err.Error()))
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", kind, err)
		}
		if len(all) == maxTools {
			u.g.log.Warn("an upstream lists more entries than deskhand passes on", "upstream", u.Name, "list", kind, "most", maxTools)
			break
		}
		key, meta, ok := read(one)
		switch {
		case !ok || taken[key]:
			u.g.log.Warn("skipped an upstream's entry because its key is invalid or used twice", "upstream", u.Name, "list", kind, "key", textutil.Shorten(key, 200))
			continue
		case u.passed(meta):
			continue
		}
		raw, err := u.rawCache.entry(kind, one)
		if err == nil {
			raw, err = u.marked(raw, meta)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", kind, key, err)
		}
		if room -= len(raw); room < 0 {
			u.g.log.Warn("an upstream's list is longer than deskhand passes on", "upstream", u.Name, "list", kind, "most", u.in.most())
			break
		}
		taken[key] = true
		all = append(all, entry{Key: key, Published: raw})
	}
	return all, nil
}

// literal returns the text with which every URI of a template begins.
func literal(template string) string {
	for i, c := range template {
		if c == '{' {
			return template[:i]
		}
	}
	return template
}
