package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/people"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// Directory knows the people with names, their tokens and their invitations.
// [people.Register] implements it.
type Directory interface {
	// Bearer returns the caller that sent a token, and when the token expires (zero:
	// never). If the token is refused, the error is a fault.
	Bearer(ctx context.Context, secret string) (access.Caller, time.Time, error)
	// Snapshot returns what people with these names, and tokens with these IDs, may do now.
	Snapshot(ctx context.Context, names, tokens []string) (people.Snapshot, error)
	// Session returns the caller of a browser that signed in with an invitation, and
	// whether its session continues.
	Session(ctx context.Context, name string, turn int64) (access.Caller, bool, error)
	// Accept uses an invitation. If it is refused, the error is a fault.
	Accept(ctx context.Context, secret string) (name string, turn int64, err error)
}

// bearer returns the caller that sent a named token, and what ends its requests. If the
// token was valid once, the error is a fault that says what ended it.
func (s *Server) bearer(r *http.Request, secret string) (c access.Caller, one session, err error) {
	if s.opts.Directory == nil || !people.IsToken(secret) {
		return c, one, nil
	}
	c, until, err := s.opts.Directory.Bearer(r.Context(), secret)
	switch f := fault.Of(err); {
	case f != nil && f.Code == people.Unknown:
		return access.Caller{}, one, nil
	case f != nil:
		return access.Caller{}, one, f
	case err != nil:
		s.opts.Logger.Error("cannot check a token", "error", err)
		return access.Caller{}, one, nil
	}
	return c, session{id: "token/" + c.Token, token: c.Token, until: until, rights: rightsOf(access.Caller{Boundary: c.Boundary})}, nil
}

// joinPath is the path of an invitation.
const joinPath = "/join"

// joinData is the data of the page of an invitation.
type joinData struct {
	Invite  string
	Trouble string // empty if there is none
}

// join signs in a browser with an invitation. Only the button uses the invitation,
// because programs that pass links on open them first.
func (s *Server) join() http.Handler {
	t := s.opts.Shell.Parse(templates, "templates/join.html")
	show := func(w http.ResponseWriter, r *http.Request, status int, d joinData) {
		s.opts.Shell.Write(w, r, status, t, "", page.Page{Title: "Invitation", Data: d})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, trouble := readForm(r); status != 0 {
			w.Header().Set("Connection", "close")
			show(w, r, status, joinData{Trouble: trouble})
			return
		}
		d := joinData{Invite: r.FormValue("invite")}
		switch {
		case r.Method == http.MethodGet || r.Method == http.MethodHead:
			if !s.opts.People.atHome(r) {
				http.Redirect(w, r, s.opts.People.homeOf(r), http.StatusSeeOther) // the link has the name already
				return
			}
			show(w, r, http.StatusOK, d)
		case r.Method != http.MethodPost:
			refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", joinPath+" accepts only GET and POST", "")
		default:
			s.joinBy(w, r, d, show)
		}
	})
}

func (s *Server) joinBy(w http.ResponseWriter, r *http.Request, d joinData, show func(http.ResponseWriter, *http.Request, int, joinData)) {
	if !s.opts.Shell.Checked(r) || !s.opts.People.atHome(r) {
		d.Trouble = "This page was open too long, or cookies are disabled. Please retry."
		show(w, r, http.StatusForbidden, d)
		return
	}
	name, turn, err := s.opts.Directory.Accept(r.Context(), d.Invite)
	if f := fault.Of(err); f != nil {
		// A valid invitation was accepted before anything is counted: a whole team may
		// join from one address.
		if wait := s.tries.take(r.RemoteAddr, time.Now()); wait > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
			show(w, r, http.StatusTooManyRequests, joinData{Trouble: "Too many invitations were tried. Wait a minute; a valid one still works."})
			return
		}
		s.note(r, noteSignIn, noteNobody, access.ByInvite, noteWrong)
		d = joinData{Trouble: page.Sentence(f.Message) + " " + page.Sentence(f.Hint)}
		show(w, r, http.StatusUnauthorized, d)
		return
	}
	if err != nil {
		s.opts.Logger.Error("cannot use an invitation", "error", err)
		status, message, hint := s.opts.Shell.Failed(err)
		d.Trouble = message + " " + hint
		show(w, r, status, d)
		return
	}
	s.begin(w, r, fmt.Sprintf("%s-%d-%s", newSessionID(access.ByInvite), turn, name))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// lacking answers a caller with a name whose scopes do not include the one required.
func (s *Server) lacking(w http.ResponseWriter, r *http.Request, c access.Caller, rule access.Rule) {
	who, hint := "the token "+c.Token+" of "+c.Name, "create one with deskhand token create --for "+c.Name+" --scope "+string(rule.Scope)
	if c.Token == "" {
		who, hint = c.Name, "ask the owner of this installation"
	}
	if rule.Scope == access.Owner {
		hint = "ask the owner of this installation"
	}
	has := people.Words(c.Scopes)
	if has == "" {
		has = "no scope"
	}
	if c.Session != "" && s.wantsPage(r) {
		t := s.opts.Shell.Parse(templates, "templates/lacking.html")
		s.opts.Shell.Write(w, r, http.StatusForbidden, t, "", page.Page{Title: "Not open to you", Data: map[string]string{"Name": c.Name, "Scope": string(rule.Scope), "Has": has}})
		return
	}
	w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="deskhand", error="insufficient_scope", scope=%q`, rule.Scope)) // RFC 6750, section 3.1
	refuse(w, http.StatusForbidden, "insufficient_scope", fmt.Sprintf("this needs the scope %s, and %s has %s", rule.Scope, who, has), hint)
}

// ended answers a caller whose token was valid once.
func ended(w http.ResponseWriter, err error) {
	f := fault.Of(err)
	w.Header().Set("WWW-Authenticate", `Bearer realm="deskhand", error="invalid_token"`)
	refuse(w, http.StatusUnauthorized, f.Code, f.Message, "create another with deskhand token create")
}
