package web

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"net/http"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/web/page"
)

//go:embed templates/*.html
var templates embed.FS

// loginPage is what the page that lets people in shows.
type loginPage struct {
	To      string // path to go to afterwards
	Trouble string // empty: none
}

// login lets a browser in: by a link of [LoginLink], or by a form that asks for
// the token.
func (s *Server) login() http.Handler {
	t := s.opts.Shell.Parse(templates, "templates/login.html")
	show := func(w http.ResponseWriter, r *http.Request, status int, p loginPage) {
		s.opts.Shell.Write(w, r, status, t, "", page.Page{Title: "Sign in", Data: p})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := loginPage{To: cmp.Or(page.Local(r.FormValue("to")), "/")}
		switch {
		case r.Method == http.MethodPost && !s.opts.Shell.Checked(r):
			p.Trouble = "This page was open for too long, or cookies are off. Please try again."
			show(w, r, http.StatusForbidden, p)
		case r.Method == http.MethodPost && !s.isToken(strings.TrimSpace(r.PostFormValue("key"))):
			p.Trouble = "That is not the token of this server."
			show(w, r, http.StatusUnauthorized, p)
		case r.Method == http.MethodPost:
			s.signIn(w, r)
			http.Redirect(w, r, p.To, http.StatusSeeOther)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "/login is read with GET", "")
		case s.opts.NoToken || s.signedIn(r):
			http.Redirect(w, r, p.To, http.StatusSeeOther)
		case r.Method == http.MethodHead || fetchedAhead(r) || r.FormValue("key") == "":
			show(w, r, http.StatusOK, p)
		default:
			s.loginByLink(w, r, p, show)
		}
	})
}

// fetchedAhead says that a browser looks at a link that nobody has pressed yet.
func fetchedAhead(r *http.Request) bool {
	return r.Header.Get("Sec-Purpose") != "" || r.Header.Get("Purpose") != ""
}

func (s *Server) loginByLink(w http.ResponseWriter, r *http.Request, p loginPage, show func(http.ResponseWriter, *http.Request, int, loginPage)) {
	until, id, ok := readPass(s.opts.Token, "login", r.FormValue("key"), time.Now())
	if ok {
		var err error
		if ok, err = s.once(r.Context(), "login/"+id, until); err != nil {
			s.opts.Logger.Error("login link not checked", "error", err)
			ok = false
		}
	}
	if !ok {
		p.Trouble = "This link was used before or is too old. “deskhand inbox --web” prints a new one."
		show(w, r, http.StatusUnauthorized, p)
		return
	}
	s.signIn(w, r)
	http.Redirect(w, r, p.To, http.StatusSeeOther)
}

// isToken compares by hashes, so that the time taken tells nothing of the
// token, not even its length.
func (s *Server) isToken(given string) bool {
	sum := sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(sum[:], s.token[:]) == 1
}

// wantsPage says that a person's browser asks, to whom a refusal in JSON says
// nothing.
func (s *Server) wantsPage(r *http.Request) bool {
	return s.opts.Shell != nil && strings.Contains(r.Header.Get("Accept"), "text/html")
}
