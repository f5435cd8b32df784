package web

import (
	"cmp"
	"context"
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// People configures how people sign in. They use a single-use link or their
// key.
type People struct {
	// Key is the person's secret. It signs everything that browsers get. Every
	// process that has the key therefore accepts the signed data, and a new key
	// ends all sessions. If Key is empty, nobody can sign in.
	Key string
	// Host is the host name to which sessions on this machine belong. If it is
	// empty, the name is under .localhost and is derived from Key. Cookies
	// ignore ports, and any program on this machine may serve a page at
	// 127.0.0.1. A program that does not know the name gets no cookie.
	Host string
	// Time is how long a session lasts. Zero means 30 days.
	Time time.Duration
}

// DefaultSession is how long a browser stays signed in by default.
const DefaultSession = 30 * 24 * time.Hour

func (p People) host() string {
	return cmp.Or(p.Host, "deskhand-"+hex.EncodeToString(Key(p.Key, "host")[:8])+".localhost")
}

func (p People) sessionTime() time.Duration { return cmp.Or(p.Time, DefaultSession) }

// Home returns the server's address. If base is on this machine, the result has
// the host name to which sessions belong. Otherwise it is base.
func (p People) Home(base string) string {
	u, err := url.Parse(base)
	if err != nil || !page.ThisMachine(u.Hostname()) {
		return base
	}
	port := u.Port()
	if u.Host = p.host(); port != "" {
		u.Host = net.JoinHostPort(p.host(), port)
	}
	return u.String()
}

// LoginLink returns an address that signs a browser in and then redirects the
// browser to a path. The address works once, within ten minutes. base is the
// server's address, for example http://127.0.0.1:20311.
func (p People) LoginLink(base, to string) string {
	query := url.Values{"key": {pass(p.Key, "login", time.Now().Add(linkTime), newSessionID(access.ByLink))}}
	if to != "" && to != "/" {
		query.Set("to", to)
	}
	return strings.TrimSuffix(p.Home(base), "/") + loginPath + "?" + query.Encode()
}

// InviteLink returns an address that signs a browser in as a person who was invited.
// base is the server's address.
func (p People) InviteLink(base, secret string) string {
	return strings.TrimSuffix(p.Home(base), "/") + joinPath + "?" + url.Values{"invite": {secret}}.Encode()
}

// atHome reports whether a request's host is one that sessions belong to:
// People.Host, or any name that is not this machine.
func (p People) atHome(r *http.Request) bool {
	host := hostname(r.Host)
	return !page.ThisMachine(host) || strings.EqualFold(strings.TrimSuffix(host, "."), p.host())
}

// homeOf returns the request's address at the host to which sessions belong.
func (p People) homeOf(r *http.Request) string {
	return p.Home("http://"+r.Host) + page.Prefix(r.Context()) + r.URL.RequestURI()
}

// Ledger records used links and ended sessions. All processes that accept the
// same links and sessions share it. An entry may be deleted after its expiry
// time, until.
type Ledger interface {
	// Once reports whether this is the first call with id.
	Once(ctx context.Context, id string, until time.Time) (first bool, err error)
	// End ends a session.
	End(ctx context.Context, session string, until time.Time) error
	// Ended reads which sessions were ended, individually or together with all others.
	// ended reports whether one of them is, given its ID and when it began.
	Ended(ctx context.Context) (ended func(session string, began time.Time) bool, err error)
	// Note adds a sign-in to the audit log: who tried to prove it, how, with what outcome.
	// The caller's address is in ctx.
	Note(ctx context.Context, action, who, how, outcome string)
}

// What Note records.
const (
	noteSignIn = "session.began"
	noteToken  = "token.tried"
	noteDone   = "ok"
	noteWrong  = "refused"
	noteNobody = "stranger"
	noteOwner  = "local"
)

// note adds a sign-in to the audit log.
func (s *Server) note(r *http.Request, action, who, how, outcome string) {
	ctx := r.Context()
	if !access.Known(ctx) {
		ctx = access.With(ctx, access.Caller{Address: r.RemoteAddr})
	}
	s.opts.Ledger.Note(ctx, action, who, how, outcome)
}

// memory is a ledger for a single process.
type memory struct{ used, ended sync.Map }

func (m *memory) Note(context.Context, string, string, string, string) {}

func (m *memory) Once(_ context.Context, id string, until time.Time) (bool, error) {
	_, used := m.used.LoadOrStore(id, until)
	return !used, nil
}

func (m *memory) End(_ context.Context, session string, until time.Time) error {
	m.ended.Store(session, until)
	return nil
}

func (m *memory) Ended(context.Context) (func(string, time.Time) bool, error) {
	return func(session string, _ time.Time) bool {
		_, ended := m.ended.Load(session)
		return ended
	}, nil
}
