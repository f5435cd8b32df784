package gateway

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/yosida95/uritemplate/v3"

	"github.com/deskhand/deskhand/runtime/contract"
)

// A URI is an upstream's own name for a resource, and the upstream's messages
// mention it, so deskhand keeps it. The URI is shown as deskhand:UPSTREAM/URI
// only if another upstream, or this server, has the same URI.

// ownScheme is the prefix of URIs that name the upstream that has the resource.
const ownScheme = "deskhand:"

// routes maps prompts and resources to upstreams. It is replaced, not modified,
// when what an upstream offers has changed.
type routes struct {
	upstreams []*upstream
	taken     taken
	prompts   map[string]route     // by the name that clients see
	listed    map[string]*upstream // by URI: the first upstream that lists it
	templates []templateRoute
	linked    *links
	all       *contract.Elsewhere
	// For a person with a name, of holds the routes of the installation, and version is that
	// of the lists of the person's gateway.
	of      *routes
	version int64
}

// taken reports whether a prompt's name or a resource's URI is one of this server's own.
type taken struct{ prompt, resource func(key string) bool }

type route struct {
	u    *upstream
	name string // name at the upstream
}

type templateRoute struct {
	u        *upstream
	original string
	shown    string
	fits     *regexp.Regexp
}

// Elsewhere returns the upstreams' prompts and resources. ownPrompt and ownResource
// report whether a key is one of this server's own, which take precedence. Between
// upstreams, the first configured one takes precedence.
func (g *Gateway) Elsewhere(ownPrompt, ownResource func(key string) bool) *contract.Elsewhere {
	r := g.route(g.upstreams, taken{ownPrompt, ownResource})
	g.routes.Store(r)
	return r.all
}

// ElsewhereOf returns what a person with a name sees in place of the result of the last call
// of Elsewhere: of upstreams with [UserScope], what the person's own credential gives. It
// returns the same value until something changes, and nil before the first call of Elsewhere.
func (g *Gateway) ElsewhereOf(person string) (*contract.Elsewhere, error) {
	own, err := g.options.For(person)
	if err != nil {
		return nil, err
	}
	if r := own.routed(); r != nil {
		return r.all, nil
	}
	return nil, nil
}

// routed returns the current routes. They are nil if there are none yet.
func (g *Gateway) routed() *routes {
	if g.options.Of == nil {
		return g.routes.Load()
	}
	g.routing.Lock()
	defer g.routing.Unlock()
	of, version, now := g.options.Of.routes.Load(), g.version.Load(), g.routes.Load()
	if of == nil || now != nil && now.of == of && now.version == version {
		return now
	}
	now = g.route(g.options.Of.upstreamsOf(g), of.taken)
	now.of, now.version = of, version
	g.routes.Store(now)
	return now
}

// upstreamsOf returns the upstreams that a person's agents use, in configuration order. own is
// the gateway of the person.
func (g *Gateway) upstreamsOf(own *Gateway) (all []*upstream) {
	for _, u := range g.upstreams {
		if theirs := own.named(u.Name); u.Scope == UserScope && theirs != nil {
			u = theirs
		}
		all = append(all, u)
	}
	return all
}

func (g *Gateway) route(upstreams []*upstream, own taken) *routes {
	r := &routes{upstreams: upstreams, taken: own, prompts: map[string]route{}, listed: map[string]*upstream{}, linked: &g.linked}
	all := &contract.Elsewhere{Prompt: r.prompt, Read: r.read, Complete: r.complete, Watch: r.watch}
	r.all = all
	shelves := make([]shelf, len(upstreams))
	for i, u := range upstreams {
		u.mu.Lock()
		shelves[i] = u.shelf
		u.mu.Unlock()
		for _, e := range shelves[i].Resources {
			if r.listed[e.Key] == nil && !own.resource(e.Key) && !strings.HasPrefix(e.Key, ownScheme) {
				r.listed[e.Key] = u
			}
		}
	}
	for i, u := range upstreams {
		for _, e := range shelves[i].Templates {
			r.addTemplate(u, e, all)
		}
	}
	for i, u := range upstreams {
		for _, e := range shelves[i].Prompts {
			name := u.named(e.Key)
			if !u.takes(e.Key) {
				continue
			}
			if own.prompt(name) || r.prompts[name].u != nil {
				g.log.Warn("skipped a prompt because its name is taken: use another prefix for the upstream", "upstream", u.Name, "prompt", name)
				continue
			}
			if shown, err := renamed(e, "name", name); err == nil {
				r.prompts[name] = route{u, e.Key}
				all.Prompts = append(all.Prompts, shown)
			}
		}
		for _, e := range shelves[i].Resources {
			if shown, err := renamed(e, "uri", r.shown(u, e.Key)); err == nil {
				all.Resources = append(all.Resources, shown)
			}
		}
	}
	return r
}

