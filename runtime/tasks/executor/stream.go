package executor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/usage"
)

// mapper converts the events of one program to log entries. It logs an unknown
// event as a system message, and does not treat it as an error.
type mapper interface {
	event(t *talk, e json.RawMessage, kind string)
}

// mappers lists the programs whose events can be parsed.
var mappers = map[string]func() mapper{
	"claude":   func() mapper { return &claudeEvents{} },
	"codex":    func() mapper { return &codexEvents{} },
	"gemini":   func() mapper { return &geminiEvents{} },
	"opencode": func() mapper { return &opencodeEvents{} },
	"qwen":     func() mapper { return &claudeEvents{} }, // qwen's events have the same format
}

// stream is a command that prints events as JSON lines.
type stream struct{ mapper mapper }

var streamKind = kind{
	name: "stream",
	check: func(c Config) string {
		if mappers[c.Events] == nil {
			return fmt.Sprintf("events %q is not one of %s", c.Events, strings.Join(slices.Sorted(maps.Keys(mappers)), ", "))
		}
		return lacksCommand(c)
	},
	can: func(c Config) Info { return Info{MCP: mcpWays[c.Events] != nil, FollowUp: c.resumes()} },
	start: program(func(l *launch) (driver, error) {
		if way := mcpWays[l.Events]; way != nil && l.spec.MCP.URL != "" {
			if err := way(l); err != nil {
				return nil, err
			}
		}
		return &stream{mapper: mappers[l.Events]()}, nil
	}),
}

func (s *stream) drive(r *Run, stdout io.Reader) Result {
	r.sendPrompt()
	t := r.talk()
	eachLine(&rawTee{stdout, r.spec.Log}, func(line []byte) { t.line(s.mapper, line) })
	t.endText()
	if r.stopRequested() {
		t.result.Failure = ""
	}
	return t.result
}

// line processes one line of output.
func (t *talk) line(m mapper, line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	var head struct {
		Type string `json:"type"`
	}
	if line[0] != '{' || json.Unmarshal(line, &head) != nil || head.Type == "" {
		t.system(strings.ToValidUTF8(string(line), "\uFFFD"))
		return
	}
	m.event(t, bytes.Clone(line), head.Type)
}

// talk converts an agent's output to log entries. It is not safe for concurrent use.
type talk struct {
	log     Log
	session func(string)
	report  func(usage.Report) // may be nil
	used    usage.Tokens       // see [Spec.Used]
	model   string             // the model from the command line or the session, or empty
	result  Result
	tools   map[string]*tool
	// State of the text that arrives in pieces.
	kind    logs.Kind
	text    strings.Builder
	index   int64
	message string // ID of the text's message, if the agent sends one
}

// tool is a tool call that is in the log.
type tool struct {
	index   int64
	name    string
	named   bool // ACP only: name is from the agent's program, not from a title
	content string
	status  string
	kind    string // tool kind in ACP
	reason  string // last output, used as the reason if the call fails
	action  logs.Action
	known   acpUpdate // ACP only: everything known about the call, for [propose]
}

// talk returns a converter for the run's output.
func (r *Run) talk() *talk {
	t := &talk{log: r.spec.Log, session: r.session, report: r.spec.Usage, model: r.model, tools: map[string]*tool{}}
	if r.spec.Resume != "" {
		t.used = r.spec.Used
	}
	return t
}

// begin records the agent's session.
func (t *talk) begin(session string) {
	if session != "" && session != t.result.AgentSession {
		t.result.AgentSession = session
		t.session(session)
	}
}

// say logs a complete text.
func (t *talk) say(kind logs.Kind, text string) {
	t.endText()
	t.piece(kind, text)
	t.endText()
}

// piece logs a piece of text. Pieces of the same kind that follow each other
// form one entry.
func (t *talk) piece(kind logs.Kind, text string) {
	if t.kind != kind {
		t.endText()
	}
	if text == "" {
		return
	}
	first := t.text.Len() == 0
	t.kind = kind
	t.text.WriteString(text)
	e := logs.Entry{Type: logs.Type{Kind: kind}, Content: t.text.String()}
	if first {
		t.index = t.log.Append(e)
	} else {
		t.log.Replace(t.index, e)
	}
	if t.text.Len() > maxEntryBytes {
		t.endText()
	}
	if kind == logs.AssistantMessage {
		t.result.Summary = e.Content
	}
}

// maxEntryBytes is the size, in bytes, at which text that arrives in pieces
// continues in a new entry.
const maxEntryBytes = 24 << 10

func (t *talk) endText() {
	t.kind = ""
	t.text.Reset()
}

func (t *talk) system(text string) {
	t.endText()
	t.log.Append(logs.System(text))
}

func (t *talk) failed(text string) {
	t.endText()
	t.log.Append(logs.Failed(text))
}

