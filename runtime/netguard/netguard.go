// Package netguard stops strangers from making deskhand send requests to
// addresses that only this machine or its network can reach, for example
// through an upstream's sign-in address or another agent's notification
// address.
//
// It checks the address that is actually dialled, not its name, for each
// connection and each redirect. Only the configuration decides which inside
// addresses are allowed. A stranger's host name never decides that, because its
// DNS can return any address, and another one a second later.
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
	// Network also allows other machines on this machine's network, but not
	// this machine. Inside implies Network.
	Network bool
	// Resolver resolves names. If nil, the system's resolver is used.
	Resolver *net.Resolver
}

// Refused is the error for an address that requests may not go to.
type Refused struct {
	Address string
	// Ever reports whether the address is refused regardless of the settings.
	Ever bool
}

// Error implements [error].
func (r *Refused) Error() string {
	if r.Ever {
		return r.Address + " is an address to which deskhand never connects"
	}
	return r.Address + " is on this machine or its network"
}

// Check returns a *Refused if requests may not go to ip.
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

// CheckURL checks a URL without resolving its host name. It refuses IP addresses
// that Check refuses and, unless Inside is set, local host names. If only Network
// is set, it refuses only this machine's own names.
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

// dialTime is the timeout for connecting.
const dialTime = 15 * time.Second

// Transport returns a transport that connects only to allowed addresses. If the
// environment sets a proxy, the proxy resolves names and connects, so the
// transport checks only the URL, as CheckURL does.
func (g Guard) Transport() http.RoundTripper {
	direct := http.DefaultTransport.(*http.Transport).Clone()
	direct.Proxy = nil
	direct.DialContext = g.Dialer().DialContext
	return guarded{g, direct}
}

// Dialer returns a dialer that connects only to allowed addresses, for protocols other than
// HTTP.
func (g Guard) Dialer() *net.Dialer {
	return &net.Dialer{Timeout: dialTime, Resolver: g.Resolver, ControlContext: g.control}
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

// IsInside reports whether a configured URL is on this machine or its network:
// its host is an IP address there, or it has a host name that no stranger can
// own.
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

// IsThisMachine reports whether host, a name or IP address without a port, is
// this machine's: localhost or a loopback address. It does not resolve names.
func IsThisMachine(host string) bool {
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return thisMachine(ip)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// ownName reports whether a name belongs to this machine or its network: it has
// no dot, or it is in a domain that does not exist on the internet (RFC 6761,
// 6762 and 8375, and .internal, reserved by ICANN).
func ownName(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, domain := range []string{"localhost", "local", "internal", "home.arpa"} {
		if strings.HasSuffix(host, "."+domain) {
			return true
		}
	}
	return host != "" && !strings.ContainsAny(host, ".:")
}
