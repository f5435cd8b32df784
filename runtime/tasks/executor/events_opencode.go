package executor

import (
	"encoding/json"
	"fmt"

	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

// opencodeEvents reads `opencode run --format json`.
type opencodeEvents struct{}

type opencodeEvent struct {
	SessionID string `json:"sessionID"`
	Part      struct {
		Text   string `json:"text"`
		Tool   string `json:"tool"`
		CallID string `json:"callID"`
		State  struct {
			Status   string         `json:"status"`
			Input    map[string]any `json:"input"`
			Output   string         `json:"output"`
			Error    string         `json:"error"`
			Metadata struct {
				Exit *int `json:"exit"`
			} `json:"metadata"`
		} `json:"state"`
		Tokens struct {
			Input, Output, Reasoning int64
			Cache                    struct{ Read, Write int64 }
		} `json:"tokens"`
		Cost float64 `json:"cost"`
	} `json:"part"`
	Error struct {
		Name string `json:"name"`
		Data struct {
			Message string `json:"message"`
		} `json:"data"`
	} `json:"error"`
}

func (*opencodeEvents) event(t *talk, raw json.RawMessage, kind string) {
	var e opencodeEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		t.system(fmt.Sprintf("%s event: %s", kind, raw))
		return
	}
	t.begin(e.SessionID)
	p := &e.Part
	switch kind {
	case "step_start":
	case "text":
		t.say(logs.AssistantMessage, p.Text)
	case "reasoning":
		t.say(logs.Thinking, p.Text)
	case "tool_use":
		a, content := action(p.Tool, p.State.Input)
		t.once(p.CallID, p.Tool, content, a)
		output := p.State.Output
		if output == "" {
			output = p.State.Error
		}
		t.end(p.CallID, p.State.Status == "completed", output, p.State.Metadata.Exit)
	case "step_finish": // each step reports only its own usage, so add it
		u := t.result.Usage
		u.TokensIn += p.Tokens.Input + p.Tokens.Cache.Read + p.Tokens.Cache.Write
		u.TokensOut += p.Tokens.Output + p.Tokens.Reasoning
		u.Cost += int64(p.Cost * 1e6)
		t.usage(u)
	case "error":
		message := e.Error.Data.Message
		if message == "" {
			message = e.Error.Name
		}
		t.result.Failure = message
		t.failed(message)
	default:
		t.system(kind)
	}
}
