package executor

import (
	"encoding/json"
	"fmt"

	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

// geminiEvents reads `gemini --output-format stream-json`.
type geminiEvents struct{}

type geminiEvent struct {
	SessionID string          `json:"session_id"`
	Model     string          `json:"model"`
	Role      string          `json:"role"`
	Content   string          `json:"content"`
	Delta     bool            `json:"delta"`
	Tool      string          `json:"tool_name"`
	ToolID    string          `json:"tool_id"`
	Arguments map[string]any  `json:"parameters"`
	Status    string          `json:"status"`
	Output    json.RawMessage `json:"output"`
	Severity  string          `json:"severity"`
	Message   string          `json:"message"`
	Error     struct {
		Message string `json:"message"`
	} `json:"error"`
	Stats struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"stats"`
}

func (*geminiEvents) event(t *talk, raw json.RawMessage, kind string) {
	var e geminiEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		t.system(fmt.Sprintf("%s event: %s", kind, raw))
		return
	}
	switch kind {
	case "init":
		t.begin(e.SessionID)
		t.system("model " + e.Model)
	case "message":
		switch {
		case e.Role == "user": // the prompt, which is already in the log
		case e.Delta:
			t.piece(logs.AssistantMessage, e.Content)
		default:
			t.say(logs.AssistantMessage, e.Content)
		}
	case "tool_use":
		a, content := action(e.Tool, e.Arguments)
		t.call(e.ToolID, e.Tool, content, a)
	case "tool_result":
		output := textOf(e.Output)
		if output == "" {
			output = e.Error.Message
		}
		t.end(e.ToolID, e.Status == "success", output, nil)
	case "error":
		t.failed(e.Message)
	case "result":
		t.endText()
		t.usage(logs.Usage{TokensIn: e.Stats.Input, TokensOut: e.Stats.Output})
		if e.Status != "success" {
			t.result.Failure = "the agent failed: " + e.Error.Message
			t.failed(t.result.Failure)
		}
	default:
		t.system(kind)
	}
}
