package mcpserver

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/access"
)

// Headers of the streamable HTTP transport.
const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
	resumeHeader  = "Last-Event-ID"
)

// Handler returns the handler for the streamable HTTP transport, which works at
// any path. One path serves both eras: requests of version 2026-07-28 and later
// are served without sessions, older requests with sessions. The front that
// mounts it decides who may connect (Host, Origin, token). Every refusal has a
// JSON-RPC error in its body.
func (s *Server) Handler() http.Handler { return s.http }

// httpDoor checks HTTP requests before the SDK sees them.
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
			MaxRequestBodyBytes:          -1,   // limited by httpDoor.read
			DisableLocalhostProtection:   true, // the front knows our hosts
			PropagateRequestCancellation: true,
		})
	}
	return &httpDoor{
		server: s, modern: handler(true), legacy: handler(false),
		sessions: newSessions(s.opts.MaxSessions, s.opts.SessionIdle),
	}
}

func (d *httpDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	version := r.Header.Get(versionHeader)
	modern := version >= modernVersion
	id := r.Header.Get(sessionHeader)
	switch {
	case !known(version):
		var call []byte
		if r.Method == http.MethodPost {
			body, ok := d.read(w, r)
			if !ok {
				return
			}
			f, _ := parseFrame(body) // only its ID is used
			call = f.id
		}
		refuseHTTP(w, http.StatusBadRequest, call, unknownVersion(version))
	case r.Method == http.MethodPost:
		d.post(w, r, modern)
	case r.Method != http.MethodGet && r.Method != http.MethodDelete:
		refuseMethod(w, modern, invalidRequest("use POST"))
	case modern:
		refuseMethod(w, true, invalidRequest("use POST: version %s has no sessions", version))
	case id == "": // without a session there is nothing to stream
		refuseMethod(w, true, invalidRequest("%s needs an %s header", r.Method, sessionHeader))
	case r.Method == http.MethodGet:
		d.stream(w, r, id)
	case d.sessions.remove(id, access.Of(r.Context()).Name):
		w.WriteHeader(http.StatusNoContent)
	default:
		refuseHTTP(w, http.StatusNotFound, nil, sessionEnded())
	}
}

// stream sends a session's messages other than answers, as long as the client
// listens.
func (d *httpDoor) stream(w http.ResponseWriter, r *http.Request, id string) {
	if !accepts(r, "text/event-stream") {
		refuseHTTP(w, http.StatusNotAcceptable, nil, invalidRequest("Accept must contain text/event-stream"))
		return
	}
	if r.Header.Get(resumeHeader) != "" {
		refuseHTTP(w, http.StatusBadRequest, nil, invalidRequest("a stream cannot be resumed: open a new one without %s", resumeHeader))
		return
	}
	session, release := d.sessions.hold(id, access.Of(r.Context()).Name)
	defer release()
	if session == nil {
		refuseHTTP(w, http.StatusNotFound, nil, sessionEnded())
		return
	}
	leave, ok := d.hold(w, &frame{})
	defer leave()
	if ok {
		d.serve(d.legacy, w, r, frame{}, false)
	}
}

