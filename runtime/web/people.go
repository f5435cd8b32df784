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

	"github.com/deskhand/deskhand/runtime/web/page"
)

// People is how people come in: by a link that works once, or with their key.
type People struct {
	// Key is the person's secret. Everything that a browser gets is signed with
	// it, so that every process that has the key takes it, and a new key ends all.
	// Empty: nobody can sign in.
	Key string
	// Host is the name that sessions at this machine belong to. Zero: one under
	// .localhost that follows from Key. Cookies know no ports, and at 127.0.0.1
	// every program of this machine may have a page; at a name that programs are
	// not told, they are told no cookie either.
	Host string
	// Time is how long a session lives. Zero: 30 days.
	Time time.Duration
}

// DefaultSession is how long a browser stays signed in if no setting says so.
const DefaultSession = 30 * 24 * time.Hour

func (p People) host() string {
	return cmp.Or(p.Host, "deskhand-"+hex.EncodeToString(Key(p.Key, "host")[:8])+".localhost")
}

func (p People) sessionTime() time.Duration { return cmp.Or(p.Time, DefaultSession) }

// Home is an address of a server with the name that sessions belong to, if it is
// one of this machine; any other is its own home.
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

// LoginLink is an address that lets a browser in, once and for some minutes,
// and leads to a path there. base is that of the server, as
// http://127.0.0.1:20311.
func (p People) LoginLink(base, to string) string {
	query := url.Values{"key": {pass(p.Key, "login", time.Now().Add(linkTime), "")}}
	if to != "" && to != "/" {
		query.Set("to", to)
	}
	return strings.TrimSuffix(p.Home(base), "/") + loginPath + "?" + query.Encode()
}

// atHome reports whether a request came to a name that sessions belong to: the
// one of this machine, or any that is not of this machine.
func (p People) atHome(r *http.Request) bool {
	host := hostname(r.Host)
	return !page.ThisMachine(host) || strings.EqualFold(strings.TrimSuffix(host, "."), p.host())
}

// homeOf is the same request at the name that sessions belong to.
func (p People) homeOf(r *http.Request) string {
	return p.Home("http://"+r.Host) + r.URL.RequestURI()
}

// Ledger remembers what was used up, for all processes that take the same links
// and sessions. Until is when it may be forgotten.
type Ledger interface {
	// Once says whether it is called with an id for the first time.
	Once(ctx context.Context, id string, until time.Time) (first bool, err error)
	// End ends a session.
	End(ctx context.Context, session string, until time.Time) error
	// Ended reports whether a session that began at a time has been ended, alone
	// or with all others.
	Ended(ctx context.Context, session string, began time.Time) (bool, error)
}

// memory is the ledger of one process.
type memory struct{ used, ended sync.Map }

func (m *memory) Once(_ context.Context, id string, until time.Time) (bool, error) {
	_, used := m.used.LoadOrStore(id, until)
	return !used, nil
}

func (m *memory) End(_ context.Context, session string, until time.Time) error {
	m.ended.Store(session, until)
	return nil
}

func (m *memory) Ended(_ context.Context, session string, _ time.Time) (bool, error) {
	_, ended := m.ended.Load(session)
	return ended, nil
}
