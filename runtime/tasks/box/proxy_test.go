package box

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
)

func TestAttackBoxProxyConnectsToWhatIsAllowed(t *testing.T) {
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello "+r.Host) }))
	defer served.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") }))
	defer secure.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	port := func(s string) string {
		_, p, _ := net.SplitHostPort(strings.TrimPrefix(strings.TrimPrefix(s, "http://"), "https://"))
		return p
	}
	var mu sync.Mutex
	var refused []string
	p, err := Listen(t.TempDir(), Hosts{"127.0.0.1:" + port(served.URL), "127.0.0.1:" + port(secure.URL), "rebound.example:" + port(other.URL), "*.example.org", "good.example:" + port(served.URL)},
		func(host string) { mu.Lock(); defer mu.Unlock(); refused = append(refused, host) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
		if host == "rebound.example" || host == "good.example" || strings.HasSuffix(host, ".example.org") {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
		a, err := netip.ParseAddr(host)
		return []netip.Addr{a}, err
	}
	at, err := url.Parse("http://127.0.0.1:" + portText(p.Port()))
	if err != nil {
		t.Fatal(err)
	}
	client := secure.Client()
	client.Transport.(*http.Transport).Proxy = http.ProxyURL(at)
	for name, c := range map[string]struct {
		url string
		ok  bool
	}{
		"an address that is named":           {served.URL + "/", true},
		"the same over TLS":                  {secure.URL + "/", true},
		"another port":                       {other.URL + "/", false},
		"another spelling of the address":    {"http://[::ffff:127.0.0.1]:" + port(served.URL) + "/", false},
		"this machine as 0.0.0.0":            {"http://0.0.0.0:" + port(served.URL) + "/", false},
		"a name that leads to this machine":  {"http://rebound.example:" + port(other.URL) + "/", false},
		"a name below one, to this machine":  {"http://a.example.org/", false},
		"a name that nobody allowed":         {"http://evil.example/", false},
		"an end that is not a part of names": {"http://evilexample.org/", false},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := client.Get(c.url)
			got := err == nil && answer.StatusCode == http.StatusOK
			if err == nil {
				answer.Body.Close()
			}
			if got != c.ok {
				t.Errorf("GET %s reached: %v (%v), want %v", c.url, got, err, c.ok)
			}
		})
	}
	mu.Lock()
	defer mu.Unlock()
	if len(refused) == 0 {
		t.Error("nobody was told of what was refused")
	}
}

func portText(port int) string {
	_, p, _ := net.SplitHostPort((&net.TCPAddr{Port: port}).String())
	return p
}

func TestAddressesOfThisMachineAreNotPublic(t *testing.T) {
	for _, a := range []string{"127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "198.18.0.1", "240.0.0.1", "::1", "::", "fe80::1", "fc00::1", "fec0::1", "::ffff:127.0.0.1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "224.0.0.1"} {
		if public(netip.MustParseAddr(a)) {
			t.Errorf("%s counts as public", a)
		}
	}
	for _, a := range []string{"93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"} {
		if !public(netip.MustParseAddr(a)) {
			t.Errorf("%s counts as private", a)
		}
	}
}

func TestHostsThatAreNone(t *testing.T) {
	for _, h := range []string{"", "a/b", "http://x.example", "x.example:0", "x.example:99999", "a*.example", "user@x.example"} {
		if CheckHosts([]string{h}) == nil {
			t.Errorf("%q is taken for a host", h)
		}
	}
	for _, n := range [][]string{{"on"}, {"off"}, {"x.example", "*.y.example:8443", "127.0.0.1:1"}} {
		if err := CheckNetwork(n); err != nil {
			t.Errorf("%q: %v", n, err)
		}
	}
	if CheckNetwork([]string{"on", "x.example"}) == nil {
		t.Error("on beside a host is taken")
	}
}
