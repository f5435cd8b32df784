package logs

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Entry is one event in a log. Its types and fields have the names that other
// task boards use.
type Entry struct {
	At      time.Time `json:"timestamp"`
	Type    Type      `json:"entry_type"`
	Content string    `json:"content"` // for people
	// Metadata holds additional data from the agent.
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// Kind is the kind of an entry.
type Kind string

// Kinds of entries.
const (
	UserMessage      Kind = "user_message"
	UserFeedback     Kind = "user_feedback" // a person refused a tool call
	AssistantMessage Kind = "assistant_message"
	Thinking         Kind = "thinking"
	SystemMessage    Kind = "system_message"
	ErrorMessage     Kind = "error_message"
	ToolUse          Kind = "tool_use"
	UsageReport      Kind = "usage"
	Plan             Kind = "plan"
)

// Type is the kind of an entry and that kind's data.
type Type struct {
	Kind Kind `json:"type"`
	// DeniedTool is set for UserFeedback.
	DeniedTool string `json:"denied_tool,omitempty"`
	// Error is set for ErrorMessage.
	Error *ErrorType `json:"error_type,omitempty"`
	// Tool, Action and Status are set for ToolUse.
	Tool   string  `json:"tool_name,omitempty"`
	Action *Action `json:"action_type,omitempty"`
	Status *Status `json:"status,omitempty"`
	// Usage is set for UsageReport.
	Usage *Usage `json:"usage,omitempty"`
	// Todos is set for Plan.
	Todos []Todo `json:"todos,omitempty"`
}

// ErrorType is setup_required if the agent must be installed or signed in.
// Otherwise it is other.
type ErrorType struct {
	Type string `json:"type"`
}

// Usage is what a run has consumed so far.
type Usage struct {
	TokensIn  int64 `json:"tokens_in"`
	TokensOut int64 `json:"tokens_out"`
	// Cost is in millionths of a US dollar. 0 means that the agent does not
	// report the cost.
	Cost int64 `json:"cost_micros,omitempty"`
}

// Action describes what a tool does. Its Action is file_read, file_edit, command_run,
// search, web_fetch, tool, task_create, plan_presentation, todo_management or other.
type Action struct {
	Action      string         `json:"action"`
	Path        string         `json:"path,omitempty"`
	Changes     []FileEdit     `json:"changes,omitempty"`
	Command     string         `json:"command,omitempty"`
	Query       string         `json:"query,omitempty"`
	URL         string         `json:"url,omitempty"`
	ToolName    string         `json:"tool_name,omitempty"`
	Arguments   any            `json:"arguments,omitempty"`
	Result      any            `json:"result,omitempty"` // CommandResult or ToolResult
	Todos       []Todo         `json:"todos,omitempty"`
	Plan        string         `json:"plan,omitempty"`
	Description string         `json:"description,omitempty"`
	More        map[string]any `json:"more,omitempty"`
}

// FileEdit is a change of a file. Its Action is write, delete, rename or edit.
type FileEdit struct {
	Action  string `json:"action"`
	Content string `json:"content,omitempty"`
	NewPath string `json:"new_path,omitempty"`
	Diff    string `json:"unified_diff,omitempty"`
}

// CommandResult is the result of a command.
type CommandResult struct {
	Exit   *Exit  `json:"exit_status,omitempty"`
	Output string `json:"output,omitempty"`
}

// Exit is {"type":"exit_code","code":N}.
type Exit struct {
	Type string `json:"type"`
	Code int    `json:"code"`
}

// ToolResult is the result of a tool: markdown or JSON.
type ToolResult struct {
	Type  string `json:"type"`
	Value any    `json:"value"`
}

// Todo is a step of a plan.
type Todo struct {
	Content  string `json:"content"`
	Status   string `json:"status,omitempty"`
	Priority string `json:"priority,omitempty"`
}

// Status is the state of a tool call: created, success, failed, denied,
// pending_approval or timed_out.
type Status struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// Say, Think, User, System and Failed return entries that have only text.
func Say(text string) Entry    { return Entry{Type: Type{Kind: AssistantMessage}, Content: text} }
func Think(text string) Entry  { return Entry{Type: Type{Kind: Thinking}, Content: text} }
func User(text string) Entry   { return Entry{Type: Type{Kind: UserMessage}, Content: text} }
func System(text string) Entry { return Entry{Type: Type{Kind: SystemMessage}, Content: text} }
func Failed(text string) Entry {
	return Entry{Type: Type{Kind: ErrorMessage, Error: &ErrorType{"other"}}, Content: text}
}

// Tool returns the entry of a tool call.
func Tool(name, content, status string, a Action) Entry {
	return Entry{Type: Type{Kind: ToolUse, Tool: name, Action: &a, Status: &Status{Status: status}}, Content: content}
}

// maxText is the maximum size, in bytes, of a string in an entry. A longer
// string is truncated in the middle, because the start and end of a long output
// are the most useful parts.
const maxText = 32 << 10

// Clip shortens text longer than 32 KiB, and puts a note about the omission in
// its middle.
func Clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	head, tail := text[:maxText/2], text[len(text)-maxText/2:]
	for len(head) > 0 && !utf8.RuneStart(text[len(head)]) {
		head = head[:len(head)-1]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s\n[%d bytes omitted]\n%s", head, len(text)-len(head)-len(tail), tail)
}

// encode returns an entry as JSON, in the form that readers get.
func (e Entry) encode() ([]byte, error) {
	e.At = e.At.UTC().Truncate(time.Millisecond)
	e.Content = Clip(e.Content)
	return marshal(struct {
		Type    string `json:"type"`
		Content Entry  `json:"content"`
	}{"NORMALIZED_ENTRY", e})
}

// maxEntry is the maximum size of an entry's JSON in bytes. It is needed in
// addition to maxText, because an agent's arguments and results can consist of
// many short strings.
const maxEntry = 256 << 10

// small returns the entry without the fields that may be long.
func (e Entry) small() Entry {
	e.Metadata = nil
	if e.Type.Action != nil {
		a := *e.Type.Action
		a.Arguments, a.Result, a.Changes, a.More = nil, nil, nil, nil
		a.Description = "arguments and result were omitted because they are too long"
		e.Type.Action = &a
	}
	e.Type.Todos = nil
	return e
}

// Stream is the source of a raw line.
type Stream string

// The streams of a process.
const (
	Stdout Stream = "STDOUT"
	Stderr Stream = "STDERR"
)

// Line is a line of output, as an entry in the raw channel.
type Line struct {
	Stream Stream `json:"type"`
	// Content is the line as written, including colours, without the newline.
	// Bytes that are not UTF-8 are replaced by U+FFFD.
	Content string `json:"content"`
	// Base64 holds the original bytes if some were replaced in Content.
	Base64 string `json:"base64,omitempty"`
	// Cut reports whether the line continues in the next entry.
	Cut bool `json:"cut,omitempty"`
}

func line(s Stream, content []byte, cut bool) ([]byte, error) {
	l := Line{Stream: s, Cut: cut}
	if utf8.Valid(content) {
		l.Content = string(content)
	} else {
		l.Content, l.Base64 = strings.ToValidUTF8(string(content), "\uFFFD"), base64.StdEncoding.EncodeToString(content)
	}
	return marshal(l)
}

// marshal encodes v as JSON without escaping < and >.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
