package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
)

// A browser sends no bearer token. It gets a cookie by opening a link that
// works once, or by sending the person's key. The cookie and the link are
// signed with the key.
const (
	sessionCookie = "deskhand_session"
	// linkTime is how long a sign-in link is valid.
	linkTime = 10 * time.Minute
)

// Key derives a key from an installation's secret. Each use has its own key.
func Key(secret, use string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(use))
	return mac.Sum(nil)
}

// pass returns a signed string "<until>.<id>.<signature>", with until in Unix
// seconds. If id is empty, pass chooses a random ID.
func pass(key, use string, until time.Time, id string) string {
	if id == "" {
		id = rand.Text()
	}
	text := strconv.FormatInt(until.Unix(), 10) + "." + id
	return text + "." + signature(key, use, text)
}

func signature(key, use, text string) string {
	mac := hmac.New(sha256.New, Key(key, use))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// readPass checks a pass and returns its expiry time and ID.
func readPass(key, use, given string, now time.Time) (until time.Time, id string, ok bool) {
	i := strings.LastIndexByte(given, '.')
	if i < 0 || key == "" || !hmac.Equal([]byte(given[i+1:]), []byte(signature(key, use, given[:i]))) {
		return time.Time{}, "", false
	}
	seconds, id, _ := strings.Cut(given[:i], ".")
	n, err := strconv.ParseInt(seconds, 10, 64)
	until = time.Unix(n, 0)
	return until, id, err == nil && now.Before(until)
}

// sessionUse returns a key use that binds a session to the host name at which
// the session began.
func sessionUse(r *http.Request) string { return "session@" + strings.ToLower(hostname(r.Host)) }

// session is a signed-in browser, or the requests of one token. The ID of a browser's
// session, which is in the cookie, says when and how it signed in: "<Unix
// milliseconds>-<how>-<random>", and for a person with a name also
// "-<turn>-<name>".
type session struct {
	id    string
	how   string
	began time.Time
	until time.Time // zero: forever
	name  string    // empty for the owner of the installation
	turn  int64
	token string // ID of the token; empty for a browser
	// rights are the scopes and the boundary of a caller with a name when the request
	// began; see [rightsOf].
	rights string
}

// key identifies the requests of a session that have the same rights.
func (s session) key() string { return s.id + "\n" + s.rights }

// rightsOf returns text that differs if a caller's rights differ.
func rightsOf(c access.Caller) string { return fmt.Sprint(c.Scopes, c.Confined, c.Projects) }

func readSession(id string, until time.Time) (s session, ok bool) {
	parts := strings.SplitN(id, "-", 5) // a name may contain hyphens
	if len(parts) != 3 && len(parts) != 5 {
		return s, false
	}
	ms, err := strconv.ParseInt(parts[0], 10, 64)
	s = session{id: id, how: parts[1], began: time.UnixMilli(ms), until: until}
	if (len(parts) == 5) != (s.how == access.ByInvite || s.how == access.ByOIDC) {
		return s, false
	}
	if len(parts) == 5 && err == nil {
		s.name = parts[4]
		s.turn, err = strconv.ParseInt(parts[3], 10, 64)
	}
	return s, err == nil
}

// signedIn returns the session of the request's cookie.
func (s *Server) signedIn(r *http.Request) (session, bool) {
	for _, c := range r.CookiesNamed(sessionCookie) { // another server on this host may also have set a cookie
		until, id, ok := readPass(s.opts.People.Key, sessionUse(r), c.Value, time.Now())
		if !ok {
			continue
		}
		one, ok := readSession(id, until)
		if !ok {
			continue
		}
		if one.name != "" && s.opts.Directory == nil {
			continue
		}
		now, err := s.standing(r.Context(), one)
		if err != nil {
			s.opts.Logger.Error("cannot check a session", "error", err)
			continue
		}
		if ended, _ := now.over(one); !ended {
			return one, true
		}
	}
	return session{}, false
}

// signIn begins a session of the owner. how is what the browser has proved.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request, how string) {
	s.note(r, noteSignIn, noteOwner, how, noteDone)
	s.begin(w, r, newSessionID(how))
}

func newSessionID(how string) string {
	return strconv.FormatInt(time.Now().UnixMilli(), 10) + "-" + how + "-" + rand.Text()
}

// begin gives the browser the cookie of a session.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, id string) {
	s.beginFor(w, r, id, s.opts.People.sessionTime())
}

func (s *Server) beginFor(w http.ResponseWriter, r *http.Request, id string, lasts time.Duration) {
	until := time.Now().Add(lasts)
	s.setSession(w, r, pass(s.opts.People.Key, sessionUse(r), until, id), until)
}

func (s *Server) setSession(w http.ResponseWriter, r *http.Request, value string, until time.Time) {
	http.SetCookie(w, &http.Cookie{Name: sessionCookie, Value: value, Path: "/", Expires: until,
		HttpOnly: true, Secure: s.opts.Shell.Secure(r), SameSite: http.SameSiteLaxMode})
}

// logoutPath is the path of the request that ends a browser's session.
const logoutPath = "/logout"

func (s *Server) logout() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, trouble := readForm(r); status != 0 {
			refuse(w, status, "bad_form", trouble, "")
			return
		}
		if !s.opts.Shell.Checked(r) {
			refuse(w, http.StatusForbidden, "not_checked", "this page was open too long", "reload it and sign out again")
			return
		}
		one, ok := s.signedIn(r)
		if id := access.Of(r.Context()).Session; ok && id == one.id {
			if err := s.opts.Ledger.End(r.Context(), one.id, one.until); err != nil {
				s.opts.Logger.Error("cannot end a session", "error", err)
				status, message, hint := s.opts.Shell.Failed(err)
				refuse(w, status, "not_ended", message, hint)
				return
			}
			s.lasting.end(one.id)
		}
		s.setSession(w, r, "", time.Unix(1, 0))
		http.Redirect(w, r, loginPath, http.StatusSeeOther)
	})
}