// addTemplate adds a template. If an earlier template from another upstream may
// match the same URIs, it is shown with its upstream's name.
func (r *routes) addTemplate(u *upstream, e entry, all *contract.Elsewhere) {
	parsed, err := uritemplate.New(e.Key)
	if err != nil {
		return // listShelf has parsed it
	}
	t := templateRoute{u: u, original: e.Key, shown: e.Key, fits: parsed.Regexp()}
	if strings.HasPrefix(e.Key, ownScheme) {
		t.shown = ownScheme + u.Name + "/" + e.Key
	}
	for _, other := range r.templates {
		a, b := literal(other.original), literal(e.Key)
		if other.u != u && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)) {
			t.shown = ownScheme + u.Name + "/" + e.Key
		}
	}
	if shown, err := renamed(e, "uriTemplate", t.shown); err == nil {
		r.templates = append(r.templates, t)
		all.Templates = append(all.Templates, shown)
	}
}

// renamed returns an entry with another key.
func renamed(e entry, member, key string) (entry, error) {
	raw := e.Published
	if key != e.Key {
		value, err := json.Marshal(key)
		if err == nil {
			raw, err = contract.With(raw, member, value)
		}
		if err != nil {
			return e, err
		}
	}
	return entry{Key: key, Published: raw}, nil
}

// to returns the upstream that has the resource with this URI, and the resource's
// URI there. The upstream is nil if there is none.
func (r *routes) to(uri string) (*upstream, string) {
	if rest, ok := strings.CutPrefix(uri, ownScheme); ok {
		name, original, ok := strings.Cut(rest, "/")
		i := slices.IndexFunc(r.upstreams, func(u *upstream) bool { return ok && u.Name == name && !u.NoResources })
		if i < 0 {
			return nil, ""
		}
		return r.upstreams[i], original
	}
	if u := r.owner(uri); u != nil {
		return u, uri
	}
	var only *upstream
	for _, u := range r.upstreams {
		if !u.hasResources() {
			continue
		}
		if only != nil {
			return nil, ""
		}
		only = u
	}
	return only, uri
}

// owner returns the upstream that serves a URI unchanged: the upstream that lists
// the URI, has linked to it, or has the first matching template.
func (r *routes) owner(uri string) *upstream {
	if u := r.listed[uri]; u != nil {
		return u
	}
	if u := r.linked.of(uri); u != nil {
		return u
	}
	if r.of != nil { // what upstreams that all share have linked to is in the installation's links
		if u := r.of.linked.of(uri); u != nil && u.Scope != UserScope {
			return u
		}
	}
	for _, t := range r.templates {
		if t.fits.MatchString(uri) {
			return t.u
		}
	}
	return nil
}

// shown returns u's URI as clients see it. From then on, a URI with no other owner
// resolves to u.
func (r *routes) shown(u *upstream, uri string) string {
	if uri == "" || len(uri) > maxURI {
		return uri
	}
	escaped := ownScheme + u.Name + "/" + uri
	if strings.HasPrefix(uri, ownScheme) || r.taken.resource(uri) {
		return escaped
	}
	switch r.owner(uri) {
	case u:
		return uri
	case nil:
		r.linked.add(uri, u)
		return uri
	}
	return escaped
}

// relink rewrites the links in u's answer so that clients can follow them.
func (u *upstream) relink(content []mcp.Content) {
	r := u.g.routed()
	if r == nil || u.NoResources {
		return
	}
	for _, c := range content {
		switch c := c.(type) {
		case *mcp.ResourceLink:
			c.URI = r.shown(u, c.URI)
		case *mcp.EmbeddedResource:
			if c.Resource != nil {
				c.Resource.URI = r.shown(u, c.Resource.URI)
			}
		}
	}
}

// hasResources reports whether the upstream's resources may be read.
func (u *upstream) hasResources() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return !u.NoResources && u.shelf.Readable
}

// links holds URIs that upstreams' answers have linked to and that are in no list.
type links struct {
	mu    sync.Mutex
	by    map[string]*upstream
	order []string // oldest first
}

// maxLinks is the maximum number of links. The oldest are dropped.
const maxLinks = 10_000

func (l *links) of(uri string) *upstream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by[uri]
}

func (l *links) add(uri string, u *upstream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil {
		l.by = map[string]*upstream{}
	}
	if l.by[uri] != nil {
		return
	}
	if len(l.order) == maxLinks {
		delete(l.by, l.order[0])
		l.order = l.order[1:]
	}
	l.by[uri] = u
	l.order = append(l.order, uri)
}
