package web

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// How many keys may be tried on the page to sign in, within a window, and how many
// wrong secrets programs may send. Links that work once are not counted, nor are
// right secrets of programs: whoever fills the window keeps nobody out.
const (
	triesWindow    = time.Minute
	triesOfAddress = 10
	triesOfAll     = 100
)

// tries counts the keys that were tried. The zero value is ready to use.
type tries struct {
	mu    sync.Mutex
	since time.Time // of the window
	by    map[netip.Prefix]int
	all   int
}

// take counts one try from an address, HOST:PORT. If there were too many it says
// how long to wait.
func (t *tries) take(address string, now time.Time) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.since) >= triesWindow || now.Before(t.since) {
		t.since, t.by, t.all = now, map[netip.Prefix]int{}, 0
	}
	from := network(address)
	if t.all >= triesOfAll || t.by[from] >= triesOfAddress {
		return t.since.Add(triesWindow).Sub(now)
	}
	t.all++
	t.by[from]++
	return 0
}

// network is what one caller has of addresses: one, or 64 bits of the sixth
// version.
func network(address string) netip.Prefix {
	host, _, _ := net.SplitHostPort(address)
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	ip = ip.Unmap().WithZone("")
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	p, _ := ip.Prefix(bits) // bits fits
	return p
}
