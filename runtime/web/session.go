package web

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A browser sends no bearer token. It gets a cookie for one, by a link that
// works once or by the token itself. Both are signed with the token, so that
// every process that has the token takes them, and a new token ends them all.
const (
	sessionCookie = "deskhand_session"
	sessionTime   = 90 * 24 * time.Hour
	// linkTime is how long a link that lets somebody in may lie about.
	linkTime = 10 * time.Minute
)

// Key makes of an installation's token a key for one use.
func Key(token, use string) []byte {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte(use))
	return mac.Sum(nil)
}

// pass is a signed text "<until>.<random>.<signature>", until in Unix seconds.
func pass(token, use string, until time.Time) string {
	text := strconv.FormatInt(until.Unix(), 10) + "." + rand.Text()
	return text + "." + signature(token, use, text)
}

func signature(token, use, text string) string {
	mac := hmac.New(sha256.New, Key(token, use))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// readPass checks a pass and says until when it is good, and its random part.
func readPass(token, use, given string, now time.Time) (until time.Time, id string, ok bool) {
	i := strings.LastIndexByte(given, '.')
	if i < 0 || !hmac.Equal([]byte(given[i+1:]), []byte(signature(token, use, given[:i]))) {
		return time.Time{}, "", false
	}
	seconds, id, _ := strings.Cut(given[:i], ".")
	n, err := strconv.ParseInt(seconds, 10, 64)
	until = time.Unix(n, 0)
	return until, id, err == nil && now.Before(until)
}

// LoginLink is an address that lets a browser in, once and for some minutes,
// and leads to a path there. base is that of the server, as
// http://127.0.0.1:20311.
func LoginLink(base, token, to string) string {
	query := url.Values{"key": {pass(token, "login", time.Now().Add(linkTime))}}
	if to != "" && to != "/" {
		query.Set("to", to)
	}
	return strings.TrimSuffix(base, "/") + "/login?" + query.Encode()
}

// signedIn says that the request has the cookie of a session.
func (s *Server) signedIn(r *http.Request) bool {
	for _, c := range r.CookiesNamed(sessionCookie) { // another port of this host may have set one too
		if _, _, ok := readPass(s.opts.Token, "session", c.Value, time.Now()); ok {
			return true
		}
	}
	return false
}

func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	until := time.Now().Add(sessionTime)
	http.SetCookie(w, &http.Cookie{Name: sessionCookie, Value: pass(s.opts.Token, "session", until), Path: "/",
		Expires: until, HttpOnly: true, Secure: s.opts.Shell.Secure(r), SameSite: http.SameSiteLaxMode})
}

// once is Options.Once, or the memory of this process.
func (s *Server) once(ctx context.Context, id string, until time.Time) (bool, error) {
	if s.opts.Once != nil {
		return s.opts.Once(ctx, id, until)
	}
	_, used := s.used.LoadOrStore(id, until)
	return !used, nil
}
