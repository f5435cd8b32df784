package gateway

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// Path is the path of the page for connecting an upstream, followed by the
// request's ID.
const Path = "/connect/"

// callbackPath is where authorization servers send people back to. clientPath
// serves deskhand's client metadata document.
const (
	callbackPath = Path + "callback"
	clientPath   = Path + "client.json"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed static/*
var static embed.FS

// pages holds the handlers.
type pages struct {
	g     *Gateway
	shell *page.Shell
	page  *template.Template
	// who returns the person at a browser.
	who func(*http.Request) string
}

// Mounts returns the pages for connecting upstreams, by path, for people who have
// signed in. who identifies such a person. If nil, it is the name of the request's
// caller, or else [Options.Principal].
func (g *Gateway) Mounts(shell *page.Shell, who func(*http.Request) string) map[string]http.Handler {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err)
	}
	shell.Add(files)
	if who == nil {
		who = func(r *http.Request) string { return cmp.Or(access.Of(r.Context()).Name, g.options.Principal) }
	}
	p := &pages{g, shell, shell.Parse(templates, "templates/connect.html"), who}
	return map[string]http.Handler{
		"GET " + Path + "{id}":  p.handler((*pages).show),
		"POST " + Path + "{id}": p.handler((*pages).act),
		"GET " + callbackPath:   p.handler((*pages).back),
		"GET /auth/connect":     http.HandlerFunc(p.alias),
	}
}

// Public returns the handlers that require no sign-in.
func (g *Gateway) Public() map[string]http.Handler {
	return map[string]http.Handler{"GET " + clientPath: http.HandlerFunc(g.describe)}
}

// ComesBack reports whether a browser is returning from an authorization server
// with the state of a sign-in that began here.
func (g *Gateway) ComesBack(r *http.Request) bool {
	if r.URL.Path != callbackPath {
		return false
	}
	v, err := g.open(r.Context())
	if err != nil {
		return false
	}
	begun, err := v.hasSignIn(r.Context(), r.FormValue("state"))
	return err == nil && begun
}

// view holds the data that the page shows.
type view struct {
	State    string // open, done, ended, or empty if there is nothing to connect
	At       string // the request's path, to which the form is sent wherever it is shown
	Title    string // the upstream's title
	Host     string // the upstream's host
	Asker    string
	Tool     string
	Key      bool     // whether a key is to be pasted
	Provider string   // host to sign in at
	Scopes   []string // scopes to request
	Trouble  string   // error to show; empty if there is none
	Hint     string
	Return   string // path to return to; if empty, the tab may be closed
}

func (p *pages) write(w http.ResponseWriter, r *http.Request, status int, v view, formsTo string) {
	title := "Connect"
	if v.Title != "" {
		title += " " + v.Title
	}
	p.shell.Write(w, r, status, p.page, "", page.Page{Title: title, Here: "/", Data: v, FormsTo: formsTo})
}

// handler wraps h and writes its errors as pages.
func (p *pages) handler(h func(*pages, http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
		err := page.ReadForm(r)
		var own *pages
		if err == nil {
			own, err = p.of(r)
		}
		if err == nil {
			err = h(own, w, r)
		}
		if err == nil || r.Context().Err() != nil {
			return
		}
		f := fault.Of(err)
		if errors.As(err, new(*http.MaxBytesError)) {
			p.write(w, r, http.StatusRequestEntityTooLarge, view{Trouble: "That is far too long for a key.", Hint: "Copy the key again, without the text around it."}, "")
			return
		}
		if f == nil {
			p.g.log.Error("cannot serve the page", "path", r.Pattern, "error", err)
			status, message, hint := p.shell.Failed(err)
			p.write(w, r, status, view{Trouble: message, Hint: hint}, "")
			return
		}
		status := map[string]int{elicit.UnknownRequest: http.StatusNotFound, notYours: http.StatusForbidden, notChecked: http.StatusForbidden}[f.Code]
		p.write(w, r, cmp.Or(status, http.StatusConflict), view{Trouble: page.Sentence(f.Message), Hint: page.Sentence(f.Hint)}, "")
	})
}

// Codes of the page's own refusals.
const (
	notYours   = "not_yours"
	notChecked = "not_checked"
)

// find returns a page's request and upstream, if the request is for this person.
func (p *pages) find(r *http.Request, id string) (*elicit.Hub, *elicit.Request, *upstream, error) {
	hub, err := p.g.openHub(r.Context())
	if err != nil {
		return nil, nil, nil, err
	}
	request, err := hub.Get(r.Context(), id)
	if err != nil {
		return nil, nil, nil, err
	}
	u := p.g.named(request.Context.Upstream)
	if request.Trigger != elicit.CredentialRequired || u == nil {
		return nil, nil, nil, fault.New(elicit.UnknownRequest, "there is nothing to connect here", "open the link of the server that asks")
	}
	if request.Audience.Principal != p.who(r) {
		return nil, nil, nil, fault.New(notYours, "this is for another person to connect", "sign in as the person that the agent works for")
	}
	return hub, &request, u, nil
}

// show handles the page of a request.
func (p *pages) show(w http.ResponseWriter, r *http.Request) error {
	hub, request, u, err := p.find(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	if request.Status != elicit.Completed && len(request.Presented) == 0 {
		seen := elicit.Action{Type: elicit.PresentedTo, RequestID: request.ID, By: p.who(r), Channel: "web"}
		if _, err := hub.Dispatch(r.Context(), seen); err != nil && fault.Of(err) == nil {
			return err
		}
	}
	return p.open(w, r, http.StatusOK, request, u, nil)
}

// open shows a request in its current state. trouble, if not nil, is the last
// error.
func (p *pages) open(w http.ResponseWriter, r *http.Request, status int, request *elicit.Request, u *upstream, trouble *fault.Fault) error {
	v := view{State: "open", At: Path + request.ID, Title: u.Title, Host: u.host(), Asker: cmp.Or(request.Source.Name, "An agent"), Tool: request.Context.ToolName,
		Key: u.Auth.Kind == Key, Return: page.Local(r.FormValue("return"))}
	if request.Accepted() {
		v.State = "done"
		p.write(w, r, status, v, "")
		return nil
	}
	if request.Status == elicit.Completed {
		v.State = "ended"
		p.write(w, r, status, v, "")
		return nil
	}
	formsTo := ""
	if !v.Key {
		provider, err := u.signsInAt(r.Context())
		if f := fault.Of(err); f != nil && trouble == nil {
			trouble = f
		} else if err != nil && f == nil {
			return err
		}
		if provider != nil {
			v.Provider, v.Scopes, formsTo = provider.host(), provider.scopes, origin(provider.meta.AuthorizationEndpoint)
		}
	}
	if trouble != nil {
		v.Trouble, v.Hint = page.Sentence(trouble.Message), page.Sentence(trouble.Hint)
	}
	p.write(w, r, status, v, formsTo)
	return nil
}

func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// act handles the button that a person pressed.
func (p *pages) act(w http.ResponseWriter, r *http.Request) error {
	if !p.shell.Checked(r) {
		return fault.New(notChecked, "this page was open too long, or cookies are disabled", "open the link again")
	}
	hub, request, u, err := p.find(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	switch {
	case request.Status == elicit.Completed:
	case r.PostFormValue("act") == "dismiss":
		err = complete(r.Context(), hub, request.ID, elicit.Decline, p.who(r), "web")
	case u.Auth.Kind == Key:
		return p.paste(w, r, hub, request, u)
	default:
		return p.leave(w, r, request, u)
	}
	if err != nil {
		return err
	}
	return p.again(w, r, request)
}

// again redirects the browser to the page, so that a reload does not submit the form again.
func (p *pages) again(w http.ResponseWriter, r *http.Request, request *elicit.Request) error {
	to := Path + request.ID
	if back := page.Local(r.FormValue("return")); back != "" {
		to += "?return=" + url.QueryEscape(back)
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// maxKey is the maximum length of a key in bytes.
const maxKey = 8 << 10

// paste handles a pasted key.
func (p *pages) paste(w http.ResponseWriter, r *http.Request, hub *elicit.Hub, request *elicit.Request, u *upstream) error {
	if err := p.g.store(r.Context(), u, r.PostFormValue("key"), p.who(r), "web"); err != nil {
		f := fault.Of(err)
		if f == nil {
			return err
		}
		return p.open(w, r, http.StatusUnprocessableEntity, request, u, f)
	}
	if err := complete(r.Context(), hub, request.ID, elicit.Accept, p.who(r), "web"); err != nil {
		return err
	}
	return p.again(w, r, request)
}

// store tries and stores a key.
func (g *Gateway) store(ctx context.Context, u *upstream, key, by, channel string) error {
	key, err := checkKey(key)
	if err != nil {
		return err
	}
	v, err := g.open(ctx)
	if err != nil {
		return err
	}
	if err := u.try(ctx, &Credential{Kind: Key, Key: key}); err != nil {
		return err
	}
	return v.put(ctx, u.Name, u.principal(), &Credential{Kind: Key, At: time.Now().UTC(), By: by, Channel: channel, Key: key})
}

// checkKey returns a key without the space around it. The error is a fault with code
// "bad_key".
func checkKey(key string) (string, error) {
	key = strings.TrimSpace(key)
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(c rune) bool { return c > unicode.MaxASCII || !unicode.IsPrint(c) }) {
		return "", fault.New("bad_key", "not a valid key: it is empty, too long, or contains invalid characters", "copy it again, without the text around it")
	}
	return key, nil
}

// leave sends the person to the authorization server.
func (p *pages) leave(w http.ResponseWriter, r *http.Request, request *elicit.Request, u *upstream) error {
	address, err := p.g.begin(r.Context(), u, signIn{Request: request.ID, Principal: p.who(r), Return: page.Local(r.FormValue("return"))})
	if f := fault.Of(err); f != nil {
		return p.open(w, r, http.StatusBadGateway, request, u, f)
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, address, http.StatusSeeOther)
	return nil
}

// begin returns the address to send a person to for a sign-in.
func (g *Gateway) begin(ctx context.Context, u *upstream, s signIn) (string, error) {
	v, err := g.open(ctx)
	if err != nil {
		return "", err
	}
	base, err := g.options.Base(ctx)
	if err != nil {
		return "", err
	}
	s.Redirect = base + callbackPath
	provider, err := u.signsInAt(ctx)
	if err != nil {
		return "", err
	}
	return u.begin(ctx, v, provider, s)
}

// back handles a person's return from an authorization server.
func (p *pages) back(w http.ResponseWriter, r *http.Request) error {
	v, err := p.g.open(r.Context())
	if err != nil {
		return err
	}
	s, err := v.takeSignIn(r.Context(), r.FormValue("state"))
	if err != nil {
		return err
	}
	if s == nil {
		return fault.New("bad_state", "this sign-in was already used, is too old, or was not started here", "open the link again and start over")
	}
	u := p.g.named(s.Upstream)
	switch {
	case u == nil:
		return fault.New(elicit.UnknownRequest, "the server that asked for this is no longer configured", "")
	case s.Principal != p.who(r):
		return fault.New(notYours, "another person started this sign-in", "start over as the person that the agent works for")
	}
	r.Form.Set("return", s.Return)
	hub, request, _, err := p.find(r, s.Request)
	if err != nil {
		return err
	}
	if reason := r.FormValue("error"); reason != "" {
		f := fault.New("sign_in_failed", hostOf(s.TokenURL)+" did not let you in: "+textutil.Shorten(page.Clean(cmp.Or(r.FormValue("error_description"), reason)), 200), "retry, or dismiss it")
		return p.open(w, r, http.StatusOK, request, u, f)
	}
	if err := u.finish(r.Context(), v, s, r.FormValue("code"), r.FormValue("iss"), p.who(r)); err != nil {
		f := fault.Of(err)
		if f == nil {
			return err
		}
		p.g.log.Warn("cannot finish the sign-in", "upstream", u.Name, "code", f.Code, "request_id", request.ID)
		return p.open(w, r, http.StatusBadGateway, request, u, f)
	}
	if err := complete(r.Context(), hub, request.ID, elicit.Accept, p.who(r), "web"); err != nil {
		return err
	}
	return p.again(w, r, request)
}

// alias redirects the older form of the address. Only the ID in it is used: the
// sign-in identifies the person, and returnUrl must be on this server.
func (p *pages) alias(w http.ResponseWriter, r *http.Request) {
	back := r.FormValue("returnUrl")
	if back != "" && origin(back) == "http://"+r.Host || origin(back) == "https://"+r.Host {
		u, _ := url.Parse(back) // origin has parsed it
		back = u.RequestURI()
	}
	if back != "" && page.Local(back) == "" {
		p.write(w, r, http.StatusBadRequest, view{Trouble: "This link points to another site, which is not trusted.", Hint: "Open the request in the inbox."}, "")
		return
	}
	to := Path + url.PathEscape(r.FormValue("elicitationId"))
	if back != "" {
		to += "?return=" + url.QueryEscape(back)
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// describe serves deskhand's client metadata document, for authorization servers
// that read it instead of registering clients.
func (g *Gateway) describe(w http.ResponseWriter, r *http.Request) {
	if g.options.Base == nil {
		http.NotFound(w, r)
		return
	}
	base, err := g.options.Base(r.Context())
	if err != nil {
		http.Error(w, "this server's address is unknown", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client is gone
		"client_id": base + clientPath, "client_name": "deskhand", "redirect_uris": []string{base + callbackPath},
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"}, "token_endpoint_auth_method": "none",
	})
}

// try asks an HTTP upstream whether it accepts a key before the key counts as
// connected. Only a refusal is an error: an upstream that cannot be reached now may
// accept the key later.
func (u *upstream) try(ctx context.Context, c *Credential) error {
	if u.URL == "" {
		return nil
	}
	s, err := u.dial(context.WithValue(ctx, credentialKey{}, c), c)
	if errors.As(err, new(*unauthorized)) {
		return fault.New("bad_key", u.Title+" refuses this key", "copy it again, or create a new one there")
	}
	if err == nil {
		_ = s.Close() // it was opened only for this check
	}
	return nil
}
