package web

import (
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// CheckBase refuses an address that no page can lie below, with fault code
// "bad_address". It is empty, or http or https with a host and maybe a path.
func CheckBase(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		strings.ContainsAny(u.Path, "\"<>\\ ;") || strings.Contains(u.Path, "//") || strings.Contains(u.Path+"/", "/../") {
		return fault.New("bad_address", "'"+address+"' is not the address of a server", "write it, for example, as https://example.org/deskhand")
	}
	return nil
}

// checkBase refuses a base whose path begins like one of the server's own, because
// requests of a proxy that removes it could not be told from those of one that keeps it.
func (s *Server) checkBase() error {
	if s.opts.Base == nil {
		return nil
	}
	first, _, _ := strings.Cut(strings.Trim(s.opts.Base.Path, "/"), "/")
	for path := range paths(s.opts.Mounts, Own) {
		_, path, _ = strings.Cut(path, "/") // without a method
		if top, _, _ := strings.Cut(path, "/"); first != "" && top == first {
			return fault.New("bad_address", "the server has pages of its own below /"+first, "choose another path for --base-url, for example /deskhand")
		}
	}
	return nil
}

// paths returns the paths that a server answers.
func paths(mounts map[string]http.Handler, own map[string]access.Rule) iter.Seq[string] {
	return func(yield func(string) bool) {
		for path := range mounts {
			if !yield(path) {
				return
			}
		}
		for path := range own {
			if !yield(path) {
				return
			}
		}
	}
}

// based answers requests for paths below the base as if they were for the root, because
// some proxies remove the base's path and others keep it. It puts the base's path back
// into redirects and cookies; the pages do it in their links.
func (s *Server) based(next http.Handler) http.Handler {
	base := s.opts.Base
	if base == nil || strings.Trim(base.Path, "/") == "" {
		return next
	}
	path := strings.TrimSuffix(base.Path, "/")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path {
			http.Redirect(w, r, path+"/", http.StatusMovedPermanently)
			return
		}
		r = r.WithContext(page.WithBase(r.Context(), base))
		if rest, ok := strings.CutPrefix(r.URL.Path, path+"/"); ok {
			at := *r.URL
			at.Path = "/" + rest
			if raw, ok := strings.CutPrefix(at.RawPath, base.EscapedPath()); ok {
				at.RawPath = "/" + strings.TrimPrefix(raw, "/")
			} else {
				at.RawPath = ""
			}
			r.URL = &at
		}
		next.ServeHTTP(&basedWriter{ResponseWriter: w, path: path}, r)
	})
}

// basedWriter puts path before the paths in an answer's header.
type basedWriter struct {
	http.ResponseWriter
	path string
	done bool
}

func (w *basedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *basedWriter) WriteHeader(status int) {
	w.header()
	w.ResponseWriter.WriteHeader(status)
}

func (w *basedWriter) Write(b []byte) (int, error) {
	w.header()
	return w.ResponseWriter.Write(b)
}

// header changes the header once, before it is sent.
func (w *basedWriter) header() {
	if w.done {
		return
	}
	w.done = true
	h := w.Header()
	for _, name := range []string{"Location", "Content-Location"} {
		if to := h.Get(name); strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") {
			h.Set(name, w.path+to)
		}
	}
	for i, cookie := range h["Set-Cookie"] {
		h["Set-Cookie"][i] = strings.Replace(cookie, "; Path=/;", "; Path="+w.path+";", 1)
	}
}
