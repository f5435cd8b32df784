// Package netguard keeps deskhand from asking at an address, on the word of a
// stranger, that only this machine or its network reaches: where an upstream says
// that its people sign in, or where another agent wants to be notified.
//
// The address that is judged is the one that is then dialled, whatever name stood
// for it, for each connection and each redirection. What is inside is configured,
// and never learned from a name of the stranger's: its DNS may say anything, and
// something else a second later.
package netguard

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Guard says which addresses may be asked. The zero value allows the internet
// alone.
type Guard struct {
	// Inside allows this machine and its network too, but for link-local
	// addresses and where cloud providers keep their secrets.
	Inside bool
	// Resolver looks names up. Nil: the system's.
	Resolver *net.Resolver
}

// Refused is that an address may not be asked.
type Refused struct {
	Address string
	// Ever says that no setting allows it.
	Ever bool
}

// Error implements error.
func (r *Refused) Error() string {
	if r.Ever {
		return r.Address + " is an address that is never asked"
	}
	return r.Address + " is on this machine or its network"
}

// Check returns a *Refused if ip may not be asked.
func (g Guard) Check(ip netip.Addr) error {
	switch reach(ip) {
	case never:
		return &Refused{ip.String(), true}
	case inside:
		if !g.Inside {
			return &Refused{ip.String(), false}
		}
	}
	return nil
}

// CheckURL is Check for an address that has no name: for what can be told before
// anybody looks it up.
func (g Guard) CheckURL(at *url.URL) error {
	host := at.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		return g.Check(ip)
	}
	if !g.Inside && ownName(host) {
		return &Refused{host, false}
	}
	return nil
}

// dialTime bounds making a connection.
const dialTime = 15 * time.Second

// Transport asks where the guard allows it. A proxy of the environment reaches
// out itself and looks names up: then only addresses without a name are judged.
func (g Guard) Transport() http.RoundTripper {
	direct := http.DefaultTransport.(*http.Transport).Clone()
	direct.Proxy = nil
	direct.DialContext = (&net.Dialer{Timeout: dialTime, Resolver: g.Resolver, ControlContext: g.control}).DialContext
	return guarded{g, direct}
}

func (g Guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("read address %s: %w", address, err)
	}
	return g.Check(at.Addr())
}

type guarded struct {
	Guard
	direct *http.Transport
}

// RoundTrip implements [http.RoundTripper].
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.CheckURL(r.URL); err != nil {
		return nil, err
	}
	if proxy, err := http.ProxyFromEnvironment(r); err != nil || proxy != nil {
		return http.DefaultTransport.RoundTrip(r)
	}
	return g.direct.RoundTrip(r)
}

// IsInside says that an address as it is configured is on this machine or its
// network: an IP address there, or a name that no stranger can own.
func IsInside(address string) bool {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" {
		return false
	}
	if ip, err := netip.ParseAddr(at.Hostname()); err == nil {
		return reach(ip) != outside
	}
	return ownName(at.Hostname())
}

// ownName says that a name is for one's own machine or network: without a dot, or
// under a domain that the internet does not have (RFC 6761, 6762, 8375, and
// .internal by ICANN).
func ownName(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, domain := range []string{"localhost", "local", "internal", "home.arpa"} {
		if strings.HasSuffix(host, "."+domain) {
			return true
		}
	}
	return host != "" && !strings.ContainsAny(host, ".:")
}
