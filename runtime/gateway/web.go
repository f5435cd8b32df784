package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// webTime bounds one request to an authorization server.
const webTime = 15 * time.Second

// web is a client for authorization servers: never with what belongs to an
// upstream, never somewhere else than asked with a token request, and never
// where mayReach says no.
func (u *upstream) web(extra extraFields) *http.Client {
	return &http.Client{
		Timeout:   webTime,
		Transport: signingIn{u, extra},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			last := via[len(via)-1]
			switch {
			case via[0].Method != http.MethodGet || len(via) > 3:
				return http.ErrUseLastResponse
			case last.URL.Scheme == "https" && r.URL.Scheme != "https":
				return errors.New(last.URL.Host + " leads from https to " + r.URL.Scheme)
			}
			return nil
		},
	}
}

// signingIn sends requests to authorization servers, each POST with what extra
// has.
type signingIn struct {
	u     *upstream
	extra extraFields
}

func (s signingIn) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.extra != nil {
		var err error
		if r, err = s.extra.carry(r); err != nil {
			return nil, err
		}
	}
	if proxy, err := http.ProxyFromEnvironment(r); err != nil || proxy != nil {
		return http.DefaultTransport.RoundTrip(r) // it is the proxy that reaches out, and says where to
	}
	return s.u.outward.RoundTrip(r)
}

// signInTransport connects where mayReach says yes, whatever name stood for the
// address.
func (u *upstream) signInTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{
		Timeout: webTime,
		ControlContext: func(ctx context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("read address %s: %w", address, err)
			}
			return u.mayReach(ctx, at.Addr())
		},
	}).DialContext
	return t
}

// mayReach says whether the upstream may have deskhand ask at an address. Where
// people sign in, the upstream tells, and redirects of that place: one on the
// internet is not to lead to what only this machine or its network reaches, and
// none to where cloud providers keep their secrets.
func (u *upstream) mayReach(ctx context.Context, ip netip.Addr) error {
	switch {
	case !inside(ip):
		return nil
	case !ip.Unmap().IsLinkLocalUnicast() && !ip.IsMulticast() && !ip.IsUnspecified() && u.isInside(ctx):
		return nil
	}
	return fmt.Errorf("%s is not an address that %s may lead to", ip, u.Title)
}

// carrierNAT is between a provider and its customers (RFC 6598).
var carrierNAT = netip.MustParsePrefix("100.64.0.0/10")

// inside says that an address is not on the internet.
func inside(ip netip.Addr) bool {
	ip = ip.Unmap()
	return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() || carrierNAT.Contains(ip)
}

// isInside says that the upstream, or the authorization server that is
// configured for it, is itself on this machine or its network.
func (u *upstream) isInside(ctx context.Context) bool {
	for _, address := range []string{u.URL, u.Auth.Issuer} {
		at, err := url.Parse(address)
		if err != nil || at.Host == "" {
			continue
		}
		all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", at.Hostname())
		for _, ip := range all {
			if err == nil && inside(ip) {
				return true
			}
		}
	}
	return false
}
