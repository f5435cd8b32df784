// Package modeltest provides a model that follows a script, for tests that
// drive real coding agents. It implements those parts of four vendors' APIs
// that agents need, on loopback, and calls one tool after the other.
package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Step is a tool call.
type Step struct {
	// Tools lists tool names, or the ends of tool names after _ or a dot. The
	// model calls the first offered tool that matches.
	Tools []string
	// Args returns the arguments for the tool named tool. results holds the
	// results of the previous steps as JSON.
	Args func(tool string, results []string) map[string]any
	// Skip reports whether the script continues with the next step if no
	// offered tool matches. Otherwise, the script ends.
	Skip bool
}

// Model is a running model.
type Model struct {
	URL string

	mark  string
	steps []Step
	done  string

	turns    atomic.Int64 // numbers messages and calls, because agents treat equal IDs as one
	mu       sync.Mutex
	asked    []string // names of the most recently offered tools
	called   []int    // step of each call, in order
	received []string // results, by step
}

// New starts a model. The script starts again after each message that contains
// mark. When all steps have results, the model says done.
func New(t testing.TB, mark, done string, steps ...Step) *Model {
	m := &Model{mark: mark, done: done, steps: steps, received: make([]string, len(steps))}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", m.anthropic)
	mux.HandleFunc("POST /v1/responses", m.responses)
	mux.HandleFunc("POST /v1/chat/completions", m.chat)
	mux.HandleFunc("POST /v1beta/models/{call}", m.gemini)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{}") })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	m.URL = server.URL
	return m
}

// Offered returns the names of the tools that the agent offered most recently.
func (m *Model) Offered() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

// move is the model's next action: text or a tool call.
type move struct {
	text, tool string
	names      []string // names in the step; tool is the one of them that was offered
	args       map[string]any
	call       string // ID of the call
}

// mostTurns and turnsOfStep limit the number of turns, in case results get
// lost: in a conversation, and for each step.
const mostTurns, turnsOfStep = 100, 4

// next chooses the next move. messages is the conversation, and result reports
// whether a message is a tool result.
func (m *Model) next(messages []json.RawMessage, result func(json.RawMessage) bool, tools []string) move {
	if len(tools) == 0 {
		return move{text: "A title"}
	}
	m.mu.Lock()
	m.asked = tools
	m.mu.Unlock()
	var results []string
	for _, message := range messages {
		switch {
		case result(message):
			results = append(results, string(message))
		case bytes.Contains(message, []byte(m.mark)):
			results = nil
		}
	}
	if m.turns.Load() > mostTurns+turnsOfStep*int64(len(m.steps)) {
		return move{text: "the conversation does not end"}
	}
	at, tool := m.begin(results, tools)
	switch {
	case at < 0:
		return move{text: m.done}
	case tool == "":
		return move{text: fmt.Sprintf("no tool %v among %v", m.steps[at].Tools, tools)}
	}
	return move{tool: tool, names: m.steps[at].Tools, args: m.steps[at].Args(tool, results), call: fmt.Sprintf("call_%d", m.turns.Add(1))}
}

func read(w http.ResponseWriter, r *http.Request, v any) bool {
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	w.Header().Set("Content-Type", "text/event-stream")
	return true
}

type object = map[string]any

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot fail: these are maps of strings
	}
	return string(data)
}

func (m *Model) anthropic(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Messages []json.RawMessage
		Tools    []struct{ Name string }
		Stream   bool
	}
	if !read(w, r, &in) {
		return
	}
	var tools []string
	for _, t := range in.Tools {
		tools = append(tools, t.Name)
	}
	next := m.next(in.Messages, func(m json.RawMessage) bool { return bytes.Contains(m, []byte(`"tool_result"`)) }, tools)
	usage := object{"input_tokens": 120, "output_tokens": 20}
	stop := "end_turn"
	block, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": next.text}
	whole := object{"type": "text", "text": next.text}
	if next.tool != "" {
		stop = "tool_use"
		block = object{"type": "tool_use", "id": next.call, "name": next.tool, "input": object{}}
		delta = object{"type": "input_json_delta", "partial_json": text(next.args)}
		whole = object{"type": "tool_use", "id": next.call, "name": next.tool, "input": next.args}
	}
	message := object{"id": fmt.Sprintf("msg_%d", m.turns.Add(1)), "type": "message", "role": "assistant", "model": "stub-model", "content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage}
	if !in.Stream {
		w.Header().Set("Content-Type", "application/json")
		message["content"], message["stop_reason"] = []any{whole}, stop
		io.WriteString(w, text(message))
		return
	}
	for _, e := range []object{
		{"type": "message_start", "message": message},
		{"type": "content_block_start", "index": 0, "content_block": block},
		{"type": "content_block_delta", "index": 0, "delta": delta},
		{"type": "content_block_stop", "index": 0},
		{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage},
		{"type": "message_stop"},
	} {
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], text(e))
	}
}

