package executor

import (
	"encoding/json"
	"fmt"

	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

// claudeEvents reads `claude -p --output-format stream-json --verbose`.
type claudeEvents struct{}

type claudeEvent struct {
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	Model     string `json:"model"`
	Message   struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Error      any             `json:"error"`
	Attempt    int             `json:"attempt"`
	MaxRetries int             `json:"max_retries"`
	IsError    bool            `json:"is_error"`
	Result     string          `json:"result"`
	Errors     json.RawMessage `json:"errors"`
	Cost       float64         `json:"total_cost_usd"`
	Usage      struct {
		Input  int64 `json:"input_tokens"`
		Create int64 `json:"cache_creation_input_tokens"`
		Read   int64 `json:"cache_read_input_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
}

type claudeBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     map[string]any  `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   json.RawMessage `json:"content"`
}

func (*claudeEvents) event(t *talk, raw json.RawMessage, kind string) {
	var e claudeEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		t.system(fmt.Sprintf("%s event: %s", kind, raw))
		return
	}
	t.begin(e.SessionID)
	switch kind {
	case "system":
		switch e.Subtype {
		case "init":
			t.system("model " + e.Model)
		case "api_retry":
			t.failed(fmt.Sprintf("the model does not respond; try %d of %d: %v", e.Attempt, e.MaxRetries, e.Error))
		default:
			t.system("system: " + e.Subtype)
		}
	case "assistant", "user":
		for _, b := range claudeBlocks(e.Message.Content) {
			b.show(t, kind)
		}
	case "result":
		t.endText()
		t.usage(logs.Usage{TokensIn: e.Usage.Input + e.Usage.Create + e.Usage.Read, TokensOut: e.Usage.Output, Cost: int64(e.Cost * 1e6)})
		if e.IsError {
			t.result.Failure = e.Result
			if e.Result == "" {
				t.result.Failure = e.Subtype
			}
			t.failed(t.result.Failure)
		} else if e.Result != "" {
			t.result.Summary = e.Result
		}
	default:
		t.system(kind)
	}
}

func claudeBlocks(content json.RawMessage) []claudeBlock {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []claudeBlock{{Type: "text", Text: text}}
	}
	var blocks []claudeBlock
	json.Unmarshal(content, &blocks) // other content is in the raw log
	return blocks
}

func (b claudeBlock) show(t *talk, role string) {
	switch b.Type {
	case "text":
		if role == "assistant" {
			t.say(logs.AssistantMessage, b.Text)
		} else {
			t.say(logs.UserMessage, b.Text)
		}
	case "thinking":
		t.say(logs.Thinking, b.Thinking)
	case "tool_use":
		a, content := action(b.Name, b.Input)
		t.call(b.ID, b.Name, content, a)
	case "tool_result":
		t.end(b.ToolUseID, !b.IsError, textOf(b.Content), nil)
	}
}