func (d *httpDoor) post(w http.ResponseWriter, r *http.Request, modern bool) {
	body, ok := d.read(w, r)
	if !ok {
		return
	}
	f, refusal := parseFrame(body)
	if held(&f) {
		leave, ok := d.hold(w, &f)
		defer leave()
		if !ok {
			return
		}
	}
	id := r.Header.Get(sessionHeader)
	if !modern && id == "" {
		// A request that names its version in _meta but not in the header is of the
		// new era. The SDK says what is missing.
		modern = metaOf(&f).version >= modernVersion
	}
	switch {
	case refusal != nil && f.kind == unknown:
		refuseHTTP(w, http.StatusBadRequest, f.id, refusal)
	case modern && refusal != nil && !bygone[f.method]:
		refuseCall(w, &f, true, refusal)
	case modern && misnamed(r, &f):
		refuseHTTP(w, http.StatusBadRequest, f.id, &jsonrpc.Error{Code: mcp.CodeHeaderMismatch,
			Message: fmt.Sprintf("%s must have an %s header with the taskId of its params", f.method, nameHeader)})
	case modern:
		if !d.fastModern(w, r, &f) && !d.settled(w, &f, true) {
			d.serve(d.modern, w, r, f, true)
		}
	case id != "":
		d.inSession(w, r, id, &f, refusal)
	case f.method != "initialize" || f.kind != call: // only initialize opens a session
		refuseHTTP(w, http.StatusBadRequest, f.id, invalidRequest("no session: call initialize first, then send the %s header", sessionHeader))
	case refusal != nil:
		refuseCall(w, &f, false, refusal)
	case !d.settled(w, &f, false):
		d.serve(d.legacy, w, r, f, false)
	}
}

// opened records an HTTP session before its client learns of it.
func (d *httpDoor) opened(s mcp.Session, by string) {
	if s, ok := s.(*mcp.ServerSession); ok && s.ID() != "" {
		caller := callerOf(s.InitializeParams().ClientInfo)
		caller.Session = sessionName(s.ID())
		d.sessions.add(&session{id: s.ID(), by: by, caller: caller, end: func() { _ = s.Close() }})
	}
}

func (d *httpDoor) inSession(w http.ResponseWriter, r *http.Request, id string, f *frame, refusal *jsonrpc.Error) {
	session, release := d.sessions.hold(id, access.Of(r.Context()).Name)
	defer release()
	switch {
	case session == nil:
		refuseHTTP(w, http.StatusNotFound, f.id, sessionEnded())
	case refusal != nil:
		refuseCall(w, f, false, refusal)
	case !d.fastLegacy(w, r, f, session) && !d.settled(w, f, false):
		d.serve(d.legacy, w, r, *f, false)
	}
}

// settled answers messages that the SDK does not answer, or does not answer over
// HTTP. It reports whether it answered.
func (d *httpDoor) settled(w http.ResponseWriter, f *frame, modern bool) bool {
	kind, served := methods[f.method]
	refusal := inexact(f)
	if modern && bygone[f.method] {
		served, refusal = false, nil
	}
	switch {
	case f.kind == notification && (refusal != nil || kind != notification): // no answer is expected
		w.WriteHeader(http.StatusAccepted)
		return true
	case refusal != nil:
	case f.kind == reply || served && kind == f.kind:
		return false
	case served:
		refusal = invalidRequest("%s is a notification: send it without an id", f.method)
	default:
		refusal = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %q", f.method)}
	}
	refuseCall(w, f, modern, refusal)
	return true
}

// serve lets the SDK answer f, or a GET request if f is zero.
func (d *httpDoor) serve(h http.Handler, w http.ResponseWriter, r *http.Request, f frame, modern bool) {
	if f.raw != nil {
		r = withBody(r, f.raw) // set before the first ping, which must not see a half-changed request
	}
	key, leave := d.server.calls.enter(underway{ctx: r.Context(), principal: principalOf(r), answering: f.kind == call && f.method == "tools/call"})
	r.Header.Set(callHeader, key)
	written := false
	defer func() { leave(written) }()
	o := newOutgoing(w, f, modern, d.server.opts.PingEvery)
	defer o.stop()
	h.ServeHTTP(o, r)
	if r.Context().Err() == nil { // otherwise the client is gone
		o.finish()
		written = o.hasAnswered()
	}
}

// principalOf returns a name that distinguishes people, and tokens of the installation
// without revealing them, or "" if there is none.
func principalOf(r *http.Request) string {
	if name := access.Of(r.Context()).Name; name != "" {
		return "person:" + name // of whichever token, so that a new one finds the old one's questions
	}
	_, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !ok || token == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("deskhand principal\n" + token))
	return "token-" + hex.EncodeToString(sum[:6])
}
