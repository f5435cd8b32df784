package web

import (
	"encoding/json"
	"net/http"
	"strings"

	textutil "github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// refusal is what the front answers for itself. Its names are those of OAuth (RFC
// 6749 section 5.2), as an MCP client that was refused looks for a way to sign
// in and shows what it then reads.
type refusal struct {
	Code    string `json:"error"`
	Message string `json:"error_description"`
	Hint    string `json:"hint,omitempty"`
}

func refuse(w http.ResponseWriter, status int, code, message, hint string) {
	writeJSON(w, status, refusal{code, message, hint})
}

// sendToken is the next step of who is not let in.
const sendToken = "send this server's token as Authorization: Bearer TOKEN"

// missing answers for all paths that have no handler: a person with a page, if
// there are any.
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
	_, _ = w.Write(append(data, '\n')) // nobody is left to tell
}

// reads serves GET and HEAD only.
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

// health says that the process lives, and which build it is.
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

// ready says whether requests can be answered now.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.opts.Ready != nil {
		if err := s.opts.Ready(); err != nil {
			refuse(w, http.StatusServiceUnavailable, "not_ready", err.Error(), "")
			return
		}
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": "ready"})
}

// shorten bounds what an answer repeats of a request, in bytes.
func shorten(s string) string {
	return strings.ToValidUTF8(textutil.Excerpt(s, 200), "?")
}
