package netguard

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// What only this machine or its network reaches is refused in each way that it
// can be written.
func TestAttackDoorsUpstreamAddresses(t *testing.T) {
	for ip, want := range map[string]from{
		"1.1.1.1": outside, "2606:4700::1111": outside, "64:ff9b::101:101": outside, "2002:101:101::1": outside, "::ffff:1.1.1.1": outside,
		"127.0.0.1": inside, "127.255.255.254": inside, "10.0.0.5": inside, "172.31.255.255": inside, "192.168.1.1": inside,
		"100.64.0.1": inside, "198.18.0.1": inside, "198.19.255.255": inside, "::1": inside, "fc00::1": inside, "fd12::1": inside, "fec0::1": inside,
		"::ffff:127.0.0.1": inside, "64:ff9b::7f00:1": inside, "64:ff9b::a00:5": inside, "64:ff9b:1::1": inside, "2002:7f00:1::1": inside, "2002:a00:5::": inside,
		"2606:4700::5efe:7f00:1": inside, "2606:4700::200:5efe:a00:1": inside,
		"0.0.0.0": never, "0.1.2.3": never, "::": never, "::127.0.0.1": never, "::7f00:1": never, "169.254.169.254": never, "::ffff:169.254.169.254": never,
		"64:ff9b::a9fe:a9fe": never, "2002:a9fe:a9fe::1": never, "fe80::1": never, "fe80::1%eth0": never, "224.0.0.1": never, "ff02::1": never, "240.0.0.1": never,
		"255.255.255.255": never, "100.100.100.200": never, "192.0.0.192": never, "fd00:ec2::254": never, "2001::1": never,
	} {
		t.Run(ip, func(t *testing.T) {
			if got := reach(netip.MustParseAddr(ip)); got != want {
				t.Errorf("reach = %v, want %v", got, want)
			}
			for _, open := range []bool{false, true} {
				refused := new(Refused)
				err := Guard{Inside: open}.Check(netip.MustParseAddr(ip))
				if allowed := want == outside || want == inside && open; allowed != (err == nil) || err != nil && (!errors.As(err, &refused) || refused.Ever != (want == never)) {
					t.Errorf("Check with inside %v = %v", open, err)
				}
			}
		})
	}
}

// With Network, other machines are allowed and this one is not, in each form.
func TestTheNetworkIsNotThisMachine(t *testing.T) {
	g := Guard{Network: true}
	for ip, want := range map[string]bool{
		"1.1.1.1": true, "10.0.0.5": true, "192.168.1.1": true, "fd12::1": true, "64:ff9b::a00:5": true,
		"127.0.0.1": false, "127.9.9.9": false, "::1": false, "::ffff:127.0.0.1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::1": false,
		"169.254.169.254": false, "fe80::1": false, "0.0.0.0": false,
	} {
		if err := g.Check(netip.MustParseAddr(ip)); (err == nil) != want {
			t.Errorf("Check(%s) = %v, allowed should be %v", ip, err, want)
		}
	}
	for host, want := range map[string]bool{"registry": true, "harbor.internal": true, "example.com": true, "localhost": false, "a.localhost.": false, "127.0.0.1": false, "[::1]": false} {
		if err := g.CheckURL(&url.URL{Scheme: "https", Host: host}); (err == nil) != want {
			t.Errorf("CheckURL(%s) = %v, allowed should be %v", host, err, want)
		}
	}
}

func TestWhatIsInsideIsConfigured(t *testing.T) {
	for address, want := range map[string]bool{
		"http://127.0.0.1:8080/mcp": true, "http://localhost/mcp": true, "http://a.localhost": true, "http://[::1]:80": true, "http://10.1.2.3": true,
		"https://mcp": true, "https://mcp.internal": true, "https://printer.local.": true, "https://nas.home.arpa": true,
		"https://mcp.example.com": false, "https://localhost.example.com": false, "https://internal.example": false, "https://1.1.1.1": false, "": false, "no address": false,
	} {
		if got := IsInside(address); got != want {
			t.Errorf("IsInside(%q) = %v, want %v", address, got, want)
		}
	}
}

