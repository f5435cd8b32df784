package mcpserver

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// outgoing is an answer on its way from the SDK to an HTTP client. It replaces the
// SDK's errors with our wording and the status that the client's era expects, and
// keeps a silent stream alive (ping.go). It sends nothing before the SDK writes
// the first byte, because until then the SDK changes the header and the status.
type outgoing struct {
	w      http.ResponseWriter
	f      frame // the message being answered; zero for GET, which opens a stream
	modern bool

	mu      sync.Mutex
	header  http.Header
	status  int          // as set by the SDK; 0 if not set yet
	text    bytes.Buffer // written by the SDK instead of JSON
	passing bool         // the header was sent
	stream  bool         // the header announces an event stream
	written bool         // the call's result was written, not an error

	every   time.Duration // between pings
	timer   *time.Timer
	stopped bool // nothing more is written
}

func newOutgoing(w http.ResponseWriter, f frame, modern bool, pingEvery time.Duration) *outgoing {
	o := &outgoing{w: w, f: f, modern: modern, header: make(http.Header), every: pingEvery}
	o.mu.Lock() // ping reads the timer
	defer o.mu.Unlock()
	o.timer = time.AfterFunc(pingEvery, o.ping)
	return o
}

// Header returns the header. The SDK sets it before it writes, without a lock.
func (o *outgoing) Header() http.Header { return o.header }

func (o *outgoing) WriteHeader(status int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.status == 0 {
		o.status = status
	}
}

// Write accepts one event or one whole body, as the SDK writes them.
func (o *outgoing) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.status >= http.StatusBadRequest && strings.HasPrefix(o.header.Get("Content-Type"), "text/plain") {
		return o.text.Write(p)
	}
	if refusal := refusalIn(p); refusal != nil && o.f.kind == call {
		refusal = wireError(refusal)
		return len(p), o.refuse(o.errorStatus(refusal.Code), refusal)
	}
	o.pass()
	size := len(p)
	if o.modern && o.f.method == "subscriptions/listen" {
		p = rename(p)
	}
	_, err := o.w.Write(p)
	if err == nil && o.f.kind == call && isResult(p) {
		o.written = true
	}
	return size, err
}

// hasAnswered reports whether the call's result was written.
func (o *outgoing) hasAnswered() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.written && o.flush() == nil
}

// isResult reports whether the SDK is writing a call's result, as an event or as a
// body, and not one of the server's requests or notifications.
func isResult(p []byte) bool {
	if event, ok := bytes.CutPrefix(p, []byte("event: message\n")); ok {
		_, p, _ = bytes.Cut(event, []byte("data: "))
	}
	p, found := bytes.CutPrefix(p, []byte(`{"jsonrpc":"2.0","id":`))
	if !found {
		return false
	}
	for i, quoted := 0, false; i < len(p); i++ { // skip the ID
		switch {
		case p[i] == '\\':
			i++
		case p[i] == '"':
			quoted = !quoted
		case p[i] == ',' && !quoted:
			return bytes.HasPrefix(p[i:], []byte(`,"result":`))
		}
	}
	return false
}

// FlushError implements the interface that http.ResponseController looks for.
func (o *outgoing) FlushError() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.flush()
}

func (o *outgoing) flush() error {
	if !o.passing {
		return nil
	}
	return http.NewResponseController(o.w).Flush()
}

// pass sends the header. The caller holds o.mu.
func (o *outgoing) pass() {
	if o.passing {
		return
	}
	o.passing = true
	o.stream = o.header.Get("Content-Type") == "text/event-stream"
	maps.Copy(o.w.Header(), o.header)
	if o.status != 0 {
		o.w.WriteHeader(o.status)
	}
}

// refuse answers with an error: as a body, or as an event if a stream has begun.
// The caller holds o.mu.
func (o *outgoing) refuse(status int, err *jsonrpc.Error) error {
	if !o.passing {
		o.passing = true
		refuseHTTP(o.w, status, o.f.id, err)
		return nil
	}
	data, encodeErr := encodeReply(o.f.id, nil, err)
	if encodeErr != nil {
		return encodeErr
	}
	if _, err := o.w.Write([]byte("event: message\ndata: " + string(data) + "\n\n")); err != nil {
		return err
	}
	return o.flush()
}

// errorStatus returns the HTTP status for an error of the SDK. In the era without
// sessions it is the SDK's own.
func (o *outgoing) errorStatus(code int64) int {
	switch {
	case !o.modern:
		return refusedStatus(&o.f, false, code)
	case o.status != 0:
		return o.status
	case code == jsonrpc.CodeInvalidParams, code == mcp.CodeMissingRequiredClientCapabilities:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// finish sends the rest: a header without a body, or our error in place of the
// SDK's text.
func (o *outgoing) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.text.Len() > 0:
		_ = o.refuse(o.worded()) // the client is gone if this fails
	case !o.passing && o.status == 0 && o.f.kind == call && !o.modern: // the session was closed during the call
		_ = o.refuse(http.StatusNotFound, sessionEnded())
	default:
		o.pass()
	}
}

// worded converts the SDK's plain-text error to a JSON-RPC error.
func (o *outgoing) worded() (status int, err *jsonrpc.Error) {
	switch {
	case o.status == http.StatusNotFound:
		return o.status, sessionEnded()
	case o.status == http.StatusConflict:
		return o.status, invalidRequest("the session already has an open stream: close it first")
	}
	text := strings.TrimPrefix(strings.TrimSpace(o.text.String()), "invalid request: ")
	err = wireError(invalidRequest("%s", text))
	switch {
	case o.status >= http.StatusInternalServerError:
		return o.status, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error: " + text}
	case o.f.kind == call:
		return refusedStatus(&o.f, o.modern, err.Code), err
	}
	return o.status, err
}

// refusalIn returns the error in a reply that the SDK writes, as an event or as a
// body, or nil for anything else.
func refusalIn(p []byte) *jsonrpc.Error {
	if event, ok := bytes.CutPrefix(p, []byte("event: message\n")); ok {
		_, p, _ = bytes.Cut(event, []byte("data: "))
	}
	if !bytes.HasPrefix(p, []byte(`{"jsonrpc":"2.0","id":`)) || !bytes.Contains(p, []byte(`,"error":{"code":`)) {
		return nil
	}
	var reply struct {
		Error *jsonrpc.Error `json:"error"`
	}
	if json.Unmarshal(p, &reply) != nil {
		return nil
	}
	return reply.Error
}
