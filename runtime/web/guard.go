package web

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// ours refuses a Host that is not this server's, so that a name which an
// attacker lets resolve to 127.0.0.1 is no way in.
func (s *Server) ours(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.ownHost(r) {
			refuse(w, http.StatusForbidden, "wrong_host", "Host '"+shorten(r.Host)+"' is not this server",
				"use http://127.0.0.1 or http://localhost, or start the server with --allow-host NAME")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) ownHost(r *http.Request) bool {
	host := hostname(r.Host)
	if loopbackName(host) || slices.ContainsFunc(s.opts.AllowedHosts, func(h string) bool { return strings.EqualFold(h, host) }) {
		return true
	}
	// An address cannot be made to resolve elsewhere: it is ours if the
	// connection came to it.
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	ip := net.ParseIP(host)
	return ok && ip != nil && ip.Equal(local.IP)
}

// hostname is a Host header without its port and brackets.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// sameOrigin refuses pages of other origins, and answers the preflight of
// those that are allowed. Programs send no Origin.
func (s *Server) sameOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origins := r.Header.Values("Origin")
		if len(origins) == 0 {
			next.ServeHTTP(w, r)
			return
		}
		origin := origins[0]
		allowed := slices.ContainsFunc(s.opts.AllowedOrigins, func(o string) bool { return strings.EqualFold(strings.TrimSuffix(o, "/"), origin) })
		if len(origins) > 1 || !allowed && !ownOrigin(origin, r.Host) {
			refuse(w, http.StatusForbidden, "foreign_origin", "pages of "+shorten(origin)+" may not call this server",
				"if it is yours, start the server with --allow-origin ORIGIN")
			return
		}
		w.Header().Add("Vary", "Origin")
		if allowed {
			h := w.Header()
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, Mcp-Protocol-Version")
			if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
				h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
				h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
				h.Set("Access-Control-Max-Age", "600") // seconds
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func ownOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.EqualFold(u.Host, host)
}

// guarded asks for the token, or for the cookie of a browser that was let in.
func (s *Server) guarded(next http.Handler) http.Handler {
	if s.opts.NoToken {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if strings.EqualFold(scheme, "Bearer") && s.isToken(strings.TrimSpace(token)) || scheme == "" && s.signedIn(r) {
			next.ServeHTTP(w, r)
			return
		}
		if s.wantsPage(r) && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			http.Redirect(w, r, "/login?to="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="deskhand"`)
		refuse(w, http.StatusUnauthorized, "unauthorized", "the token is missing or wrong",
			sendToken+"; whoever started it set DESKHAND_TOKEN, or finds it in the file token of the state folder")
	})
}

// sealed sets the headers that keep an answer from being framed, sniffed or
// kept. A handler that serves pages sets its own policy.
func sealed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}
