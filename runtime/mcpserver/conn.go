package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
)

// lineConn is a connection that carries one message per line. It sits between the
// raw byte stream and the SDK, and passes only well-formed messages on to the SDK.
// It answers malformed input and calls on the fast path itself. It reports the end
// of input to the SDK only after all running calls have been answered.
type lineConn struct {
	server *Server
	opts   Options
	lines  chan line
	stop   <-chan struct{} // closed to stop reading

	session atomic.Pointer[mcp.ServerSession] // nil at first
	caller  atomic.Pointer[contract.Caller]   // nil until the SDK has initialized the session
	fast    sync.WaitGroup                    // fast calls, started by Read

	drained chan struct{} // closed when Read has reported the end
	closed  chan struct{} // closed to stop reading: the SDK is done, or writing failed
	once    sync.Once

	write sync.Mutex // one message at a time
	out   io.Writer

	mu       sync.Mutex
	pending  map[jsonrpc.ID]*inFlight
	writing  int           // answers taken from pending but not yet written
	readErr  error         // error from reading the input
	writeErr error         // error from writing the output
	idle     chan struct{} // closed when no call is left; nil if nothing waits for it
}

type inFlight struct {
	method    string
	cancelled bool               // the client no longer wants the answer
	cancel    context.CancelFunc // for a fast call; nil if the SDK has the call
	leave     func(written bool) // for a call that the SDK has; nil otherwise
}

func newLineConn(s *Server, in io.Reader, out io.Writer, stop <-chan struct{}) *lineConn {
	c := &lineConn{
		server: s, opts: s.opts, out: out, stop: stop,
		lines: make(chan line), drained: make(chan struct{}), closed: make(chan struct{}),
		pending: make(map[jsonrpc.ID]*inFlight),
	}
	go readLines(in, s.opts.MaxLineBytes, c.lines, c.closed)
	return c
}

func (c *lineConn) SessionID() string { return "" }

// Close stops reading. The SDK calls it after its own calls have ended.
func (c *lineConn) Close() error {
	c.once.Do(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		close(c.closed)
		c.wake()
	})
	return nil
}

func (c *lineConn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// Read returns the next message for the SDK, and io.EOF at the end. Only the
// SDK's reading goroutine calls it; ctx is the context of all calls.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-c.closed:
			return nil, c.end(nil)
		case <-c.stop:
			return nil, c.end(nil)
		case l := <-c.lines:
			if l.err != nil {
				return nil, c.end(l.err)
			}
			if message := c.accept(ctx, l); message != nil {
				return message, nil
			}
		}
	}
}

// end waits for the calls in flight and reports the end of input.
func (c *lineConn) end(err error) error {
	c.mu.Lock()
	if !errors.Is(err, io.EOF) {
		c.readErr = err
	}
	idle := make(chan struct{})
	c.idle = idle
	c.wake()
	c.mu.Unlock()
	select {
	case <-idle:
	case <-time.After(c.opts.DrainTime):
		c.cancelAll()
	}
	close(c.drained)
	return io.EOF
}

// cancelAll cancels the fast calls. The SDK cancels the others when it learns of
// the end of input.
func (c *lineConn) cancelAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.pending {
		call.cancelled = true
		if call.cancel != nil {
			call.cancel()
		}
	}
}

