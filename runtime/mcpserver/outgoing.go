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

// outgoing is an answer on its way from the SDK to an HTTP client. It gives
// errors of the SDK our words and the status that the client's era reads, and
// it keeps a silent stream alive (ping.go). Until the first byte passes nothing
// is decided: the SDK sets a header and status of its own.
type outgoing struct {
	w      http.ResponseWriter
	f      frame // what is answered; zero: GET, which opens a stream
	modern bool

	mu      sync.Mutex
	header  http.Header
	status  int          // as the SDK set it; 0: not yet
	text    bytes.Buffer // of the SDK, in place of JSON
	passing bool         // the header is on its way
	stream  bool         // it says that events follow
	written bool         // the answer of the call, without an error

	every   time.Duration // between pings
	timer   *time.Timer
	stopped bool // write no more
}

func newOutgoing(w http.ResponseWriter, f frame, modern bool, pingEvery time.Duration) *outgoing {
	o := &outgoing{w: w, f: f, modern: modern, header: make(http.Header), every: pingEvery}
	o.mu.Lock() // ping reads the timer
	defer o.mu.Unlock()
	o.timer = time.AfterFunc(pingEvery, o.ping)
	return o
}

// Header returns the header, which the SDK sets before it writes, without a
// lock.
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

// hasAnswered reports whether the call has its result.
func (o *outgoing) hasAnswered() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.written && o.flush() == nil
}

// isResult reports whether the SDK writes the result of a call, as an event or as
// a body, and not a request or notification of the server's.
func isResult(p []byte) bool {
	if event, ok := bytes.CutPrefix(p, []byte("event: message\n")); ok {
		_, p, _ = bytes.Cut(event, []byte("data: "))
	}
	p, found := bytes.CutPrefix(p, []byte(`{"jsonrpc":"2.0","id":`))
	if !found {
		return false
	}
	for i, quoted := 0, false; i < len(p); i++ { // to the end of the id
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

// pass lets the header go. o.mu is held.
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

// refuse answers with an error: as a body, or as an event when a stream is under
// way. o.mu is held.
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

// errorStatus is that of an error which the SDK answers with: its own in the era
// without sessions.
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

// finish lets go what is left: a header without a body, or our words instead of
// the SDK's.
func (o *outgoing) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.text.Len() > 0:
		_ = o.refuse(o.worded()) // nobody is left to tell
	case !o.passing && o.status == 0 && o.f.kind == call && !o.modern: // the session was closed under it
		_ = o.refuse(http.StatusNotFound, sessionEnded())
	default:
		o.pass()
	}
}

// worded says what the SDK says without JSON.
func (o *outgoing) worded() (status int, err *jsonrpc.Error) {
	switch {
	case o.status == http.StatusNotFound:
		return o.status, sessionEnded()
	case o.status == http.StatusConflict:
		return o.status, invalidRequest("the session has a stream open: close that one first")
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

// refusalIn returns the error of a reply that the SDK writes, as an event or as
// a body. It is nil for anything else.
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
