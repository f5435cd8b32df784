package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deskhand/deskhand/runtime/contract"
)

// offer returns the upstream's tools as agents see them, with its prefix. As long
// as the upstream shows no tools, it returns a tool to connect it.
func (u *upstream) offer() (tools []offeredTool) {
	u.mu.Lock()
	known, guarded, all := u.known, u.guarded, u.Tools
	u.mu.Unlock()
	if !known && (guarded || u.forOne() != nil) && u.Scope == UserScope {
		return []offeredTool{{Tool: u.connectTool(), from: u}}
	}
	for _, r := range all {
		if u.takes(r.Name) {
			tools = append(tools, offeredTool{u.tool(r), u, r.Name})
		}
	}
	return tools
}

// tool returns one of the upstream's tools as agents see it.
func (u *upstream) tool(r remote) contract.Tool {
	t := contract.Tool{Name: u.named(r.Name), Title: r.Title, Description: r.Description, Input: objectSchema(r.Input), Output: r.Output, Published: r.Published, Personal: u.Scope == UserScope}
	t.Call = func(ctx context.Context, caller contract.Caller, args json.RawMessage) (contract.Result, error) {
		result, err := u.handle(ctx, &call{caller: caller, name: t.Name, tool: r.Name, args: args, asTask: r.OnlyTask})
		return delivered(caller.Name, t.Output, result), err
	}
	return t
}

// longest is the maximum length of a tool name.
const longest = 64

// named returns a tool's name for agents. Characters that clients would refuse
// become "_". A name that is too long ends with a digest.
func (u *upstream) named(tool string) string {
	name := []byte(tool)
	for i, c := range name {
		if !contract.ValidName(string(c)) {
			name[i] = '_'
		}
	}
	full := string(name)
	if u.Prefix != noPrefix {
		full = u.Prefix + "_" + full
	}
	if len(full) > longest {
		sum := sha256.Sum256([]byte(tool))
		full = full[:longest-9] + "_" + hex.EncodeToString(sum[:4])
	}
	return full
}

// objectSchema returns a schema with a type, which some servers omit.
func objectSchema(raw json.RawMessage) json.RawMessage {
	members, err := contract.Fields(raw)
	switch {
	case err != nil || slices.ContainsFunc(members, func(m contract.Field) bool { return m.Name == "type" }):
		return raw
	case len(members) == 0:
		return json.RawMessage(`{"type":"object"}`)
	}
	return slices.Concat([]byte(`{"type":"object",`), bytes.TrimPrefix(bytes.TrimSpace(raw), []byte("{")))
}

// connectTool returns the tool that represents an upstream until someone has
// connected to it.
func (u *upstream) connectTool() contract.Tool {
	t := contract.Tool{
		Name: u.named("connect"), Title: "Connect " + u.Title,
		Description: fmt.Sprintf("Ask the user to connect their %s account. After that, its tools are listed and can be used. Call it before anything that needs %s.", u.Title, u.Title),
		Input:       json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		Additive:    true, Idempotent: true, Personal: u.Scope == UserScope,
	}
	t.Call = func(ctx context.Context, caller contract.Caller, _ json.RawMessage) (contract.Result, error) {
		u, err := u.of(ctx)
		if err != nil {
			return contract.Result{}, err
		}
		c := &call{name: t.Name}
		defer c.attach(ctx, caller)()
		return u.connect(ctx, c)
	}
	return t
}
