package executor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/usage"
)

// claudeEvents reads `claude -p --output-format stream-json --verbose`.
type claudeEvents struct {
	calls map[string]usage.Model // by message ID
}

type claudeEvent struct {
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	Model     string `json:"model"`
	Message   struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Usage   *claudeUsage    `json:"usage"`
	} `json:"message"`
	claudeRetry
	Denials []struct {
		Tool string `json:"tool_name"`
	} `json:"permission_denials"`
	IsError bool                   `json:"is_error"`
	Result  string                 `json:"result"`
	Errors  json.RawMessage        `json:"errors"`
	Cost    float64                `json:"total_cost_usd"`
	Usage   claudeUsage            `json:"usage"`
	Models  map[string]claudeModel `json:"modelUsage"`
	// Recent is what newer versions report besides Models, which there includes the
	// earlier runs of a resumed session, as does Cost.
	Recent map[string]claudeModel `json:"model_usage_since_last_result"`
}

// claudeModel is the usage of one model.
type claudeModel struct {
	Input  int64   `json:"inputTokens"`
	Output int64   `json:"outputTokens"`
	Read   int64   `json:"cacheReadInputTokens"`
	Create int64   `json:"cacheCreationInputTokens"`
	Cost   float64 `json:"costUSD"`
}

// claudeRetry is a call of the model that did not succeed and is repeated.
type claudeRetry struct {
	Error      any `json:"error"`
	Attempt    int `json:"attempt"`
	MaxRetries int `json:"max_retries"`
}

func (r claudeRetry) String() string {
	return fmt.Sprintf("the model does not respond; try %d of %d: %v", r.Attempt, r.MaxRetries, r.Error)
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

func (c *claudeEvents) event(t *talk, raw json.RawMessage, kind string) {
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
			t.model = e.Model
			t.system("model " + e.Model)
		case "api_retry":
			t.failed(e.claudeRetry.String())
		default:
			t.system("system: " + e.Subtype)
		}
	case "assistant", "user":
		for _, b := range claudeBlocks(e.Message.Content) {
			b.show(t, kind)
		}
		c.call(t, &e)
	case "result":
		t.endText()
		t.usage(e.whole(t.model))
		if denied := e.denied(); denied != "" {
			t.failed(denied)
		}
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

// denied names the tools that the agent was not allowed to use, because nobody could be
// asked.
func (e *claudeEvent) denied() string {
	var tools []string
	for _, d := range e.Denials {
		tools = append(tools, d.Tool)
	}
	if len(tools) == 0 {
		return ""
	}
	slices.Sort(tools)
	return fmt.Sprintf("%s refused, because this executor cannot ask a person: %s; the executor claude asks, and the variant full-access allows everything",
		text.Count(len(tools), "tool call"), strings.Join(slices.Compact(tools), ", "))
}

// call adds a model call. Its events repeat the usage, and give few of the output tokens,
// which are exact only when the run ends.
func (c *claudeEvents) call(t *talk, e *claudeEvent) {
	if e.Message.ID == "" || e.Message.Usage == nil || len(c.calls) >= mostCalls {
		return
	}
	now := usage.Model{Name: e.Message.Model, Tokens: e.Message.Usage.tokens()}
	if c.calls[e.Message.ID] == now {
		return
	}
	if c.calls == nil {
		c.calls = map[string]usage.Model{}
	}
	c.calls[e.Message.ID] = now
	sums := map[string]usage.Tokens{}
	for _, one := range c.calls {
		sums[one.Name] = sums[one.Name].Plus(one.Tokens)
	}
	t.usage(usage.Report{Models: models(sums), Coverage: usage.Part})
}

// mostCalls is how many model calls of a run are counted before it ends.
const mostCalls = 10_000

// whole returns the usage of the run, which has ended.
func (e *claudeEvent) whole(model string) usage.Report {
	sums := map[string]usage.Tokens{}
	all, cost := e.Models, e.Cost
	if e.Recent != nil {
		all, cost = e.Recent, 0
	}
	for name, m := range all {
		if e.Recent != nil {
			cost += m.Cost
		}
		sums[name] = usage.Tokens{In: m.Input + m.Read + m.Create, Out: m.Output, CacheRead: m.Read, CacheWrite: m.Create}
	}
	if len(sums) == 0 {
		sums[model] = e.Usage.tokens()
	}
	return usage.Report{Models: models(sums), Cost: usage.Micros(cost), Coverage: usage.Full}
}

// models returns sums sorted by name.
func models(sums map[string]usage.Tokens) (list []usage.Model) {
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		list = append(list, usage.Model{Name: name, Tokens: sums[name]})
	}
	return list
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
