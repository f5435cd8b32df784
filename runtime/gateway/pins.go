package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/deskhand/deskhand/runtime/contract"
)

// The tools that were called last are listed next to find_tools, so the next
// conversation need not search for them. They are kept in the store, for all
// processes that use it. A client is not told when a tool is added, because it
// would read the list again in the middle of a conversation. When a model's tools
// change, the model reads the whole conversation again without its prompt cache
// (docs/tools.md has the cost).

// Limits for the pinned tools: their number and the total size of their
// definitions, about 1,000 tokens.
const (
	maxPins     = 5
	maxPinBytes = 4000
)

// pinsRow is the row of upstream_tools that holds the pinned tools. No upstream can
// have this name.
const pinsRow = "*pinned*"

// pins holds tool names, the most recently called first.
type pins struct {
	mu    sync.Mutex
	names []string
}

// recallPins reads the stored pins.
func (g *Gateway) recallPins(ctx context.Context) {
	v, err := g.open(ctx)
	var kept offered
	if err == nil {
		kept, _, err = v.remembered(ctx, pinsRow, g.options.Principal)
	}
	if err != nil {
		g.log.Warn("cannot store the recently called tools", "error", err)
		return
	}
	g.pins.mu.Lock()
	defer g.pins.mu.Unlock()
	for _, r := range kept.Tools {
		g.pins.names = append(g.pins.names, r.Name)
	}
}

// pin moves a called tool to the front.
func (g *Gateway) pin(ctx context.Context, name string) {
	g.pins.mu.Lock()
	at := slices.Index(g.pins.names, name)
	if at == 0 {
		g.pins.mu.Unlock()
		return
	}
	if at > 0 {
		g.pins.names = slices.Delete(g.pins.names, at, at+1)
	}
	g.pins.names = slices.Insert(g.pins.names, 0, name)
	g.pins.names = g.pins.names[:min(len(g.pins.names), maxPins)]
	var kept offered
	for _, one := range g.pins.names {
		kept.Tools = append(kept.Tools, remote{Name: one})
	}
	g.pins.mu.Unlock()
	v, err := g.open(ctx)
	if err == nil {
		err = v.remember(context.WithoutCancel(ctx), pinsRow, g.options.Principal, kept)
	}
	if err != nil {
		g.log.Warn("cannot store the recently called tools", "error", err)
	}
	if at < 0 {
		g.tellChanged()
	}
}

// pinned returns the pinned tools in the order of the given tools, so calling a
// tool that is already pinned changes nothing.
func (g *Gateway) pinned(all []offeredTool) (tools []contract.Tool) {
	g.pins.mu.Lock()
	names := slices.Clone(g.pins.names)
	g.pins.mu.Unlock()
	room := maxPinBytes
	names = slices.DeleteFunc(names, func(name string) bool {
		i := slices.IndexFunc(all, func(t offeredTool) bool { return t.Name == name })
		if i < 0 || size(all[i].Tool) > room {
			return true
		}
		room -= size(all[i].Tool)
		return false
	})
	for _, t := range all {
		if slices.Contains(names, t.Name) {
			t.Unannounced = true
			tools = append(tools, t.Tool)
		}
	}
	return tools
}

// size returns the number of bytes that a model reads about a tool.
func size(t contract.Tool) int { return len(t.Name) + len(t.Description) + len(t.Input) }

// counted returns a copy of t whose successful calls pin the tool.
func (g *Gateway) counted(t contract.Tool) contract.Tool {
	call := t.Call
	t.Call = func(ctx context.Context, caller contract.Caller, args json.RawMessage) (contract.Result, error) {
		result, err := call(ctx, caller, args)
		if err == nil && !result.Refused {
			g.pin(ctx, t.Name)
		}
		return result, err
	}
	return t
}
