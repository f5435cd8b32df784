package web

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/signin"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// Provider configures signing in with an identity provider.
type Provider struct {
	*signin.Provider
	// Address is this server's address for browsers, which the provider knows. Browsers
	// come back to its path /login/oidc/callback.
	Address string
	// Arrive records a sign-in, and returns what [Directory.Session] needs. If it is
	// refused, the error is a fault.
	Arrive func(ctx context.Context, who signin.Identity) (name string, turn int64, err error)
}

// Proxy configures a proxy that signs people in. It must remove the header from requests of
// browsers, and set it itself.
type Proxy struct {
	Header string         // with the person's name; empty: no proxy is trusted
	From   []netip.Prefix // addresses of the proxy; the header of all others is ignored
	// Known returns the person with a name, and what [Directory.Session] needs.
	Known func(ctx context.Context, name string) (c access.Caller, turn int64, ok bool, err error)
}

const (
	oidcPath     = "/login/oidc"
	callbackPath = "/login/oidc/callback"
	flowCookie   = "deskhand_signin"
	// flowTime is how long a person has to sign in at the provider.
	flowTime = 10 * time.Minute
	// providerTime is the maximum length of a session from a provider. The next sign-in
	// finds out what the person's groups allow then.
	providerTime = 24 * time.Hour
)

// toProvider sends a browser to the provider.
func (s *Server) toProvider() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := s.opts.Provider
		to := cmp.Or(page.Local(r.FormValue("to")), "/")
		if at, err := url.Parse(p.Address); err == nil && !strings.EqualFold(at.Host, r.Host) && r.FormValue("again") == "" {
			// The browser comes back to the other host, which has to get the cookie.
			http.Redirect(w, r, strings.TrimSuffix(p.Address, "/")+oidcPath+"?again=1&to="+url.QueryEscape(to), http.StatusSeeOther)
			return
		}
		address, flow, err := p.Start(r.Context(), p.callback(), to)
		if err != nil {
			s.notSignedIn(w, r, err)
			return
		}
		data, err := json.Marshal(flow)
		if err != nil {
			s.notSignedIn(w, r, err)
			return
		}
		until := time.Now().Add(flowTime)
		s.setFlow(w, r, pass(s.opts.People.Key, sessionUse(r)+"/oidc", until, base64.RawURLEncoding.EncodeToString(data)), until)
		http.Redirect(w, r, address, http.StatusSeeOther)
	})
}

func (p *Provider) callback() string { return strings.TrimSuffix(p.Address, "/") + callbackPath }

func (s *Server) setFlow(w http.ResponseWriter, r *http.Request, value string, until time.Time) {
	http.SetCookie(w, &http.Cookie{Name: flowCookie, Value: value, Path: "/", Expires: until,
		HttpOnly: true, Secure: s.opts.Shell.Secure(r), SameSite: http.SameSiteLaxMode}) // Lax, because the provider's page leads back here
}

// flowOf returns the sign-in that the browser began here, if it has not been used.
func (s *Server) flowOf(r *http.Request) (f signin.Flow) {
	for _, c := range r.CookiesNamed(flowCookie) {
		until, id, ok := readPass(s.opts.People.Key, sessionUse(r)+"/oidc", c.Value, time.Now())
		if !ok {
			continue
		}
		data, err := base64.RawURLEncoding.DecodeString(id)
		if err != nil || json.Unmarshal(data, &f) != nil || f.State == "" || f.State != r.FormValue("state") {
			f = signin.Flow{}
			continue
		}
		if first, err := s.opts.Ledger.Once(r.Context(), "oidc/"+f.State, until); err != nil || !first {
			return signin.Flow{}
		}
		return f
	}
	return signin.Flow{}
}

// fromProvider signs a browser in that comes back from the provider.
func (s *Server) fromProvider() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := s.opts.Provider
		if !s.opts.People.atHome(r) {
			s.notSignedIn(w, r, fault.New("wrong_host", "sessions do not begin at this host", "set public_url to an address that is not this machine's"))
			return
		}
		flow := s.flowOf(r)
		begun := flow.State != ""
		if begun && s.tooMany(w, r) {
			return
		}
		who, err := p.Finish(r.Context(), p.callback(), flow, signin.Returned{State: r.FormValue("state"), Code: r.FormValue("code"), Issuer: r.FormValue("iss"), Error: r.FormValue("error")})
		name, turn := "", int64(0)
		if err == nil {
			name, turn, err = p.Arrive(r.Context(), who)
		}
		if f := fault.Of(err); f != nil && !f.Retryable && (begun || s.links.take(r.RemoteAddr, time.Now()) == 0) {
			s.note(r, noteSignIn, noteNobody, access.ByOIDC, noteWrong)
		}
		if err != nil {
			s.notSignedIn(w, r, err)
			return
		}
		s.flows.give(r.RemoteAddr)
		s.setFlow(w, r, "", time.Unix(1, 0))
		s.beginFor(w, r, fmt.Sprintf("%s-%d-%s", newSessionID(access.ByOIDC), turn, name), min(s.opts.People.sessionTime(), providerTime))
		http.Redirect(w, r, cmp.Or(page.Local(flow.To), "/"), http.StatusSeeOther)
	})
}

// tooMany counts a sign-in that a browser began here until it has succeeded, and refuses it if
// there were too many, before it reaches the provider.
func (s *Server) tooMany(w http.ResponseWriter, r *http.Request) bool {
	wait := s.flows.take(r.RemoteAddr, time.Now())
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
		s.showLogin(w, r, http.StatusTooManyRequests, loginPage{To: "/", Trouble: "Too many sign-ins failed. Please wait a minute."})
	}
	return wait > 0
}

// notSignedIn shows the sign-in page with the reason.
func (s *Server) notSignedIn(w http.ResponseWriter, r *http.Request, err error) {
	status, trouble := http.StatusForbidden, ""
	switch f := fault.Of(err); {
	case f == nil:
		s.opts.Logger.Error("cannot sign in with the provider", "error", err)
		status, trouble, _ = s.opts.Shell.Failed(err)
	case f.Retryable:
		s.opts.Logger.Warn("cannot sign in with the provider", "error", err)
		status, trouble = http.StatusBadGateway, "The identity provider does not answer. Please retry."
	default:
		trouble = page.Sentence(f.Message) + " " + page.Sentence(f.Hint)
	}
	s.showLogin(w, r, status, loginPage{To: "/", Trouble: trouble})
}

// proxied identifies the caller by the header of a trusted proxy.
func (s *Server) proxied(r *http.Request) (c access.Caller, one session, ok bool) {
	p := s.opts.Proxy
	if p.Header == "" || !p.trusts(r.RemoteAddr) {
		return c, one, false
	}
	names := r.Header.Values(p.Header)
	if len(names) != 1 || names[0] == "" {
		return c, one, false
	}
	c, turn, ok, err := p.Known(r.Context(), names[0])
	if err != nil {
		s.opts.Logger.Error("cannot look up a person of the proxy", "error", err)
	}
	if err != nil || !ok {
		return access.Caller{}, one, false
	}
	c.How = access.ByProxy
	return c, session{id: "proxy/" + c.Name, how: access.ByProxy, name: c.Name, turn: turn, began: time.Now(), rights: rightsOf(c)}, true
}

// trusts reports whether a connection comes from the proxy.
func (p Proxy) trusts(remote string) bool {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return false
	}
	at, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	for _, from := range p.From {
		if from.Contains(at.Unmap().WithZone("")) {
			return true
		}
	}
	return false
}