// A name of a stranger leads to this machine: at once, beside an address on the
// internet, or after a first look-up that did not. Nothing here is ever asked.
func TestAttackDoorsUpstreamNames(t *testing.T) {
	var reached atomic.Int32
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer target.Close()
	at, _ := url.Parse(target.URL)
	for what, answers := range map[string][][]string{
		"loopback":              {{"127.0.0.1"}},
		"beside the internet":   {{"127.0.0.1", "127.0.0.2"}},
		"rebound":               {{"0.0.0.1"}, {"127.0.0.1"}},
		"mapped":                {{"::ffff:127.0.0.1"}},
		"the old form":          {{"::127.0.0.1"}},
		"an address, decimal":   {},
		"an address, hex":       {},
		"an address, short":     {},
		"an address, in braces": {},
	} {
		t.Run(what, func(t *testing.T) {
			host := "stranger.example"
			switch what {
			case "an address, decimal":
				host = "2130706433"
			case "an address, hex":
				host = "0x7f000001"
			case "an address, short":
				host = "127.1"
			case "an address, in braces":
				host = "[::ffff:7f00:1]"
			}
			client := &http.Client{Transport: Guard{Resolver: resolver(t, answers)}.Transport()}
			for range 3 {
				answer, err := client.Get("http://" + host + ":" + at.Port())
				if err == nil {
					answer.Body.Close()
					t.Errorf("%s is asked", host)
				}
			}
			if reached.Load() != 0 {
				t.Error("the server on this machine was reached")
			}
		})
	}
	open := &http.Client{Transport: Guard{Inside: true, Resolver: resolver(t, [][]string{{"127.0.0.1"}})}.Transport()}
	answer, err := open.Get("http://own.example:" + at.Port())
	if err != nil || reached.Load() != 1 {
		t.Fatalf("a guard that allows it does not reach this machine: %v", err)
	}
	answer.Body.Close()
}

// A redirection is judged like any address.
func TestAttackDoorsUpstreamRedirections(t *testing.T) {
	var reached atomic.Int32
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer target.Close()
	for _, to := range []string{target.URL, strings.Replace(target.URL, "127.0.0.1", "localhost", 1), strings.Replace(target.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1)} {
		t.Run(strings.Split(to, ":")[1], func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, to, nil)
			r.RequestURI = ""
			answer, err := Guard{}.Transport().RoundTrip(r)
			if err == nil {
				answer.Body.Close()
			}
			if err == nil || reached.Load() != 0 {
				t.Errorf("%s is asked", to)
			}
		})
	}
}

// With a proxy, which looks names up, an address without a name is judged all the
// same. The proxy is of the environment, which is read once.
func TestAddressesAreJudgedBeforeAProxy(t *testing.T) {
	for _, to := range []string{"http://169.254.169.254/latest", "http://127.0.0.1/", "http://localhost/", "http://[fe80::1]/", "http://mcp.internal/"} {
		at, _ := url.Parse(to)
		if err := (Guard{}).CheckURL(at); err == nil {
			t.Errorf("CheckURL(%s) allows it", to)
		}
	}
}

// resolver answers each look-up with the next of answers, and then with the last.
func resolver(t *testing.T, answers [][]string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { conn.Close(); <-ended })
	go func() {
		defer close(ended)
		asked := map[dnsmessage.Type]int{}
		for buffer := make([]byte, 1500); ; {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			m.Response, m.Additionals = true, nil
			if len(answers) > 0 {
				for _, text := range answers[min(asked[q.Type], len(answers)-1)] {
					m.Answers = append(m.Answers, record(q, netip.MustParseAddr(text))...)
				}
			}
			asked[q.Type]++
			if packed, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(packed, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func record(q dnsmessage.Question, ip netip.Addr) []dnsmessage.Resource {
	head := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, Type: q.Type}
	switch {
	case q.Type == dnsmessage.TypeA && ip.Is4():
		return []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AResource{A: ip.As4()}}}
	case q.Type == dnsmessage.TypeAAAA && ip.Is6():
		return []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}}}
	}
	return nil
}
