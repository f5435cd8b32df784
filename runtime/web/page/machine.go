package page

import (
	"net"
	"net/url"
	"strings"
)

// ThisMachine reports whether a host name, without a port, can only refer to
// this machine.
func ThisMachine(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return host == "localhost" || strings.HasSuffix(host, ".localhost") // RFC 6761 section 6.3
}

// Beside changes the host name in u to the one that the browser used, if u is
// on this machine. Under a different host name, the browser would have to sign
// in again. host is the Host of the browser's request. Other addresses are
// returned unchanged.
func Beside(u *url.URL, host string) *url.URL {
	at := url.URL{Host: host}
	if !ThisMachine(u.Hostname()) || !ThisMachine(at.Hostname()) {
		return u
	}
	moved := *u
	moved.Host = at.Hostname()
	if strings.Contains(moved.Host, ":") {
		moved.Host = "[" + moved.Host + "]"
	}
	if port := u.Port(); port != "" {
		moved.Host += ":" + port
	}
	return &moved
}