// call shows the start of a tool call.
func (t *talk) call(id, name, content string, a logs.Action) {
	t.endText()
	c := &tool{name: name, content: content, status: "created", action: a}
	c.index = t.log.Append(logs.Tool(c.name, c.content, c.status, c.action))
	t.tools[id] = c
}

// change calls do on a tool call, and updates the call's entry in the log. If
// the start of the call was not reported, change first shows the call.
func (t *talk) change(id string, do func(c *tool)) {
	c := t.tools[id]
	if c == nil {
		t.call(id, "tool", "", logs.Action{Action: "other"})
		c = t.tools[id]
	}
	do(c)
	e := logs.Tool(c.name, c.content, c.status, c.action)
	if c.status == "failed" && c.action.Result == nil {
		e.Type.Status.Reason = c.reason
	}
	t.log.Replace(c.index, e)
}

// end shows the result of a tool call.
func (t *talk) end(id string, ok bool, output string, exit *int) {
	t.change(id, func(c *tool) {
		c.status = "success"
		if !ok {
			c.status = "failed"
		}
		c.result(output, exit)
	})
}

func (c *tool) result(output string, exit *int) {
	output = logs.Clip(output)
	c.reason = output
	switch c.action.Action {
	case "command_run":
		result := logs.CommandResult{Output: output}
		if exit != nil {
			result.Exit = &logs.Exit{Type: "exit_code", Code: *exit}
		}
		c.action.Result = result
	case "tool", "other", "search", "web_fetch":
		if output != "" {
			c.action.Result = logs.ToolResult{Type: "markdown", Value: output}
		}
	}
}

// action classifies a tool call by its name and arguments, because agents use different
// names for the same tools. It also returns the log entry's content.
func action(name string, args map[string]any) (logs.Action, string) {
	get := func(names ...string) string {
		for _, n := range names {
			if s, ok := args[n].(string); ok && s != "" {
				return s
			}
		}
		return ""
	}
	path := get("file_path", "filePath", "path", "absolute_path", "notebook_path")
	switch n := strings.ToLower(name); n {
	case "bash", "shell", "exec", "exec_command", "run_shell_command", "local_shell":
		if command := get("command", "cmd"); command != "" {
			return logs.Action{Action: "command_run", Command: command}, command
		}
	case "read", "read_file", "notebookread":
		return logs.Action{Action: "file_read", Path: path}, path
	case "write", "write_file":
		return logs.Action{Action: "file_edit", Path: path, Changes: []logs.FileEdit{{Action: "write", Content: logs.Clip(get("content"))}}}, path
	case "edit", "replace", "multiedit", "notebookedit", "patch":
		return logs.Action{Action: "file_edit", Path: path, Changes: []logs.FileEdit{{Action: "edit", Diff: oldNew(get("old_string", "oldString"), get("new_string", "newString"))}}}, path
	case "grep", "glob", "search_file_content", "list", "ls", "list_directory", "websearch", "google_web_search":
		query := get("pattern", "query", "path", "dir_path")
		return logs.Action{Action: "search", Query: query}, query
	case "webfetch", "web_fetch":
		url := get("url", "prompt")
		return logs.Action{Action: "web_fetch", URL: url}, url
	case "task":
		return logs.Action{Action: "task_create", Description: get("description", "prompt")}, get("description")
	case "exitplanmode", "plan":
		return logs.Action{Action: "plan_presentation", Plan: logs.Clip(get("plan"))}, ""
	case "todowrite", "todoread", "write_todos":
		return logs.Action{Action: "todo_management", Todos: todos(args["todos"])}, ""
	}
	return logs.Action{Action: "tool", ToolName: name, Arguments: args}, name
}

// oldNew shows a replacement as a difference. It truncates the difference for
// the log.
func oldNew(before, after string) string { return logs.Clip(difference(before, after)) }

func todos(v any) []logs.Todo {
	list, _ := v.([]any)
	var out []logs.Todo
	for _, one := range list {
		m, _ := one.(map[string]any)
		content, _ := m["content"].(string)
		if content == "" {
			content, _ = m["description"].(string)
		}
		status, _ := m["status"].(string)
		priority, _ := m["priority"].(string)
		out = append(out, logs.Todo{Content: content, Status: status, Priority: priority})
	}
	return out
}

// textOf returns the text in v. v may be a string, a list of blocks with text,
// or other JSON. Other JSON is returned unchanged.
func textOf(v json.RawMessage) string {
	var s string
	if len(v) == 0 || json.Unmarshal(v, &s) == nil {
		return s
	}
	var blocks []struct {
		Type, Text string
	}
	if json.Unmarshal(v, &blocks) == nil {
		var parts []string
		for _, b := range blocks {
			if b.Text != "" {
				parts = append(parts, b.Text)
			} else if b.Type != "" {
				parts = append(parts, "["+b.Type+"]")
			}
		}
		return strings.Join(parts, "\n")
	}
	return string(v)
}
