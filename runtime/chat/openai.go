package chat

import (
	"encoding/json"
	"time"
)

// encoder encodes events in a library's format. One event can become several
// values.
type encoder interface {
	encode(e event) []any
	// done returns the value that ends a completed stream.
	done() string
}

// chunks encodes events as chunks of OpenAI's chat.completions. Data for which
// the format has no field is in the field "event", which OpenAI's library passes
// on. An open question is a JSON object in the content of its own chunk.
type chunks struct {
	id, model string
	created   int64
	spoke     bool // whether text was sent before; new text then starts a paragraph
}

func newChunks(r Run, model string, resumed bool) *chunks {
	return &chunks{"chatcmpl-" + r.Process, model, r.Began.Unix(), resumed}
}

type chunk struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"` // Unix seconds
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
		if e.asked.Status != "open" { // clients must not show an ended question again
			e.asked.Type = "elicitation-update"
			return c.chunk(nil, e.asked)
		}
		text, err := json.Marshal(e.asked)
		if err != nil {
			panic("chat: question " + e.asked.ElicitationID + ": " + err.Error()) // cannot happen: plain data
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

// completion returns the response in OpenAI's format if it is not streamed.
func (b *buffer) completion(r Run, model string) map[string]any {
	return map[string]any{"id": "chatcmpl-" + r.Process, "object": "chat.completion", "created": r.Began.UTC().Truncate(time.Second).Unix(), "model": model,
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": b.text()}}}}
}
