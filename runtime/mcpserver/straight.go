package mcpserver

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
)

// The straight way answers tools/call of a read-only tool without the SDK,
// which spends about 1 ms of CPU on each call over HTTP: a session or two, five
// passes over the answer (BenchmarkHTTP). It is taken only when everything
// about the request is as it should be; whatever is odd goes the long way, so
// that the SDK words it. TestBothWaysAnswerAlike holds the two together.

// toolCall is the params of tools/call.
type toolCall struct {
	name string
	args json.RawMessage
}

// requestMeta is what _meta says of the request in the new era.
type requestMeta struct {
	version string
	caller  contract.Caller
	full    bool // all that the protocol demands is there
}

func metaOf(f *frame) (m requestMeta) {
	raw := f.member("_meta")
	if raw == nil {
		return m
	}
	var said struct {
		Version      string                         `json:"io.modelcontextprotocol/protocolVersion"`
		Capabilities map[string]json.RawMessage     `json:"io.modelcontextprotocol/clientCapabilities"`
		Client       struct{ Name, Version string } `json:"io.modelcontextprotocol/clientInfo"`
	}
	err := json.Unmarshal(raw, &said)
	m.version, m.caller = said.Version, contract.Caller(said.Client)
	m.full = err == nil && said.Capabilities != nil
	for _, capability := range said.Capabilities {
		m.full = m.full && capability[0] == '{'
	}
	return m
}

// straight returns the call of f if it may go the straight way.
func (d *httpDoor) straight(f *frame) (*contract.Tool, toolCall, bool) {
	var c toolCall
	if f.kind != call || f.method != "tools/call" {
		return nil, c, false
	}
	fields, err := contract.Fields(f.params)
	if err != nil {
		return nil, c, false
	}
	for _, field := range fields {
		switch field.Name {
		case "name":
			if json.Unmarshal(field.Value, &c.name) != nil {
				return nil, c, false
			}
		case "arguments":
			c.args = field.Value
		case "_meta":
		default:
			return nil, c, false
		}
	}
	tool := d.server.current.Load().tools[c.name]
	return tool, c, tool != nil && tool.ReadOnly
}

// straightModern answers f if it is a plain call in the version without
// sessions, and reports whether it did.
func (d *httpDoor) straightModern(w http.ResponseWriter, r *http.Request, f *frame) bool {
	tool, c, ok := d.straight(f)
	if !ok {
		return false
	}
	meta := metaOf(f)
	if r.Header.Get(versionHeader) != modernVersion || meta.version != modernVersion || !meta.full ||
		r.Header.Get(methodHeader) != f.method || r.Header.Get(nameHeader) != c.name {
		return false
	}
	a := d.server.run(r.Context(), tool, meta.caller, c.args)
	d.server.writeAnswer(w, f.id, a, wireResult{
		Meta: map[string]any{mcp.MetaKeyServerInfo: mcp.Implementation{
			Name: d.server.opts.Name, Version: d.server.opts.Version,
		}},
		ResultType: "complete",
	})
	return true
}

// straightLegacy does the same within a session.
func (d *httpDoor) straightLegacy(w http.ResponseWriter, r *http.Request, f *frame, s *session) bool {
	if f.method == "notifications/cancelled" {
		d.sessions.cancel(s, string(f.member("requestId")))
		return false // the SDK may hold that call
	}
	tool, c, ok := d.straight(f)
	if !ok || !legacyVersion(r.Header.Get(versionHeader)) || metaOf(f).version != "" {
		return false
	}
	ctx, done := d.sessions.begin(r.Context(), s, string(f.id))
	defer done()
	a := d.server.run(ctx, tool, s.caller, c.args)
	d.server.writeAnswer(w, f.id, a, wireResult{})
	return true
}

// legacyVersion accepts no header too: before 2025-06-18 there was none.
func legacyVersion(v string) bool {
	switch v {
	case "", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25":
		return true
	}
	return false
}

// wireResult is the result of tools/call as it is written.
type wireResult struct {
	Meta       map[string]any  `json:"_meta,omitempty"`
	Content    []wireText      `json:"content"`
	Structured json.RawMessage `json:"structuredContent,omitempty"`
	IsError    bool            `json:"isError,omitempty"`
	ResultType string          `json:"resultType,omitempty"`
}

type wireText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func (s *Server) writeAnswer(w http.ResponseWriter, id json.RawMessage, a answer, result wireResult) {
	result.Content = make([]wireText, len(a.text))
	for i, text := range a.text {
		result.Content[i] = wireText{Type: "text", Text: text}
	}
	result.Structured, result.IsError = a.structured, a.isError
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	b.WriteString(`{"jsonrpc":"2.0","id":`)
	b.Write(id)
	b.WriteString(`,"result":`)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(result); err != nil {
		refuseHTTP(w, http.StatusInternalServerError, id, wireError(s.protocolError("encode answer", err)))
		return
	}
	b.Truncate(b.Len() - 1) // the encoder's newline
	b.WriteByte('}')
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	_, _ = w.Write(b.Bytes()) // nobody is left to tell
}
