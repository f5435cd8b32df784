package chat

import (
	"encoding/json"
	"time"
)

// encoder writes events in the form of a library: each as any number of values.
type encoder interface {
	encode(e event) []any
	// done is what closes a stream that has come to its end.
	done() string
}

// chunks are those of OpenAI's chat.completions. What its library does not know
// stands beside the choices, in event, where it is passed on unread. A question
// is an object in JSON as content, alone in its chunk.
type chunks struct {
	id, model string
	created   int64
	spoke     bool // something was said before: a new text begins a paragraph
}

func newChunks(r Run, model string, resumed bool) *chunks {
	return &chunks{"chatcmpl-" + r.Process, model, r.Began.Unix(), resumed}
}

type chunk struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"` // seconds since 1970
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Event   any      `json:"event,omitempty"`
}

type choice struct {
	Index  int            `json:"index"`
	Delta  map[string]any `json:"delta"`
	Finish *string        `json:"finish_reason"`
}

func (c *chunks) chunk(delta map[string]any, about any) []any {
	if delta == nil {
		delta = map[string]any{}
	}
	return []any{chunk{c.id, "chat.completion.chunk", c.created, c.model, []choice{{Delta: delta}}, about}}
}

func (c *chunks) encode(e event) []any {
	switch e.kind {
	case starts:
		return c.chunk(map[string]any{"role": "assistant", "content": ""}, nil)
	case says:
		text := e.text
		if e.first && c.spoke {
			text = "\n\n" + text
		}
		c.spoke = true
		return c.chunk(map[string]any{"content": text}, nil)
	case thinks:
		return c.chunk(map[string]any{"reasoning_content": e.text}, nil)
	case uses:
		return c.chunk(nil, map[string]any{"type": "tool", "index": e.entry, "tool": e.tool})
	case passes:
		return c.chunk(nil, map[string]any{"type": "entry", "index": e.entry, "entry": e.raw})
	case asks:
		e.asked.Type = "elicitation-request"
		if e.asked.Status != "open" { // what has ended is not to be shown as a question again
			e.asked.Type = "elicitation-update"
			return c.chunk(nil, e.asked)
		}
		text, err := json.Marshal(e.asked)
		if err != nil {
			panic("chat: question " + e.asked.ElicitationID + ": " + err.Error()) // plain data
		}
		return c.chunk(map[string]any{"content": string(text)}, nil)
	case replies:
		return c.chunk(nil, map[string]any{"type": "elicitation-result", "result": e.reply})
	}
	reason, about := "stop", any(nil)
	if e.text != "" {
		about = map[string]any{"type": "error", "message": e.text}
	}
	last := chunk{c.id, "chat.completion.chunk", c.created, c.model, []choice{{Delta: map[string]any{}, Finish: &reason}}, about}
	return []any{last}
}

func (c *chunks) done() string { return "[DONE]" }

// completion is the answer that is not streamed, in OpenAI's form.
func (b *buffer) completion(r Run, model string) map[string]any {
	return map[string]any{"id": "chatcmpl-" + r.Process, "object": "chat.completion", "created": r.Began.UTC().Truncate(time.Second).Unix(), "model": model,
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": b.text()}}}}
}
