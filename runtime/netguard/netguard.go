// Package netguard stops strangers from making deskhand send requests to
// addresses that only this machine or its network can reach, for example
// through an upstream's sign-in address or another agent's notification
// address.
//
// It checks the address actually dialled, whatever its name was, for each
// connection and each redirect. Which addresses are inside comes from
// configuration, never from a stranger's name, because its DNS can return
// anything and change a second later.
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

// Guard decides which addresses requests may go to. The zero value allows only
// the internet.
type Guard struct {
	// Inside also allows this machine and its network, except link-local
	// addresses and cloud providers' metadata services.
	Inside bool
	// Network also allows other machines of this machine's network, but not this
	// machine. Inside implies it.
	Network bool
	// Resolver resolves names. Nil: the system's.
	Resolver *net.Resolver
}

// Refused is the error for an address that requests may not go to.
type Refused struct {
	Address string
	// Ever reports that no setting allows the address.
	Ever bool
}

// Error implements error.
func (r *Refused) Error() string {
	if r.Ever {
		return r.Address + " is an address that deskhand never contacts"
	}
	return r.Address + " is on this machine or its network"
}

// Check returns a *Refused if ip may not be asked.
func (g Guard) Check(ip netip.Addr) error {
	switch reach(ip) {
	case never:
		return &Refused{ip.String(), true}
	case inside:
		if !g.Inside && !(g.Network && !thisMachine(ip)) {
			return &Refused{ip.String(), false}
		}
	}
	return nil
}

// CheckURL checks a URL without resolving names: it refuses IP addresses that
// Check refuses and, unless Inside is set, local host names. With Network, the
// local names are those of this machine.
func (g Guard) CheckURL(at *url.URL) error {
	host := at.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		return g.Check(ip)
	}
	if !g.Inside && (g.Network && IsThisMachine(host) || !g.Network && ownName(host)) {
		return &Refused{host, false}
	}
	return nil
}

// dialTime bounds making a connection.
const dialTime = 15 * time.Second

// Transport returns a transport that dials only where the guard allows. If the
// environment sets a proxy, the proxy resolves names and connects, so only IP
// addresses are checked.
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

// IsInside reports whether a configured address is on this machine or its
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

// IsThisMachine reports whether host, a name or an IP address without a port, is
// this machine by its form: localhost, or a loopback address.
func IsThisMachine(host string) bool {
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return thisMachine(ip)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
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
