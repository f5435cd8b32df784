package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/people"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// ours refuses a request whose Host is not this server's. This prevents attacks
// with a name that resolves to 127.0.0.1.
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
	if page.ThisMachine(host) || slices.ContainsFunc(s.opts.AllowedHosts, func(h string) bool { return strings.EqualFold(h, host) }) {
		return true
	}
	// An attacker cannot make an IP address resolve to another one. An IP
	// address is this server's if the connection was made to it.
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	ip := net.ParseIP(host)
	return ok && ip != nil && ip.Equal(local.IP)
}

// hostname returns a Host header without its port and brackets.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// sameOrigin refuses requests from pages of other origins, and answers
// preflight requests from allowed origins. Programs send no Origin.
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
				"if it is your own page, start the server with --allow-origin ORIGIN")
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
				h.Set("Access-Control-Max-Age", "600") // in seconds
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

// caller identifies who sends a request, and the session if it comes from a browser or
// with a named token. A caller that sends a wrong secret is a stranger, whatever else
// it sends. err is a fault if it sent a token that was valid once.
func (s *Server) caller(r *http.Request) (c access.Caller, one session, err error) {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	secret = strings.TrimSpace(secret)
	switch bearer := strings.EqualFold(scheme, "Bearer"); {
	case bearer && is(s.opts.People.Key, secret):
		c.Level, c.How = access.People, access.ByBearer
	case bearer && is(s.opts.Token, secret):
		c.Level, c.How = access.Agents, access.ByToken
	case bearer && people.IsToken(secret): // a stranger if it is wrong, also where others need no token
		c, one, err = s.bearer(r, secret)
	case scheme == "":
		var known bool
		if c, one, known = s.proxied(r); known {
			break
		}
		if c, one, err = s.browser(r); c.Level > access.Anyone {
			break
		}
		fallthrough
	default:
		if s.opts.NoToken {
			c.Level = access.Agents
		}
	}
	c.Address = r.RemoteAddr
	return c, one, err
}

// browser identifies the caller by its cookie.
func (s *Server) browser(r *http.Request) (c access.Caller, one session, err error) {
	one, ok := s.signedIn(r)
	if !ok {
		return c, session{}, nil
	}
	if one.name == "" {
		return access.Caller{Level: access.People, How: one.how, Session: one.id}, one, nil
	}
	c, ok, err = s.opts.Directory.Session(r.Context(), one.name, one.turn)
	if err != nil || !ok {
		if err != nil {
			s.opts.Logger.Error("cannot check a session", "error", err)
		}
		return access.Caller{}, session{}, nil
	}
	c.How, c.Session, one.rights = one.how, one.id, rightsOf(c)
	return c, one, nil
}

// is reports whether two secrets are equal. It compares hashes, so that the
// time it takes reveals nothing about the secret, not even its length. An empty
// secret never matches.
func is(secret, given string) bool {
	want, got := sha256.Sum256([]byte(secret)), sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1 && secret != ""
}

// admitting admits callers that satisfy the rule and passes them to the handler
// through the context. It keeps the connection of a known caller; see
// [limitedListener]. A request ends with its session or token.
func (s *Server) admitting(rule access.Rule, next http.Handler) http.Handler {
	if rule.Level > access.Anyone {
		next = s.budgeted(next)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, one, err := s.caller(r)
		if c.Level > access.Anyone {
			keepOpen(r)
		}
		if rule.Level == access.Anyone {
			s.boundStranger(w, r)
		}
		switch {
		case c.May(rule):
			ctx, over := r.Context(), func() {}
			if one.id != "" {
				ctx, over = s.lasting.begin(ctx, one)
			}
			defer over()
			next.ServeHTTP(w, r.WithContext(access.With(ctx, c)))
		case err != nil:
			ended(w, err)
		case c.Name != "":
			s.lacking(w, r, c, rule)
		default:
			s.turnAway(w, r, c)
		}
	})
}

// maxStranger is the maximum size of a request body on a route that is open to
// anyone, in bytes. The forms on these routes contain only a key or a note.
const maxStranger = 64 << 10

// boundStranger limits the size of a request body on a route that is open to
// anyone, and the time for the body.
func (s *Server) boundStranger(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.opts.StrangerTime)) // ignore the error: a test's recorder has no deadline
	for {
		outer, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			break
		}
		w = outer.Unwrap() // the server's own writer, which lets the client read the refusal
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxStranger)
}

// turnAway answers a caller that has no access. Wrong secrets are limited in
// the same way as on the sign-in page. A correct secret is accepted before
// anything is counted. Wrong guesses from an address therefore do not lock out
// other programs at that address.
func (s *Server) turnAway(w http.ResponseWriter, r *http.Request, c access.Caller) {
	if c.How == "" && r.Header.Get("Authorization") != "" {
		if wait := s.wrong.take(r.RemoteAddr, time.Now()); wait > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
			w.Header().Set("Connection", "close") // because the rest of the body is not read
			refuse(w, http.StatusTooManyRequests, "too_many_tries", "the token is wrong, and too many wrong tokens were sent",
				sendToken+"; the correct one is accepted immediately")
			return
		}
		s.note(r, noteToken, noteNobody, access.ByToken, noteWrong)
	}
	reading := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case reading && c.How == "" && s.opts.Homeward != nil && !s.opts.People.atHome(r) && s.opts.Homeward(r):
		http.Redirect(w, r, s.opts.People.homeOf(r), http.StatusSeeOther)
		return
	case reading && c.How == "" && s.wantsPage(r):
		http.Redirect(w, r, loginPath+"?to="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		return
	}
	if c.Level == access.Agents {
		refuse(w, http.StatusForbidden, "for_people", "only people have access: the agents' token is not accepted",
			"sign in with a link from \"deskhand inbox --web\"; in programs, send the person's key instead of the token")
		return
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="deskhand"`)
	refuse(w, http.StatusUnauthorized, "unauthorized", "the token is missing or wrong",
		sendToken+"; it is the value of DESKHAND_TOKEN on the server, or in the file token in its state folder")
}

// sealed sets headers that prevent an answer from being framed, sniffed or
// cached. A handler that serves pages sets its own content policy.
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
