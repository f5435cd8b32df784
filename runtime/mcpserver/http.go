package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
)

// The headers of the streamable HTTP transport.
const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
)

// modernVersion is the first protocol version without sessions: each request
// says on its own who asks and in which version.
const modernVersion = "2026-07-28"

// Handler serves the streamable HTTP transport, on whatever path it is mounted.
// One path serves both eras: requests of 2026-07-28 and later go to a handler
// without sessions, older ones to one with sessions. Who may connect (Host,
// Origin, token) is for the front that mounts it.
func (s *Server) Handler() http.Handler { return s.http }

// httpDoor checks what arrives over HTTP before the SDK sees it.
type httpDoor struct {
	server   *Server
	modern   http.Handler
	legacy   http.Handler
	sessions *sessions
}

func newHTTPDoor(s *Server) *httpDoor {
	handler := func(stateless bool) http.Handler {
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.sdk }, &mcp.StreamableHTTPOptions{
			Stateless:                    stateless,
			MaxRequestBodyBytes:          -1,   // bounded here
			DisableLocalhostProtection:   true, // the front knows which hosts are ours
			PropagateRequestCancellation: true,
		})
	}
	return &httpDoor{
		server: s, modern: handler(true), legacy: handler(false),
		sessions: newSessions(s.opts.MaxSessions, s.opts.SessionIdle),
	}
}

func (d *httpDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	modern := r.Header.Get(versionHeader) >= modernVersion
	id := r.Header.Get(sessionHeader)
	switch {
	case r.Method == http.MethodPost:
		d.post(w, r, modern)
	case modern || r.Method != http.MethodGet && r.Method != http.MethodDelete:
		w.Header().Set("Allow", "POST")
		refuseHTTP(w, http.StatusMethodNotAllowed, nil, invalidRequest("use POST"))
	case id == "": // no stream without a session to send for
		w.Header().Set("Allow", "POST")
		refuseHTTP(w, http.StatusMethodNotAllowed, nil, invalidRequest("%s needs an %s header", r.Method, sessionHeader))
	case r.Method == http.MethodDelete:
		d.legacy.ServeHTTP(w, r)
		d.sessions.remove(id)
	default:
		_, release := d.sessions.hold(id)
		defer release()
		d.legacy.ServeHTTP(w, r)
	}
}

func (d *httpDoor) post(w http.ResponseWriter, r *http.Request, modern bool) {
	body, ok := d.read(w, r)
	if !ok {
		return
	}
	f, refusal := parseFrame(body)
	if refusal != nil {
		refuseHTTP(w, http.StatusBadRequest, f.id, refusal)
		return
	}
	id := r.Header.Get(sessionHeader)
	if !modern && id == "" {
		// A request that names its version in _meta but not in the header is of
		// the new era, and the SDK says what is missing.
		modern = metaOf(&f).version >= modernVersion
	}
	if modern {
		if d.straightModern(w, r, &f) || refuseInexact(w, &f) {
			return
		}
		d.modern.ServeHTTP(w, withBody(r, body))
		return
	}
	if id == "" {
		d.open(w, withBody(r, body), &f)
		return
	}
	session, release := d.sessions.hold(id)
	defer release()
	if session != nil && d.straightLegacy(w, r, &f, session) || refuseInexact(w, &f) {
		return
	}
	d.legacy.ServeHTTP(w, withBody(r, body))
}

// straightModern answers f if it can go the straight way in the version without
// sessions, and reports whether it did.
func (d *httpDoor) straightModern(w http.ResponseWriter, r *http.Request, f *frame) bool {
	c, ok := d.server.straight(f, contract.Caller{})
	if !ok || !c.modern || r.Header.Get(versionHeader) != modernVersion ||
		r.Header.Get(methodHeader) != f.method || r.Header.Get(nameHeader) != c.tool.Name {
		return false
	}
	d.answer(r.Context(), w, c)
	return true
}

