package executor

import (
	"encoding/json"
	"fmt"

	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/usage"
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
		geminiUsage
		Models map[string]geminiUsage `json:"models"`
	} `json:"stats"`
}

// geminiUsage is the usage of a run. Input includes Cached, and Output lacks the tokens
// of thoughts, which Total includes.
type geminiUsage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Cached int64 `json:"cached"`
	Total  int64 `json:"total_tokens"`
}

func (u geminiUsage) tokens() usage.Tokens {
	return usage.Tokens{In: u.Input, Out: max(u.Output, u.Total-u.Input), CacheRead: u.Cached}
}

func (e *geminiEvent) usage(model string) usage.Report {
	sums := map[string]usage.Tokens{}
	for name, u := range e.Stats.Models {
		sums[name] = u.tokens()
	}
	if len(sums) == 0 {
		sums[model] = e.Stats.tokens()
	}
	return usage.Report{Models: models(sums), Coverage: usage.Full}
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
		t.model = e.Model
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
		t.usage(e.usage(t.model))
		if e.Status != "success" {
			t.result.Failure = "the agent failed: " + e.Error.Message
			t.failed(t.result.Failure)
		}
	default:
		t.system(kind)
	}
}
