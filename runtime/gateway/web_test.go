package gateway

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// The upstream names its authorization server. So its operator could otherwise make
// deskhand send requests to addresses that only this machine reaches.
func TestAnUpstreamOnTheInternetLeadsNowhereInside(t *testing.T) {
	asked := 0
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer private.Close()
	for _, c := range []struct {
		upstream, issuer, to string
		want                 bool
	}{
		{"https://192.0.2.1/mcp", "", "192.0.2.9", true},
		{"https://192.0.2.1/mcp", "", "2001:db8::1", true},
		{"https://192.0.2.1/mcp", "", "127.0.0.1", false},
		{"https://192.0.2.1/mcp", "", "::1", false},
		{"https://192.0.2.1/mcp", "", "::ffff:10.0.0.1", false},
		{"https://192.0.2.1/mcp", "", "192.168.1.1", false},
		{"https://192.0.2.1/mcp", "", "100.64.0.1", false},
		{"https://192.0.2.1/mcp", "", "169.254.169.254", false},
		{"https://192.0.2.1/mcp", "http://127.0.0.1:9/", "127.0.0.1", true},
		{"http://127.0.0.1:9/mcp", "", "127.0.0.1", true},
		{"http://127.0.0.1:9/mcp", "", "10.0.0.1", true},
		{"http://127.0.0.1:9/mcp", "", "169.254.169.254", false},
		{"http://127.0.0.1:9/mcp", "", "fe80::1", false},
		{"http://127.0.0.1:9/mcp", "", "0.0.0.0", false},
	} {
		u := Upstream{Name: "linear", URL: c.upstream, Auth: Auth{Issuer: c.issuer}}
		if err := u.guard().Check(netip.MustParseAddr(c.to)); (err == nil) != c.want {
			t.Errorf("%s, with issuer %q, leads to %s: %v, want %v", c.upstream, c.issuer, c.to, err, c.want)
		}
	}
	if !(&Upstream{URL: "https://mcp.example.com", Inside: true}).guard().Inside {
		t.Error("an upstream that is said to be inside is not")
	}
	u := newUpstream(&Gateway{}, Upstream{Name: "linear", URL: "https://192.0.2.1/mcp"})
	if answer, err := u.web(nil).Get(private.URL); err == nil || !strings.Contains(err.Error(), "may not point there") || asked > 0 {
		t.Errorf("Get(%s) for %s = %v, %v; want a refusal before anything is sent", private.URL, u.URL, answer, err)
	}
	redirects := httptest.NewServer(http.RedirectHandler("http://169.254.169.254/latest/meta-data", http.StatusFound))
	defer redirects.Close()
	u = newUpstream(&Gateway{}, Upstream{Name: "linear", URL: redirects.URL})
	if answer, err := u.web(nil).Get(redirects.URL); err == nil || !strings.Contains(err.Error(), "may not point there") {
		t.Errorf("Get of a redirect to 169.254.169.254 = %v, %v; want a refusal", answer, err)
	}
}