// wake wakes the method end once all remaining calls are calls that do not end by
// themselves. Subscriptions, for example, last as long as the session. The caller
// holds c.mu.
func (c *lineConn) wake() {
	if c.idle == nil || c.writing > 0 {
		return
	}
	closed := c.isClosed()
	for _, call := range c.pending {
		if call.cancel != nil || !closed && call.method != "subscriptions/listen" {
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

// accept returns the line's message for the SDK, or answers the line and returns
// nil.
func (c *lineConn) accept(ctx context.Context, l line) jsonrpc.Message {
	if l.tooLong {
		c.refuse(nil, invalidRequest("a message can have at most %d bytes", c.opts.MaxLineBytes))
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
		return c.acceptCall(ctx, f)
	}
}

// acceptCall starts a call on the fast path, or returns it for the SDK.
func (c *lineConn) acceptCall(ctx context.Context, f frame) jsonrpc.Message {
	id, call := toID(f.id), &inFlight{method: f.method}
	plain, fast := c.takesFastPath(&f)
	key := ""
	if fast {
		ctx, call.cancel = context.WithCancel(ctx)
	} else {
		key, call.leave = c.server.calls.enter(underway{})
	}
	if !c.begin(id, f.id, call) {
		if fast {
			call.cancel()
		} else {
			call.leave(false)
		}
		return nil
	}
	if !fast {
		return &jsonrpc.Request{ID: id, Method: f.method, Params: f.params, Extra: carrying(key)}
	}
	c.fast.Go(func() {
		defer call.cancel()
		c.answer(id, plain, c.server.run(ctx, plain.tool, plain.caller, plain.args))
	})
	return nil
}

// takesFastPath returns the fast call that f makes, if any. Until the SDK has
// initialized the session, there is no fast call.
func (c *lineConn) takesFastPath(f *frame) (fastCall, bool) {
	caller := c.caller.Load()
	if caller == nil {
		return fastCall{}, false
	}
	return c.server.fast(f, *caller)
}

// begin records a running call, or refuses the call and returns false.
func (c *lineConn) begin(id jsonrpc.ID, raw json.RawMessage, call *inFlight) bool {
	c.mu.Lock()
	_, used := c.pending[id]
	// There is a second limit, twice as high, that also counts answers whose
	// writing has not been recorded. The client may already have read such an
	// answer.
	full := len(c.pending) >= c.opts.MaxCalls || len(c.pending)+c.writing >= 2*c.opts.MaxCalls
	if !used && !full {
		c.pending[id] = call
	}
	c.mu.Unlock()
	switch {
	case used: // answered without the ID, which belongs to the running call
		c.refuse(nil, invalidRequest("id %.100s is already used by a running call", raw))
		return false
	case full:
		c.refuse(raw, &jsonrpc.Error{Code: tooManyCalls, Message: "too many calls in flight: wait for answers"})
		return false
	}
	return true
}

// tooManyCalls is in the range that JSON-RPC 2.0 reserves for servers.
const tooManyCalls = -32000

// acceptNotification passes f on. It handles the cancellation of a fast call
// itself. Any other cancellation names its call by ID, so acceptNotification
// encodes that ID in the same way as the call's. Otherwise the SDK would round
// the ID, or cancel another call.
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
	known := target != nil && target.method != "initialize" // MCP forbids cancelling initialize
	if known && target.method != "subscriptions/listen" {   // a subscription is answered when it ends
		target.cancelled = true
	}
	c.mu.Unlock()
	if !known {
		return nil
	}
	if target.cancel != nil {
		target.cancel()
		return nil
	}
	params, err := encode(map[string]any{"requestId": id.Raw()})
	if err != nil {
		return nil
	}
	return &jsonrpc.Request{Method: f.method, Params: params}
}

// replyMessage converts an answer to one of our requests. The SDK ignores an answer
// that it did not request.
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
		encodeErr = c.writeLine(data, nil)
	}
	if encodeErr != nil {
		c.opts.Logger.Warn("cannot write the refusal", slog.Any("error", encodeErr))
	}
}

// Write sends one message from the SDK.
func (c *lineConn) Write(_ context.Context, message jsonrpc.Message) error {
	response, ok := message.(*jsonrpc.Response)
	if !ok {
		data, err := jsonrpc.EncodeMessage(message)
		if err != nil {
			return err
		}
		return c.writeLine(c.named(data), nil)
	}
	wanted, leave := c.take(response.ID)
	written := false
	defer func() {
		leave(written)
		c.answered()
	}()
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
	err = c.writeLine(data, c.noteClient)
	written = err == nil
	return err
}

// named restores the wire name of a notification from the SDK. In the version
// without sessions, the borrowed name always stands for notifications/tasks.
func (c *lineConn) named(data []byte) []byte {
	if s := c.session.Load(); s != nil && s.InitializeParams() != nil && s.InitializeParams().ProtocolVersion >= modernVersion {
		return rename(data)
	}
	return data
}

// noteClient records the client's identity once the SDK has initialized the
// session. It runs with c.write held, just before that answer is written. Calls
// that the client makes after reading the answer take the fast path, and calls that
// were sent together with initialize are not answered before the client is known.
func (c *lineConn) noteClient() {
	session := c.session.Load()
	if session == nil || c.caller.Load() != nil {
		return
	}
	if params := session.InitializeParams(); params != nil {
		caller := callerOf(params.ClientInfo)
		c.caller.Store(&caller)
	}
}

// answer ends a fast call.
func (c *lineConn) answer(id jsonrpc.ID, call fastCall, a answer) {
	wanted, _ := c.take(id)
	defer c.answered()
	if a.delivered == nil {
		a.delivered = func(bool) {}
	}
	if !wanted {
		a.delivered(false)
		return
	}
	b := replies.Get().(*bytes.Buffer)
	defer replies.Put(b)
	c.server.writeReply(b, call, a)
	a.delivered(c.writeLine(b.Bytes(), nil) == nil) // writeLine has already handled an error
}

// take ends a call before its answer is written, because the client may reuse the
// ID as soon as it has read the answer. It reports whether the client still wants
// the answer. The caller must tell leave whether the answer was written, and then
// call answered.
func (c *lineConn) take(id jsonrpc.ID) (wanted bool, leave func(written bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.pending[id]
	delete(c.pending, id)
	c.writing++
	leave = func(bool) {}
	if call != nil && call.leave != nil {
		leave = call.leave
	}
	return call == nil || !call.cancelled, leave
}

func (c *lineConn) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing--
	c.wake()
}

// writeLine writes one message. If the function before is not nil, it is called
// first. If writing fails, it ends the connection.
func (c *lineConn) writeLine(data []byte, before func()) error {
	c.write.Lock()
	if before != nil {
		before()
	}
	_, err := c.out.Write(append(data, '\n'))
	c.write.Unlock()
	if err != nil {
		c.broken(err)
	}
	return err
}

func (c *lineConn) broken(err error) {
	c.mu.Lock()
	if c.writeErr == nil {
		c.writeErr = err
	}
	c.mu.Unlock()
	c.cancelAll()
	_ = c.Close() // Close never fails
}
