package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// parts encodes events as chunks of the AI SDK's UI messages. The SDK's client
// rejects chunks of unknown types, so deskhand's own data is in data parts. In
// the bare form, a question is a chunk of its own type.
type parts struct {
	id   string
	bare bool
	open string // ID of the unfinished part; empty if none
	kind string // text or reasoning
	used map[int64]bool
}

func newParts(r Run, bare bool) *parts {
	return &parts{id: "msg-" + r.Process, bare: bare, used: map[int64]bool{}}
}

type object = map[string]any

func (p *parts) encode(e event) []any {
	if e.kind == says || e.kind == thinks {
		return p.text(e)
	}
	id := fmt.Sprintf("entry-%d", e.entry)
	switch e.kind {
	case starts:
		return []any{object{"type": "start", "messageId": p.id}, object{"type": "start-step"}}
	case uses:
		return append(p.end(), p.tool(e, id)...)
	case asks:
		return append(p.end(), p.question(e.asked))
	case replies:
		return append(p.end(), object{"type": "data-elicitation-result", "id": "result-" + e.reply.ElicitationID, "data": e.reply, "transient": true})
	case passes:
		return append(p.end(), object{"type": "data-entry", "id": id, "data": e.raw})
	}
	all, reason := p.end(), "stop"
	if e.text != "" {
		all, reason = append(all, object{"type": "error", "errorText": e.text}), "error"
	}
	return append(all, object{"type": "finish-step"}, object{"type": "finish", "finishReason": reason})
}

// text returns the chunks that continue a text part. If e starts a new part, they
// first end the previous part and start the new one.
func (p *parts) text(e event) (all []any) {
	kind, id := "text", fmt.Sprintf("text-%d", e.entry)
	if e.kind == thinks {
		kind = "reasoning"
	}
	if p.open != id || p.kind != kind {
		all = append(p.end(), object{"type": kind + "-start", "id": id})
		p.open, p.kind = id, kind
	}
	return append(all, object{"type": kind + "-delta", "id": id, "delta": e.text})
}

func (p *parts) end() []any {
	if p.open == "" {
		return nil
	}
	id := p.open
	p.open = ""
	return []any{object{"type": p.kind + "-end", "id": id}}
}

// tool returns the chunks for a tool call and its result. The agent has
// executed the call, so the client must not call a tool.
func (p *parts) tool(e event, id string) (all []any) {
	id = p.id + "-" + id
	if !p.used[e.entry] {
		p.used[e.entry] = true
		var input any = object{"content": e.tool.Said}
		if len(e.tool.Action) > 0 {
			input = e.tool.Action
		}
		all = append(all, object{"type": "tool-input-available", "toolCallId": id, "toolName": cmp.Or(e.tool.Name, "tool"), "input": input, "dynamic": true, "providerExecuted": true})
	}
	switch {
	case e.tool.failed():
		all = append(all, object{"type": "tool-output-error", "toolCallId": id, "errorText": cmp.Or(e.tool.Reason, e.tool.Said, e.tool.Status), "dynamic": true, "providerExecuted": true})
	case e.tool.Status == "success":
		all = append(all, object{"type": "tool-output-available", "toolCallId": id, "output": resultOf(e.tool.Action), "dynamic": true, "providerExecuted": true})
	}
	return all
}

// resultOf returns the result in an action, or nil if it has none.
func resultOf(action json.RawMessage) any {
	var a struct{ Result any }
	_ = json.Unmarshal(action, &a) // an action of another form has no result
	return a.Result
}

// question returns the part for a question. Its ID is always the same, so a
// client replaces the question's earlier state.
func (p *parts) question(q question) any {
	if !p.bare {
		return object{"type": "data-elicitation-request", "id": q.ElicitationID, "data": q}
	}
	q.Type = "elicitation-request"
	if q.Status != "open" {
		q.Type = "elicitation-update"
	}
	return q
}

func (p *parts) done() string { return "[DONE]" }

// message returns the response as a UI message if it is not streamed.
func (b *buffer) message(r Run) map[string]any {
	return object{"id": "msg-" + r.Process, "role": "assistant", "parts": []any{object{"type": "text", "text": b.text(), "state": "done"}}}
}
