package executor

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/rules"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/usage"
)

// acpUpdate is an agent's update during its turn. It has the fields of all
// kinds of updates.
type acpUpdate struct {
	Kind string `json:"sessionUpdate"`

	// A block for text, or a list of acpContent for a tool call.
	Content   json.RawMessage `json:"content"`
	MessageID string          `json:"messageId"`

	// tool calls
	ID        string          `json:"toolCallId"`
	Title     *string         `json:"title"`
	Tool      *string         `json:"kind"`
	Status    *string         `json:"status"`
	Input     json.RawMessage `json:"rawInput"`
	Output    json.RawMessage `json:"rawOutput"`
	Locations []struct {
		Path string `json:"path"`
	} `json:"locations"`
	Meta struct {
		ClaudeCode struct {
			ToolName string `json:"toolName"`
		} `json:"claudeCode"`
	} `json:"_meta"`

	// plans
	Entries []logs.Todo `json:"entries"`

	// usage
	Cost *struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
}

type acpContent struct {
	Type    string `json:"type"`
	Content struct {
		Text string `json:"text"`
	} `json:"content"`
	Path    string  `json:"path"`
	OldText *string `json:"oldText"`
	NewText string  `json:"newText"`
}

// parts returns the content of a tool call.
func (u acpUpdate) parts() (parts []acpContent) {
	if len(u.Content) > 0 {
		json.Unmarshal(u.Content, &parts) // unknown content is in the raw log
	}
	return parts
}

// update shows an update from the agent.
func (c *client) update(raw json.RawMessage) {
	var u acpUpdate
	err := json.Unmarshal(raw, &u)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent {
		return
	}
	if err != nil {
		c.talk.system(fmt.Sprintf("cannot parse an update: %v", err))
		return
	}
	switch u.Kind {
	case "agent_message_chunk":
		c.talk.chunk(logs.AssistantMessage, u)
	case "agent_thought_chunk":
		c.talk.chunk(logs.Thinking, u)
	case "tool_call", "tool_call_update":
		c.call(u)
	case "plan":
		c.talk.endText()
		e := logs.Entry{Type: logs.Type{Kind: logs.Plan, Todos: u.Entries}}
		if c.plan < 0 {
			c.plan = c.talk.log.Append(e)
		} else {
			c.talk.log.Replace(c.plan, e)
		}
	case "usage_update":
		if u.Cost != nil && u.Cost.Currency == "USD" {
			so := c.talk.result.Usage
			so.Cost = usage.Micros(u.Cost.Amount)
			c.talk.usage(so)
		}
	case "user_message_chunk", "available_commands_update", "current_mode_update", "config_option_update", "session_info_update":
		// The prompt is already in the log. All other updates describe the
		// agent's program.
	default:
		c.talk.system(u.Kind)
	}
}

// chunk shows a piece of text. A new message ID starts a new entry.
func (t *talk) chunk(kind logs.Kind, u acpUpdate) {
	var block struct {
		Type, Text string
	}
	if err := json.Unmarshal(u.Content, &block); err != nil || block.Type != "text" && block.Type != "" {
		t.say(kind, "["+block.Type+"]")
		return
	}
	if strings.HasPrefix(block.Text, "[MODE_UPDATE] ") { // a message that gemini sends about itself
		t.system(block.Text)
		return
	}
	if u.MessageID != t.message {
		t.endText()
		t.message = u.MessageID
	}
	t.piece(kind, block.Text)
}

// call shows a tool call, or updates the call's entry.
func (c *client) call(u acpUpdate) *tool {
	t := c.talk
	if t.tools[u.ID] == nil {
		t.call(u.ID, "tool", "", logs.Action{Action: "other"})
	}
	t.change(u.ID, func(one *tool) {
		if u.Tool != nil {
			one.kind = *u.Tool
		}
		if u.Title != nil && *u.Title != "" {
			one.content = *u.Title
			if one.name == "tool" {
				one.name = *u.Title
			}
		}
		if name := u.Meta.ClaudeCode.ToolName; name != "" {
			one.name, one.named = name, true
		}
		if one.kind != "" && one.kind != "other" && u.Meta.ClaudeCode.ToolName == "" && one.name == one.content {
			one.name = one.kind
		}
		one.knows(u)
		one.describe(u)
		if u.Status != nil {
			one.status = map[string]string{"pending": "created", "in_progress": "created", "completed": "success", "failed": "failed"}[*u.Status]
		}
	})
	return t.tools[u.ID]
}

// knows adds the details of a call to c, without the call's results. Agents
// send the details in several updates, and a person decides about all of them
// together.
func (c *tool) knows(u acpUpdate) {
	if u.Title != nil && *u.Title != "" {
		c.known.Title = u.Title
	}
	if u.Tool != nil {
		c.known.Tool = u.Tool
	}
	if len(u.Input) > 0 && string(u.Input) != "{}" {
		c.known.Input = u.Input
	}
	if len(u.Content) > 0 {
		c.known.Content = u.Content
	}
	if len(u.Locations) > 0 {
		c.known.Locations = u.Locations
	}
}

