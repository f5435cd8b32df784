package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

const callInput = `{"type":"object","properties":{` +
	`"name":{"type":"string","description":"Tool name, as find_tools returned it."},` +
	`"arguments":{"type":"object","description":"The tool's arguments, as find_tools described them.","additionalProperties":true}},` +
	`"required":["name"],"additionalProperties":false}`

// callTool returns the tool that calls the others. It is published as destructive,
// because some of the others may be.
func (g *Gateway) callTool() contract.Tool {
	t := contract.Tool{
		Name: g.ours("call_tool"), Title: "Call a tool",
		Description: "Call a tool that " + g.ours("find_tools") + " found.",
		Input:       json.RawMessage(strings.ReplaceAll(callInput, "find_tools", g.ours("find_tools"))),
		Published:   json.RawMessage(`{"name":"call_tool","title":"Call a tool","inputSchema":null,"annotations":{"title":"Call a tool","destructiveHint":true,"openWorldHint":true}}`),
	}
	t.Call = func(ctx context.Context, caller contract.Caller, args json.RawMessage) (contract.Result, error) {
		name, rest, err := g.readCall(args)
		if err != nil {
			return contract.Result{}, err
		}
		return g.callByName(ctx, caller, name, rest)
	}
	return t
}

// callByName calls a tool by name. The effect is the same as calling the listed
// tool. A refusal says what to change.
func (g *Gateway) callByName(ctx context.Context, caller contract.Caller, name string, args json.RawMessage) (contract.Result, error) {
	s, done, err := g.shelf(ctx)
	if err != nil {
		return contract.Result{}, err
	}
	t, err := g.checked(ctx, s, name, args)
	done()
	if err != nil {
		return contract.Result{}, err
	}
	return t.Call(ctx, caller, args)
}

// checked returns the tool with that name if its schema allows args.
func (g *Gateway) checked(ctx context.Context, s *toolShelf, name string, args json.RawMessage) (offeredTool, error) {
	t, ok := s.byName[name]
	if !ok { // models repeat the prefix that their client puts before a server's tool names
		if i := strings.LastIndex(name, "__"); i >= 0 {
			t, ok = s.byName[name[i+2:]]
		}
	}
	if !ok {
		return t, g.unknown(ctx, s, name)
	}
	if c := s.check(t); c != nil {
		if refusal := c.Check(args); refusal != nil {
			return t, misfit(t, refusal)
		}
	}
	return t, nil
}

// readCall parses the arguments of call_tool. It accepts arguments in a JSON
// string, because some models write them so.
func (g *Gateway) readCall(raw json.RawMessage) (name string, args json.RawMessage, err error) {
	self := g.ours("call_tool")
	bad := func(message string) (string, json.RawMessage, error) {
		return "", nil, fault.New("invalid_argument", message, fmt.Sprintf(`call %s with {"name": "...", "arguments": {...}}`, self))
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	fields, err := contract.Fields(raw)
	if err != nil {
		return bad("Arguments are " + fault.Of(err).Message)
	}
	args = json.RawMessage("{}")
	for _, f := range fields {
		switch f.Name {
		case "name":
			name = text(f.Value)
		case "arguments":
			if string(f.Value) == "null" {
				continue
			}
			args = f.Value
			if f.Value[0] == '"' {
				args = bytes.TrimSpace([]byte(text(f.Value)))
			}
			if len(args) == 0 {
				args = json.RawMessage("{}")
			}
			if args[0] != '{' || !json.Valid(args) {
				return bad("arguments must be an object")
			}
		default:
			return bad(fmt.Sprintf("Unexpected field '%s': put it into arguments", oneLine(f.Name, 60)))
		}
	}
	if name == "" {
		return bad("name is required")
	}
	return name, args, nil
}

// unknown returns the error for an unknown tool name. It suggests the closest
// names.
func (g *Gateway) unknown(ctx context.Context, s *toolShelf, name string) error {
	hint := "find it with " + g.ours("find_tools")
	near, err := s.finder.Find(ctx, oneLine(name, 100), "", 3)
	if err == nil && len(near) > 0 {
		hint = "similar tools: " + strings.Join(near, ", ") + "; or " + hint
	}
	return fault.New("unknown_tool", fmt.Sprintf("No connected service has a tool named '%s'", oneLine(name, 80)), hint)
}

// misfit returns the error for a call that the tool's schema refuses.
func misfit(t offeredTool, r *contract.Refusal) error {
	args := signature(t.Input, types)
	if len(args) > answerBytes/2 {
		args = signature(t.Input, essentials)
	}
	return fault.New("invalid_argument", t.Name+": "+r.Message, "its arguments are "+oneLine(args, answerBytes))
}
