package executor

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/usage"
)

// codexEvents reads `codex exec --json`.
type codexEvents struct{}

type codexEvent struct {
	ThreadID string `json:"thread_id"`
	Item     struct {
		ID        string          `json:"id"`
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Message   string          `json:"message"`
		Command   string          `json:"command"`
		Output    string          `json:"aggregated_output"`
		ExitCode  *int            `json:"exit_code"`
		Status    string          `json:"status"`
		Server    string          `json:"server"`
		Tool      string          `json:"tool"`
		Arguments any             `json:"arguments"`
		Result    json.RawMessage `json:"result"`
		Error     json.RawMessage `json:"error"`
		Query     string          `json:"query"`
		Changes   []struct {
			Path string `json:"path"`
			Kind string `json:"kind"`
		} `json:"changes"`
		Items []struct {
			Text      string `json:"text"`
			Completed bool   `json:"completed"`
		} `json:"items"`
	} `json:"item"`
	Usage struct {
		Input  int64 `json:"input_tokens"` // includes the cache
		Read   int64 `json:"cached_input_tokens"`
		Write  int64 `json:"cache_write_input_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"usage"` // of the whole session
	Message string `json:"message"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (*codexEvents) event(t *talk, raw json.RawMessage, kind string) {
	var e codexEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		t.system(fmt.Sprintf("%s event: %s", kind, raw))
		return
	}
	switch kind {
	case "thread.started":
		t.begin(e.ThreadID)
	case "turn.started":
	case "turn.completed":
		u := usage.Tokens{In: e.Usage.Input, Out: e.Usage.Output, CacheRead: e.Usage.Read, CacheWrite: e.Usage.Write}
		t.usage(usage.Report{Models: []usage.Model{{Name: t.model, Tokens: u.Since(t.used)}}, Coverage: usage.Full})
	case "turn.failed":
		t.result.Failure = e.Error.Message
		t.failed(e.Error.Message)
	case "error":
		t.failed(e.Message)
	case "item.started", "item.updated", "item.completed":
		e.item(t, kind == "item.completed")
	default:
		t.system(kind)
	}
}

// item shows an item of the turn. It updates the item if it was already shown.
func (e *codexEvent) item(t *talk, done bool) {
	i := &e.Item
	switch i.Type {
	case "agent_message":
		if done {
			t.say(logs.AssistantMessage, i.Text)
		}
		return
	case "reasoning":
		if done {
			t.say(logs.Thinking, i.Text)
		}
		return
	case "error":
		t.system(i.Message) // a warning; the turn continues
		return
	case "todo_list":
		var list []logs.Todo
		for _, one := range i.Items {
			status := "pending"
			if one.Completed {
				status = "completed"
			}
			list = append(list, logs.Todo{Content: one.Text, Status: status})
		}
		t.once(i.ID, "todo_list", "", logs.Action{Action: "todo_management", Todos: list})
	case "command_execution":
		t.once(i.ID, "shell", i.Command, logs.Action{Action: "command_run", Command: i.Command})
	case "file_change":
		edit := logs.Action{Action: "file_edit"}
		var paths []string
		for _, c := range i.Changes {
			paths = append(paths, c.Path)
			edit.Changes = append(edit.Changes, logs.FileEdit{Action: map[string]string{"add": "write", "delete": "delete", "update": "edit"}[c.Kind]})
		}
		edit.Path = strings.Join(paths, ", ")
		t.once(i.ID, "file_change", edit.Path, edit)
	case "mcp_tool_call":
		t.once(i.ID, i.Server+"."+i.Tool, i.Tool, logs.Action{Action: "tool", ToolName: i.Server + "." + i.Tool, Arguments: i.Arguments})
	case "web_search":
		t.once(i.ID, "web_search", i.Query, logs.Action{Action: "search", Query: i.Query})
	default:
		if done {
			t.system(i.Type)
		}
		return
	}
	if !done {
		return
	}
	output := i.Output
	if output == "" {
		output = codexResult(i.Result, i.Error)
	}
	t.end(i.ID, i.Status != "failed" && i.Status != "declined" && (i.ExitCode == nil || *i.ExitCode == 0), output, i.ExitCode)
}

func codexResult(result, problem json.RawMessage) string {
	var r struct {
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(result, &r) == nil && len(r.Content) > 0 {
		return textOf(r.Content)
	}
	var p struct {
		Message string `json:"message"`
	}
	json.Unmarshal(problem, &p) // empty if there is no error message
	return p.Message
}

// once shows a tool call, or updates it if it was already shown.
func (t *talk) once(id, name, content string, a logs.Action) {
	if t.tools[id] == nil {
		t.call(id, name, content, a)
		return
	}
	t.change(id, func(c *tool) { c.content, c.action = content, a })
}