func (m *Model) responses(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Input []json.RawMessage
		Tools []struct {
			Type, Name string
			Tools      []struct{ Name string }
		}
	}
	if !read(w, r, &in) {
		return
	}
	var tools []string
	spaces := map[string]string{}
	for _, t := range in.Tools {
		tools = append(tools, t.Name)
		for _, inner := range t.Tools {
			tools = append(tools, inner.Name)
			spaces[inner.Name] = t.Name
		}
	}
	script := len(tools) == 0 && slices.ContainsFunc(in.Input, func(m json.RawMessage) bool { return bytes.Contains(m, []byte(`"additional_tools"`)) })
	if script {
		tools = m.unseen()
	}
	next := m.next(in.Input, func(m json.RawMessage) bool { return bytes.Contains(m, []byte(`_call_output"`)) }, tools)
	id := fmt.Sprintf("item_%d", m.turns.Add(1))
	item := object{"id": id, "type": "message", "role": "assistant", "status": "completed", "content": []any{object{"type": "output_text", "text": next.text, "annotations": []any{}}}}
	switch {
	case next.tool != "" && script:
		item = object{"id": id, "type": "custom_tool_call", "status": "completed", "call_id": next.call, "name": "exec", "namespace": "functions", "input": next.script()}
	case next.tool != "":
		item = object{"id": id, "type": "function_call", "status": "completed", "call_id": next.call, "name": next.tool, "arguments": text(next.args)}
		if space := spaces[next.tool]; space != "" {
			item["namespace"] = space
		}
	}
	usage := object{"input_tokens": 120, "output_tokens": 20, "total_tokens": 140, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0}}
	for _, e := range []object{
		{"type": "response.created", "response": object{"id": "resp_" + id}},
		{"type": "response.output_item.added", "output_index": 0, "item": item},
		{"type": "response.output_item.done", "output_index": 0, "item": item},
		{"type": "response.completed", "response": object{"id": "resp_" + id, "output": []any{item}, "usage": usage}},
	} {
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], text(e))
	}
}

func (m *Model) chat(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Messages []json.RawMessage
		Tools    []struct{ Function struct{ Name string } }
	}
	if !read(w, r, &in) {
		return
	}
	var tools []string
	for _, t := range in.Tools {
		tools = append(tools, t.Function.Name)
	}
	next := m.next(in.Messages, func(m json.RawMessage) bool { return bytes.Contains(m, []byte(`"tool_call_id"`)) }, tools)
	delta, stop := object{"role": "assistant", "content": next.text}, "stop"
	if next.tool != "" {
		delta = object{"role": "assistant", "tool_calls": []any{object{"index": 0, "id": next.call, "type": "function", "function": object{"name": next.tool, "arguments": text(next.args)}}}}
		stop = "tool_calls"
	}
	id := fmt.Sprintf("chat_%d", m.turns.Add(1))
	chunk := func(delta object, stop any, more object) {
		e := object{"id": id, "object": "chat.completion.chunk", "created": 1, "model": "stub-model", "choices": []any{object{"index": 0, "delta": delta, "finish_reason": stop}}}
		for k, v := range more {
			e[k] = v
		}
		fmt.Fprintf(w, "data: %s\n\n", text(e))
	}
	chunk(delta, nil, nil)
	chunk(object{}, stop, object{"usage": object{"prompt_tokens": 120, "completion_tokens": 20, "total_tokens": 140}})
	io.WriteString(w, "data: [DONE]\n\n")
}

func (m *Model) gemini(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Contents []json.RawMessage
		Tools    []struct {
			FunctionDeclarations []struct{ Name string }
		}
	}
	if !read(w, r, &in) {
		return
	}
	var tools []string
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			tools = append(tools, f.Name)
		}
	}
	next := m.next(in.Contents, func(m json.RawMessage) bool { return bytes.Contains(m, []byte(`"functionResponse"`)) }, tools)
	part := object{"text": next.text}
	if next.tool != "" {
		part = object{"functionCall": object{"name": next.tool, "args": next.args}}
	}
	out := object{
		"candidates":    []any{object{"index": 0, "finishReason": "STOP", "content": object{"role": "model", "parts": []any{part}}}},
		"usageMetadata": object{"promptTokenCount": 120, "candidatesTokenCount": 20, "totalTokenCount": 140}, "modelVersion": "stub-model",
	}
	if strings.HasSuffix(r.PathValue("call"), ":streamGenerateContent") {
		fmt.Fprintf(w, "data: %s\n\n", text(out))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, text(out))
}
