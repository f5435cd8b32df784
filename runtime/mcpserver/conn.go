package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// lineConn is a connection of one message a line. It stands between the bytes
// and the SDK: only well-formed messages pass, everything else is answered
// here, and the SDK is told of the end of input only when the calls in flight
// are answered.
type lineConn struct {
	opts  Options
	lines chan line
	stop  <-chan struct{} // closed: read no further

	readErr error         // set before drained is closed
	drained chan struct{} // closed when Read has reported the end
	closed  chan struct{}
	once    sync.Once

	write sync.Mutex // one message at a time
	out   io.Writer

	mu      sync.Mutex
	pending map[jsonrpc.ID]*inFlight
	writing int           // answers taken from pending but not yet written
	idle    chan struct{} // closed when nothing is left; nil: nobody waits
}

type inFlight struct {
	method    string
	cancelled bool // the client wants no answer any more
}

func newLineConn(opts Options, in io.Reader, out io.Writer, stop <-chan struct{}) *lineConn {
	c := &lineConn{
		opts: opts, out: out, stop: stop,
		lines: make(chan line), drained: make(chan struct{}), closed: make(chan struct{}),
		pending: make(map[jsonrpc.ID]*inFlight),
	}
	go readLines(in, opts.MaxLineBytes, c.lines, c.closed)
	return c
}

func (c *lineConn) SessionID() string { return "" }

func (c *lineConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// Read returns the next message for the SDK, io.EOF at the end. Only the SDK's
// reading goroutine calls it.
func (c *lineConn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-c.closed:
			return nil, io.EOF
		case <-c.stop:
			return nil, c.end(nil)
		case l := <-c.lines:
			if l.err != nil {
				return nil, c.end(l.err)
			}
			if message := c.accept(l); message != nil {
				return message, nil
			}
		}
	}
}

// end waits for the calls in flight and reports the end of input.
func (c *lineConn) end(err error) error {
	if !errors.Is(err, io.EOF) {
		c.readErr = err
	}
	c.mu.Lock()
	idle := make(chan struct{})
	c.idle = idle
	c.wake()
	c.mu.Unlock()
	select {
	case <-idle:
	case <-c.closed:
	case <-time.After(c.opts.DrainTime):
	}
	close(c.drained)
	return io.EOF
}

// wake tells end that no call is left that will be answered by itself; a
// subscription lasts as long as the session. c.mu is held.
func (c *lineConn) wake() {
	if c.idle == nil || c.writing > 0 {
		return
	}
	for _, call := range c.pending {
		if call.method != "subscriptions/listen" {
			return
		}
	}
	close(c.idle)
	c.idle = nil
}

func (c *lineConn) inFlight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending)
}

// accept returns the message of a line, or answers it and returns nil.
func (c *lineConn) accept(l line) jsonrpc.Message {
	if l.tooLong {
		c.refuse(nil, invalidRequest("a message is at most %d bytes long", c.opts.MaxLineBytes))
		return nil
	}
	if len(bytes.TrimSpace(l.data)) == 0 {
		return nil
	}
	f, err := parseFrame(l.data)
	switch {
	case err != nil && (f.kind == notification || f.kind == reply):
		c.opts.Logger.Debug("message ignored", "method", f.method, "reason", err.Message)
		return nil
	case err != nil:
		c.refuse(f.id, err)
		return nil
	case f.kind == reply:
		return replyMessage(f)
	case f.kind == notification:
		return c.acceptNotification(f)
	default:
		return c.acceptCall(f)
	}
}

func (c *lineConn) acceptCall(f frame) jsonrpc.Message {
	id := toID(f.id)
	c.mu.Lock()
	_, used := c.pending[id]
	full := len(c.pending) >= c.opts.MaxCalls
	if !used && !full {
		c.pending[id] = &inFlight{method: f.method}
	}
	c.mu.Unlock()
	switch {
	case used: // answered without the id: it stands for the call in flight
		c.refuse(nil, invalidRequest("id %.100s is in use by a call in flight", f.id))
		return nil
	case full:
		c.refuse(f.id, &jsonrpc.Error{Code: tooManyCalls, Message: "too many calls in flight, wait for answers"})
		return nil
	}
	return &jsonrpc.Request{ID: id, Method: f.method, Params: f.params}
}

// tooManyCalls is of the range that JSON-RPC 2.0 leaves to servers.
const tooManyCalls = -32000

// acceptNotification passes f on. A cancellation names its call by id, so that
// id is carried as the call's was; the SDK would round it, or cancel another.
func (c *lineConn) acceptNotification(f frame) jsonrpc.Message {
	if f.method != "notifications/cancelled" {
		return &jsonrpc.Request{Method: f.method, Params: f.params}
	}
	raw := f.member("requestId")
	if raw == nil || !validID(raw) {
		return nil
	}
	id := toID(raw)
	c.mu.Lock()
	target := c.pending[id]
	known := target != nil && target.method != "initialize" // which MCP says is not to be cancelled
	if known && target.method != "subscriptions/listen" {   // which is answered at its end
		target.cancelled = true
	}
	c.mu.Unlock()
	if !known {
		return nil
	}
	params, err := encode(map[string]any{"requestId": id.Raw()})
	if err != nil {
		return nil
	}
	return &jsonrpc.Request{Method: f.method, Params: params}
}

// replyMessage carries an answer to a request of ours; the SDK ignores one
// that it did not ask for.
func replyMessage(f frame) jsonrpc.Message {
	if f.id == nil {
		return nil
	}
	response := &jsonrpc.Response{ID: toID(f.id), Result: f.result}
	if f.err != nil {
		wire := &jsonrpc.Error{}
		if err := json.Unmarshal(f.err, wire); err != nil {
			wire = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the client's error is malformed"}
		}
		response.Result, response.Error = nil, wire
	}
	return response
}

func (c *lineConn) refuse(id json.RawMessage, err *jsonrpc.Error) {
	data, encodeErr := encodeReply(id, nil, err)
	if encodeErr == nil {
		encodeErr = c.writeLine(data)
	}
	if encodeErr != nil {
		c.opts.Logger.Warn("refusal not written", slog.Any("error", encodeErr))
	}
}

// Write sends one message of the SDK.
func (c *lineConn) Write(_ context.Context, message jsonrpc.Message) error {
	response, ok := message.(*jsonrpc.Response)
	if !ok {
		data, err := jsonrpc.EncodeMessage(message)
		if err != nil {
			return err
		}
		return c.writeLine(data)
	}
	wanted := c.take(response.ID)
	defer c.answered()
	if !wanted {
		return nil
	}
	id, err := wireID(response.ID)
	if err != nil {
		return err
	}
	var refusal *jsonrpc.Error
	if response.Error != nil {
		refusal = wireError(response.Error)
	}
	data, err := encodeReply(id, response.Result, refusal)
	if err != nil {
		return err
	}
	return c.writeLine(data)
}

// take ends a call before its answer is written, since the client may use the
// id again as soon as it has read it. It reports whether the client still
// wants the answer; answered must follow.
func (c *lineConn) take(id jsonrpc.ID) (wanted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.pending[id]
	delete(c.pending, id)
	c.writing++
	return call == nil || !call.cancelled
}

func (c *lineConn) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing--
	c.wake()
}

func (c *lineConn) writeLine(data []byte) error {
	c.write.Lock()
	defer c.write.Unlock()
	_, err := c.out.Write(append(data, '\n'))
	return err
}
