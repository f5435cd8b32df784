package web

import (
	"cmp"
	"embed"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/web/page"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed static/*
var static embed.FS

const loginPath = "/login"

// loginPage is the data of the sign-in page.
type loginPage struct {
	To      string // path to which the browser is redirected afterwards
	Trouble string // error to show; empty if there is none
	Days    int    // how many days this browser stays signed in; 0 if it is less than two
	Onward  string // address at which to continue; empty if there is a form
	Away    bool   // whether the requested host name differs from the one to which sessions belong
	// Provider is the path at which signing in with an identity provider begins; empty
	// without one.
	Provider string
}

// showLogin shows the sign-in page.
func (s *Server) showLogin(w http.ResponseWriter, r *http.Request, status int, p loginPage) {
	p.Away = !s.opts.People.atHome(r) && r.Method == http.MethodGet
	if p.Days = int(s.opts.People.sessionTime() / (24 * time.Hour)); p.Days < 2 {
		p.Days = 0
	}
	if s.opts.Provider != nil {
		p.Provider, p.Away = oidcPath+"?to="+url.QueryEscape(p.To), false
	}
	s.opts.Shell.Write(w, r, status, s.loginPage, "", page.Page{Title: "Sign in", Data: p})
}

// login signs a browser in. It accepts a link from [People.LoginLink], or a
// form that asks for the person's key.
func (s *Server) login() http.Handler {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err)
	}
	s.opts.Shell.Add(files)
	s.loginPage = s.opts.Shell.Parse(templates, "templates/login.html")
	show := s.showLogin
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := loginPage{}
		if status, trouble := readForm(r); status != 0 {
			w.Header().Set("Connection", "close")
			p.Trouble = trouble
			show(w, r, status, p)
			return
		}
		p.To = cmp.Or(page.Local(r.FormValue("to")), "/")
		_, in := s.signedIn(r)
		switch {
		case r.Method == http.MethodPost:
			s.loginByKey(w, r, p, show)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "/login accepts only GET and POST", "")
		case in:
			http.Redirect(w, r, p.To, http.StatusSeeOther)
		case r.Method == http.MethodHead || fetchedAhead(r) || r.FormValue("key") == "":
			show(w, r, http.StatusOK, p)
		default:
			s.loginByLink(w, r, p, show)
		}
	})
}

// readForm parses a form. If it fails, status is not 0 and trouble is the
// reason.
func readForm(r *http.Request) (status int, trouble string) {
	err := page.ReadForm(r)
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return http.StatusRequestEntityTooLarge, "That is too long for this form."
	case err != nil:
		return http.StatusBadRequest, "The form did not arrive completely. Please retry."
	}
	return 0, ""
}

// loginByKey signs a browser in with the person's key from the form.
func (s *Server) loginByKey(w http.ResponseWriter, r *http.Request, p loginPage, show func(http.ResponseWriter, *http.Request, int, loginPage)) {
	if !s.opts.Shell.Checked(r) {
		p.Trouble = "This page was open too long, or cookies are disabled. Please retry."
		show(w, r, http.StatusForbidden, p)
		return
	}
	if wait := s.tries.take(r.RemoteAddr, time.Now()); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
		p.Trouble = "Too many keys were tried. Wait a minute, or use a link from \"deskhand inbox --web\", which still works."
		show(w, r, http.StatusTooManyRequests, p)
		return
	}
	if !is(s.opts.People.Key, strings.TrimSpace(r.PostFormValue("key"))) {
		s.note(r, noteSignIn, noteNobody, access.ByKey, noteWrong)
		p.Trouble = "That is not the person's key of this installation."
		if is(s.opts.Token, strings.TrimSpace(r.PostFormValue("key"))) {
			p.Trouble = "That is the agents' token. To sign in, use the person's key instead."
		}
		show(w, r, http.StatusUnauthorized, p)
		return
	}
	if !s.opts.People.atHome(r) {
		// A redirect does not work: the page's policy forbids its form to lead
		// elsewhere.
		p.Onward = s.opts.People.LoginLink("http://"+r.Host+page.Prefix(r.Context()), p.To)
		w.Header().Set("Refresh", "1; url="+p.Onward)
		show(w, r, http.StatusOK, p)
		return
	}
	s.signIn(w, r, access.ByKey)
	http.Redirect(w, r, p.To, http.StatusSeeOther)
}

// fetchedAhead reports whether a browser fetches a link although no person has
// opened it yet.
func fetchedAhead(r *http.Request) bool {
	return r.Header.Get("Sec-Purpose") != "" || r.Header.Get("Purpose") != ""
}

func (s *Server) loginByLink(w http.ResponseWriter, r *http.Request, p loginPage, show func(http.ResponseWriter, *http.Request, int, loginPage)) {
	until, id, ok := readPass(s.opts.People.Key, "login", r.FormValue("key"), time.Now())
	if ok {
		ok = !s.signedOutSince(r, id, until)
	}
	if ok && !s.opts.People.atHome(r) {
		http.Redirect(w, r, s.opts.People.homeOf(r), http.StatusSeeOther) // a person who has a link may learn the name
		return
	}
	if ok {
		var err error
		if ok, err = s.opts.Ledger.Once(r.Context(), "login/"+id, until); err != nil {
			s.opts.Logger.Error("cannot check a login link", "error", err)
			ok = false
		}
	}
	if !ok {
		if s.links.take(r.RemoteAddr, time.Now()) == 0 { // only the audit log is spared: links cannot be guessed
			s.note(r, noteSignIn, noteNobody, access.ByLink, noteWrong)
		}
		p.Trouble = "This link was already used or is too old. \"deskhand inbox --web\" prints a new one."
		show(w, r, http.StatusUnauthorized, p)
		return
	}
	s.signIn(w, r, access.ByLink)
	http.Redirect(w, r, p.To, http.StatusSeeOther)
}

// signedOutSince reports whether all browsers were signed out after a link was made. If that
// cannot be read, nobody signs in.
func (s *Server) signedOutSince(r *http.Request, id string, until time.Time) bool {
	link, ok := readSession(id, until)
	if !ok {
		return true
	}
	ended, err := s.opts.Ledger.Ended(r.Context())
	if err != nil {
		s.opts.Logger.Error("cannot check a login link", "error", err)
		return true
	}
	return ended(link.id, link.began)
}

// wantsPage reports whether a request comes from a person's browser. A refusal
// in JSON would not help that person.
func (s *Server) wantsPage(r *http.Request) bool {
	return s.opts.Shell != nil && strings.Contains(r.Header.Get("Accept"), "text/html")
}
