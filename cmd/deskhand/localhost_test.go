package main

import (
	"context"
	"net"
	"net/http"

	webpage "github.com/deskhand/deskhand/runtime/web/page"
)

// Chromium and Firefox find names under .localhost by themselves; Go asks the
// system, which need not know them.
func init() {
	http.DefaultTransport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) { //nolint:errcheck // it is one
		if host, port, err := net.SplitHostPort(address); err == nil && host != "::1" && webpage.ThisMachine(host) {
			address = net.JoinHostPort("127.0.0.1", port)
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
}
