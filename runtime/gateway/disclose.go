package gateway

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/contract"
)

// Disclosure is how a model learns about the upstreams' tools.
type Disclosure string

// With DiscloseAll, the model sees every tool with its schema. With
// DiscloseSearch, it sees find_tools, call_tool and the recently called tools.
// DiscloseAuto is DiscloseSearch if there are more than mostShown tools,
// otherwise DiscloseAll.
const (
	DiscloseAll    Disclosure = "all"
	DiscloseSearch Disclosure = "search"
	DiscloseAuto   Disclosure = "auto"
)

// mostShown is the maximum number of tools that DiscloseAuto shows. Real tools take
// 340 tokens each (docs/tools.md), so 40 take as many as a coding agent's tools.
const mostShown = 40

// Described is the description of a tool for a Finder.
type Described struct {
	// Name is the unique name that agents call.
	Name string
	// Upstream is the upstream's name, and Tool the tool's name there.
	Upstream, Tool string
	// Title and Description are the tool's own. Either may be empty.
	Title, Description string
	// Arguments lists the names of the arguments; Values lists the values that
	// the schema allows for them.
	Arguments, Values []string
}

// Finder ranks tools. It may be used concurrently.
type Finder interface {
	// Find returns the names of at most limit tools that match need, best first. If
	// upstream is not empty, it searches only that upstream's tools.
	Find(ctx context.Context, need, upstream string, limit int) ([]string, error)
	Close() error
}

// offeredTool is a tool as agents call it, and its origin.
type offeredTool struct {
	contract.Tool
	from   *upstream
	remote string // its name there; empty for deskhand's own tool that connects the upstream
}

// searched reports whether the model gets find_tools instead of the n tools.
func (g *Gateway) searched(n int) bool {
	switch {
	case g.options.Index == nil || n == 0:
		return false
	case g.options.Disclosure == DiscloseSearch:
		return true
	}
	return g.options.Disclosure == DiscloseAuto && n > mostShown
}

// toolShelf holds all offeredTool tools, ready to be found and called by name.
type toolShelf struct {
	version int64 // version of the lists that it was created from
	byName  map[string]offeredTool
	finder  Finder

	mu     sync.Mutex
	checks map[string]*contract.Checker // by name, created when first needed; nil if deskhand cannot check the arguments
}

// shelf returns the shelf with the current tools of ctx's caller. The shelf is created when it
// is first needed after a change. When done, the caller must call the returned
// function. The shelf of a person with a name is that of the person's own gateway.
func (g *Gateway) shelf(ctx context.Context) (*toolShelf, func(), error) {
	person := access.Of(ctx).Name
	if person == "" || person == g.options.Principal || g.options.For == nil {
		return g.shelfOf(g.version.Load(), g.offered)
	}
	own, err := g.options.For(person)
	if err != nil {
		return nil, nil, err
	}
	return own.shelfOf(g.version.Load()+own.version.Load(), func() []offeredTool { return g.offeredBy(g.upstreamsOf(own)) })
}

// shelfOf returns the shelf of a version of the lists, with the tools that offered returns.
func (g *Gateway) shelfOf(version int64, offered func() []offeredTool) (*toolShelf, func(), error) {
	g.shelving.Lock()
	defer g.shelving.Unlock()
	if g.current == nil || g.current.version != version {
		next, err := g.newShelf(version, offered())
		if err != nil {
			return nil, nil, err
		}
		g.dropShelf()
		g.current, g.borrowed = next, new(sync.WaitGroup)
	}
	g.borrowed.Add(1)
	return g.current, g.borrowed.Done, nil
}

// dropShelf closes the current finder as soon as the finder is no longer in use.
// The caller must hold g.shelving.
func (g *Gateway) dropShelf() {
	if g.current == nil {
		return
	}
	old, users := g.current, g.borrowed
	g.current = nil
	g.running.Go(func() {
		users.Wait()
		if err := old.finder.Close(); err != nil {
			g.log.Warn("cannot close the index of tools", "error", err)
		}
	})
}

func (g *Gateway) newShelf(version int64, offered []offeredTool) (*toolShelf, error) {
	s := &toolShelf{version: version, byName: map[string]offeredTool{}, checks: map[string]*contract.Checker{}}
	var all []Described
	for _, t := range offered {
		s.byName[t.Name] = t
		d := Described{Name: t.Name, Upstream: t.from.Name, Tool: t.remote, Title: t.Title, Description: t.Description}
		if t.remote == "" {
			d.Tool = "connect"
		}
		for _, a := range argumentsOf(t.Input) {
			d.Arguments = append(d.Arguments, a.name)
			d.Values = append(d.Values, a.values()...)
		}
		all = append(all, d)
	}
	var err error
	if s.finder, err = g.options.Index(all); err != nil {
		return nil, fmt.Errorf("index the upstreams' tools: %w", err)
	}
	return s, nil
}

// check returns the checker for a tool's arguments, or nil if only the upstream can
// check its schema.
func (s *toolShelf) check(t offeredTool) *contract.Checker {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, known := s.checks[t.Name]
	if !known {
		var err error
		if c, err = contract.NewChecker(t.Input); err != nil {
			t.from.g.log.Debug("the upstream checks the arguments, not deskhand", "tool", t.Name, "error", err)
			c = nil
		}
		s.checks[t.Name] = c
	}
	return c
}

// upstreamNames returns the names of the upstreams that have tools, in
// configuration order.
func upstreamNames(all []offeredTool) (names []string) {
	for _, t := range all {
		if !slices.Contains(names, t.from.Name) {
			names = append(names, t.from.Name)
		}
	}
	return names
}

// ours returns the prefixed name of one of the gateway's own tools.
func (g *Gateway) ours(name string) string {
	if g.options.Prefix != "" {
		return g.options.Prefix + "_" + name
	}
	return name
}
