package mcpserver

import (
	"bytes"
	"context"
	"net/http"
	"strconv"

	"github.com/deskhand/deskhand/runtime/contract"
)

// fastModern answers f if it can take the fast path in the version without
// sessions, and reports whether it did.
func (d *httpDoor) fastModern(w http.ResponseWriter, r *http.Request, f *frame) bool {
	c, ok := d.server.fast(f, contract.Caller{})
	if !ok || !c.modern || r.Header.Get(versionHeader) != modernVersion ||
		r.Header.Get(methodHeader) != f.method || r.Header.Get(nameHeader) != c.tool.Name {
		return false
	}
	c.caller.Principal = principalOf(r)
	d.answer(r.Context(), w, c)
	return true
}

// fastLegacy answers f if it can take the fast path within a session, and reports
// whether it did.
func (d *httpDoor) fastLegacy(w http.ResponseWriter, r *http.Request, f *frame, s *session) bool {
	if f.method == "notifications/cancelled" {
		d.sessions.cancel(s, string(f.member("requestId")))
		return false // the SDK may have a call with that ID
	}
	c, ok := d.server.fast(f, s.caller)
	if !ok || c.modern {
		return false
	}
	c.caller.Principal = principalOf(r)
	ctx, done := d.sessions.begin(r.Context(), s, string(f.id))
	defer done()
	d.answer(ctx, w, c)
	return true
}

func (d *httpDoor) answer(ctx context.Context, w http.ResponseWriter, c fastCall) {
	a := d.server.run(ctx, c.tool, c.caller, c.args)
	b := replies.Get().(*bytes.Buffer)
	defer replies.Put(b)
	d.server.writeReply(b, c, a)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	_, err := w.Write(b.Bytes())
	if a.delivered != nil {
		a.delivered(err == nil)
	}
}
