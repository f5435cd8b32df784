package web

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// Limits for wrong secrets, each counted by itself: how many keys may be tried on the
// sign-in page within a window, how many sign-ins with a provider may fail at the provider,
// and how many wrong secrets programs may send. Single-use links and programs' correct secrets
// are not counted, so that a guesser locks out nobody who has one.
const (
	triesWindow    = time.Minute
	triesOfAddress = 10
	triesOfAll     = 100
)

// tries counts failed attempts. The zero value is ready to use.
type tries struct {
	mu    sync.Mutex
	since time.Time // start of the window
	by    map[netip.Prefix]int
	all   int
}

// take counts one try from an address in the form HOST:PORT. If there were too
// many tries, it returns how long to wait.
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

// give takes back a try that succeeded.
func (t *tries) give(address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if from := network(address); t.by[from] > 0 { // 0 if the window is a new one
		t.all--
		t.by[from]--
	}
}

// network returns the range of addresses that one caller has: a single IPv4
// address, or an IPv6 prefix of 64 bits.
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
	p, _ := ip.Prefix(bits) // no error: the number of bits is valid
	return p
}