// describe updates the description of a tool call from all details received so
// far.
func (c *tool) describe(u acpUpdate) {
	var args map[string]any
	if len(u.Input) > 0 {
		json.Unmarshal(u.Input, &args) // only objects have named arguments
	}
	path := c.action.Path
	if len(u.Locations) > 0 {
		path = u.Locations[0].Path
	}
	a := &c.action
	switch c.kind {
	case "execute":
		a.Action = "command_run"
		if command := commandOf(args); command != "" {
			a.Command = command
		} else if a.Command == "" {
			a.Command = c.content
		}
	case "read":
		a.Action, a.Path = "file_read", path
	case "edit", "delete", "move":
		a.Action, a.Path = "file_edit", path
		if c.kind == "delete" {
			a.Changes = []logs.FileEdit{{Action: "delete"}}
		} else if named, _ := action("write", args); len(args) > 0 && named.Changes[0].Content != "" {
			a.Changes = named.Changes
		} else if named, _ := action("edit", args); len(args) > 0 && named.Changes[0].Diff != "" {
			a.Changes = named.Changes
		}
	case "search":
		a.Action, a.Query = "search", c.content
	case "fetch":
		a.Action, a.URL = "web_fetch", c.content
	default:
		a.Action, a.ToolName = "tool", c.name
		if len(args) > 0 {
			a.Arguments = args
		}
	}
	var texts []string
	for _, p := range u.parts() {
		switch p.Type {
		case "diff":
			a.Action, a.Path = "file_edit", p.Path
			edit := logs.FileEdit{Action: "write", Content: logs.Clip(p.NewText)}
			if p.OldText != nil && *p.OldText != "" {
				edit = logs.FileEdit{Action: "edit", Diff: oldNew(*p.OldText, p.NewText)}
			}
			a.Changes = []logs.FileEdit{edit}
		case "content":
			texts = append(texts, p.Content.Text)
		}
	}
	output, exit := outputOf(u.Output)
	if output == "" {
		output = strings.Join(texts, "\n")
	}
	if output != "" || exit != nil {
		c.result(output, exit)
	}
}

// commandOf returns the command of a shell call. The command argument is a
// string, or a list whose last element is the command.
func commandOf(args map[string]any) string {
	for _, name := range []string{"command", "cmd"} {
		switch v := args[name].(type) {
		case string:
			return v
		case []any:
			if len(v) > 0 {
				s, _ := v[len(v)-1].(string)
				return s
			}
		}
	}
	return ""
}

// outputOf returns a tool's output and exit code. raw is text, or an object
// that contains the text.
func outputOf(raw json.RawMessage) (string, *int) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var o struct {
		Formatted  string `json:"formatted_output"`
		Aggregated string `json:"aggregated_output"`
		Output     string `json:"output"`
		ExitCode   *int   `json:"exit_code"`

		Content json.RawMessage `json:"content"` // result of an MCP tool
	}
	if raw[0] != '{' || json.Unmarshal(raw, &o) != nil {
		return textOf(raw), nil
	}
	for _, s := range []string{o.Formatted, o.Aggregated, o.Output} {
		if s != "" {
			return s, o.ExitCode
		}
	}
	if len(o.Content) > 0 {
		return textOf(o.Content), nil
	}
	if o.ExitCode != nil {
		return "", o.ExitCode
	}
	return string(raw), nil
}

// permission is a tool call for which the agent requests permission.
type permission struct {
	id, name string
	proposal Proposal
	said     string // the agent's description of the call
	ours     bool   // whether the tool is deskhand's own
	rule     *rules.Call
}

// shown shows the tool call of a permission request. The request may arrive
// before any update about the call.
func (c *client) shown(raw json.RawMessage) permission {
	var u acpUpdate
	json.Unmarshal(raw, &u) // cannot fail, because the SDK has encoded it
	c.mu.Lock()
	defer c.mu.Unlock()
	if u.ID == "" {
		p := permission{name: "tool", rule: callOf(u, "", c.run.spec.Dir)}
		p.proposal, p.said = propose(u, c.run.spec.Dir)
		return p
	}
	t := c.talk.tools[u.ID]
	if t == nil {
		first := u
		first.Status = nil
		t = c.call(first)
	} else {
		t.knows(u)
	}
	p := permission{id: u.ID, name: t.name}
	name := "" // a title may be the model's words, so no rule believes it
	if t.named {
		name = t.name
	}
	p.rule = callOf(t.known, name, c.run.spec.Dir)
	p.proposal, p.said = propose(t.known, c.run.spec.Dir)
	p.ours = ours().MatchString(t.name) && t.kind != "execute" && t.kind != "edit" && t.kind != "delete" && t.kind != "move"
	return p
}

// mark shows the outcome of a permission request.
func (c *client) mark(id, status string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.talk.tools[id] != nil {
		c.talk.change(id, func(t *tool) { t.status = status })
	}
}
