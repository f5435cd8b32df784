package mcpserver

import (
	"bytes"
	"encoding/json"
	"maps"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
)

// The fast path answers tools/call of a read-only tool without the SDK,
// which passes over an answer several times: an answer of 12 KB costs 0.05 ms of
// CPU instead of 0.3 over stdio (BenchmarkStdioCall), 0.1 instead of 0.5 to 0.9
// over HTTP (BenchmarkHTTP). It is taken only when everything about the request
// is as it should be; whatever is odd goes the long way, so that the SDK words
// it. TestBothWaysAnswerAlike holds the two together.

// fastCall is a call that can take the fast path.
type fastCall struct {
	id     json.RawMessage // as written
	tool   *contract.Tool
	args   json.RawMessage
	caller contract.Caller
	modern bool // it is of the era without sessions
}

// fast returns the call that f makes, if it can take the fast path. known
// is what the session says of its caller; a request may say otherwise.
func (s *Server) fast(f *frame, known contract.Caller) (fastCall, bool) {
	c := fastCall{id: f.id, caller: known}
	if f.kind != call || f.method != "tools/call" {
		return c, false
	}
	var name string
	for _, field := range f.members {
		switch field.Name {
		case "name":
			if json.Unmarshal(field.Value, &name) != nil {
				return c, false
			}
		case "arguments":
			c.args = field.Value
		case "_meta":
			meta := metaOf(f)
			c.modern = meta.version == modernVersion
			if meta.odd || c.modern != meta.capable || !c.modern && meta.version != "" {
				return c, false
			}
			if meta.client != nil {
				c.caller = callerOf(meta.client)
			}
		default:
			return c, false
		}
	}
	c.tool = s.current.Load().tools[name]
	return c, c.tool != nil && c.tool.ReadOnly && !c.tool.OnlyViews
}

// requestMeta is what _meta says of a request.
type requestMeta struct {
	version string // empty: not said
	client  *mcp.Implementation
	capable bool // it says what its client can do, as the new era demands
	odd     bool // one of these does not fit the protocol
}

func metaOf(f *frame) (m requestMeta) {
	raw := f.member("_meta")
	if raw == nil {
		return m
	}
	fields, err := contract.Fields(raw)
	m.odd = err != nil
	for _, field := range fields {
		var into any
		switch field.Name {
		case mcp.MetaKeyProtocolVersion:
			into = &m.version
		case mcp.MetaKeyClientInfo:
			m.client = new(mcp.Implementation)
			into = m.client
		case mcp.MetaKeyClientCapabilities:
			m.capable = true
			into = new(mcp.ClientCapabilities)
		default:
			continue
		}
		if string(field.Value) == "null" || json.Unmarshal(field.Value, into) != nil {
			m.odd = true
		}
	}
	return m
}

var replies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// writeReply makes b the whole reply to c, on one line that has no end yet.
func (s *Server) writeReply(b *bytes.Buffer, c fastCall, a answer) {
	b.Reset()
	b.WriteString(`{"jsonrpc":"2.0","id":`)
	b.Write(c.id)
	b.WriteString(`,"result":{`)
	s.writeMeta(b, c, a)
	b.WriteString(`"content":[`)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	for i, text := range a.text {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"type":"text","text":`)
		_ = e.Encode(text)      // a string always marshals
		b.Truncate(b.Len() - 1) // the encoder's newline
		b.WriteByte('}')
	}
	b.WriteByte(']')
	if a.structured != nil {
		b.WriteString(`,"structuredContent":`)
		b.Write(a.structured)
	}
	if a.isError {
		b.WriteString(`,"isError":true`)
	}
	if c.modern {
		b.WriteString(`,"resultType":"complete"`)
	}
	b.WriteString(`}}`)
}

// writeMeta writes the member _meta, with the server's name where the era has
// it there.
func (s *Server) writeMeta(b *bytes.Buffer, c fastCall, a answer) {
	if len(a.meta) == 0 {
		if c.modern {
			b.WriteString(s.identity)
		}
		return
	}
	meta := maps.Clone(a.meta)
	if c.modern {
		meta[mcp.MetaKeyServerInfo] = s.self
	}
	raw, err := encode(meta)
	if err != nil {
		raw = []byte("{}") // what a tool says of its answer must not cost the answer
	}
	b.WriteString(`"_meta":`)
	b.Write(raw)
	b.WriteByte(',')
}
