package web

import (
	"encoding/json"
	"net/http"
	"strings"

	textutil "github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// refusal is the body of the front's own refusals. Its members are those of
// OAuth (RFC 6749 section 5.2). A refused MCP client looks for a way to sign
// in, and shows these members.
type refusal struct {
	Code    string `json:"error"`
	Message string `json:"error_description"`
	Hint    string `json:"hint,omitempty"`
}

func refuse(w http.ResponseWriter, status int, code, message, hint string) {
	writeJSON(w, status, refusal{code, message, hint})
}

// sendToken is the hint for a refused caller.
const sendToken = "send this server's token as Authorization: Bearer TOKEN"

// missing answers requests for unknown paths. If there is a shell, it answers
// people with a page. Otherwise it answers with JSON.
func (s *Server) missing() http.Handler {
	if s.opts.Shell == nil {
		return http.HandlerFunc(refuseMissing)
	}
	t := s.opts.Shell.Parse(templates, "templates/missing.html")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html") {
			s.opts.Shell.Write(w, r, http.StatusNotFound, t, "", page.Page{Title: "Not found"})
			return
		}
		refuseMissing(w, r)
	})
}

func refuseMissing(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/.well-known/agent") {
		refuse(w, http.StatusNotFound, "not_found", "this server does not accept A2A calls", "set a2a.enabled to true and restart it")
		return
	}
	if r.URL.Path == "/register" || strings.Contains(r.URL.Path, "/.well-known/") {
		refuse(w, http.StatusNotFound, "not_found", "this server has no OAuth: "+sendToken, "")
		return
	}
	refuse(w, http.StatusNotFound, "not_found", "there is nothing at "+shorten(r.URL.Path), "")
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // ignore the error: the client may be gone
}

// reads refuses methods other than GET and HEAD.
func reads(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", r.URL.Path+" accepts only GET", "")
			return
		}
		h(w, r)
	})
}

// health reports that the process is alive, with build information.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	build := s.opts.Build
	if build == nil {
		build = map[string]string{}
	}
	writeJSON(w, http.StatusOK, struct {
		Status string            `json:"status"`
		Build  map[string]string `json:"build"`
	}{"ok", build})
}

// ready reports whether requests can currently be answered.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.opts.Ready != nil {
		if err := s.opts.Ready(); err != nil {
			refuse(w, http.StatusServiceUnavailable, "not_ready", err.Error(), "")
			return
		}
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": "ready"})
}

// shorten limits the number of bytes of a request that an answer repeats.
func shorten(s string) string {
	return strings.ToValidUTF8(textutil.Excerpt(s, 200), "?")
}