// straightLegacy does the same within a session.
func (d *httpDoor) straightLegacy(w http.ResponseWriter, r *http.Request, f *frame, s *session) bool {
	if f.method == "notifications/cancelled" {
		d.sessions.cancel(s, string(f.member("requestId")))
		return false // the SDK may hold that call
	}
	c, ok := d.server.straight(f, s.caller)
	if !ok || c.modern || !legacyVersion(r.Header.Get(versionHeader)) {
		return false
	}
	ctx, done := d.sessions.begin(r.Context(), s, string(f.id))
	defer done()
	d.answer(ctx, w, c)
	return true
}

func (d *httpDoor) answer(ctx context.Context, w http.ResponseWriter, c straightCall) {
	a := d.server.run(ctx, c.tool, c.caller, c.args)
	b := replies.Get().(*bytes.Buffer)
	defer replies.Put(b)
	d.server.writeReply(b, c, a)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	_, _ = w.Write(b.Bytes()) // nobody is left to tell
}

// legacyVersion accepts no header too: before 2025-06-18 there was none.
func legacyVersion(v string) bool {
	switch v {
	case "", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25":
		return true
	}
	return false
}

// open starts a session, which only initialize can.
func (d *httpDoor) open(w http.ResponseWriter, r *http.Request, f *frame) {
	if f.method != "initialize" || f.kind != call {
		refuseHTTP(w, http.StatusBadRequest, f.id, invalidRequest("no session: call initialize first, then send the %s header", sessionHeader))
		return
	}
	if refuseInexact(w, f) {
		return
	}
	d.legacy.ServeHTTP(w, r)
	id := w.Header().Get(sessionHeader)
	for s := range d.server.sdk.Sessions() {
		// Without params the SDK has refused to initialize, and ends it.
		if params := s.InitializeParams(); id != "" && s.ID() == id && params != nil {
			d.sessions.add(&session{id: id, caller: callerOf(params.ClientInfo), end: func() { _ = s.Close() }})
		}
	}
}

// read returns the body of a request that the transport allows.
func (d *httpDoor) read(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		refuseHTTP(w, http.StatusUnsupportedMediaType, nil, invalidRequest("Content-Type must be application/json"))
		return nil, false
	}
	if !accepts(r, "application/json") || !accepts(r, "text/event-stream") {
		refuseHTTP(w, http.StatusNotAcceptable, nil, invalidRequest("Accept must hold application/json and text/event-stream"))
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, d.server.opts.MaxBodyBytes))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		refuseHTTP(w, http.StatusRequestEntityTooLarge, nil, invalidRequest("a message is at most %d bytes long", tooLarge.Limit))
		return nil, false
	}
	if err != nil { // the client went away or was too slow
		refuseHTTP(w, http.StatusRequestTimeout, nil, invalidRequest("the body did not arrive"))
		return nil, false
	}
	return body, true
}

// accepts reports whether the Accept header names kind, or a range with it.
func accepts(r *http.Request, kind string) bool {
	group, _, _ := strings.Cut(kind, "/")
	for _, header := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(header, ",") {
			part, _, _ = strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(part)) {
			case kind, group + "/*", "*/*":
				return true
			}
		}
	}
	return false
}

func withBody(r *http.Request, body []byte) *http.Request {
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	return r
}

// refuseInexact refuses an id that the SDK would answer with another: over
// HTTP the answer cannot be mapped back on its way out.
func refuseInexact(w http.ResponseWriter, f *frame) bool {
	id := f.id
	if f.method == "notifications/cancelled" {
		id = f.member("requestId")
	}
	if id == nil || !isInteger(id) {
		return false
	}
	if _, ok := exact(id); ok {
		return false
	}
	refuseHTTP(w, http.StatusBadRequest, f.id, invalidRequest("an integer id must lie within 2^53"))
	return true
}

func refuseHTTP(w http.ResponseWriter, status int, id []byte, err *jsonrpc.Error) {
	data, encodeErr := encodeReply(id, nil, err)
	if encodeErr != nil {
		http.Error(w, fmt.Sprint(err.Message), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // nobody is left to tell
}
