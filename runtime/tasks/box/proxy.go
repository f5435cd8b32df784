package box

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Hosts lists the hosts to which a program may connect. An entry is a host
// name, or *.name for all names below name. It may end with :PORT; without a
// port, it allows ports 80 and 443. Addresses of this machine and its network
// must be listed explicitly.
type Hosts []string

// CheckHosts returns a fault for an invalid host. Fault: invalid_argument.
func CheckHosts(hosts []string) error {
	for _, h := range hosts {
		name, port := splitHost(h)
		bad := name == "" || strings.ContainsAny(name, "/ @\t\n\"") || strings.Contains(strings.TrimPrefix(name, "*."), "*")
		if n, err := strconv.Atoi(port); port != "" && (err != nil || n < 1 || n > 65535) {
			bad = true
		}
		if bad {
			return fault.New(InvalidArgument, fmt.Sprintf("%q is not a host", h), "write it as api.example.com, *.example.com or example.com:8443")
		}
	}
	return nil
}

// Values of sandbox_network that cannot be combined with others.
const (
	NetworkOn  = "on"
	NetworkOff = "off"
)

// CheckNetwork returns a fault unless the list is on, off, or hosts. Fault:
// invalid_argument.
func CheckNetwork(network []string) error {
	if len(network) == 1 && (network[0] == NetworkOn || network[0] == NetworkOff) {
		return nil
	}
	if slices.Contains(network, NetworkOn) || slices.Contains(network, NetworkOff) {
		return fault.New(InvalidArgument, fmt.Sprintf("network %q combines on or off with other values", strings.Join(network, ",")), "write on, off, or a list of hosts")
	}
	return CheckHosts(network)
}

// splitHost splits text into a host and a port. port is "" if there is none.
func splitHost(text string) (name, port string) {
	text = strings.ToLower(strings.TrimSpace(text))
	if name, port, err := net.SplitHostPort(text); err == nil {
		return name, port
	}
	return strings.Trim(text, "[]"), ""
}

// allow reports whether host and port are allowed. literal reports whether the
// list allows them as an address.
func (h Hosts) allow(host, port string) (ok, literal bool) {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	for _, one := range h {
		name, at := splitHost(one)
		below, any := strings.CutPrefix(name, "*.")
		fits := name == host || any && strings.HasSuffix(host, "."+below)
		if !fits || at != port && (at != "" || port != "80" && port != "443") {
			continue
		}
		_, err := netip.ParseAddr(name)
		return true, err == nil || name == "localhost"
	}
	return false, false
}

// LoopbackPorts returns the ports on this machine that are in the list.
func (h Hosts) LoopbackPorts() (ports []int) {
	for _, one := range h {
		name, at := splitHost(one)
		addr, err := netip.ParseAddr(name)
		port, bad := strconv.Atoi(at)
		if bad == nil && (name == "localhost" || err == nil && addr.IsLoopback()) {
			ports = append(ports, port)
		}
	}
	return ports
}

// Proxy connects programs in a sandbox to the hosts that they may reach. It
// accepts HTTP CONNECT and plain HTTP requests.
type Proxy struct {
	hosts   Hosts
	refused func(host string)
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)

	socket, loopback net.Listener
	mu               sync.Mutex
	open             map[net.Conn]bool // nil after Close
	running          sync.WaitGroup
}

// Listen starts a proxy at a Unix socket in dir and at a port on loopback. For
// each host that is not allowed, it calls refused, which may be nil.
func Listen(dir string, hosts Hosts, refused func(host string)) (*Proxy, error) {
	p := &Proxy{hosts: hosts, refused: refused, open: map[net.Conn]bool{}}
	p.resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	at := filepath.Join(dir, "net")
	if err := os.RemoveAll(at); err != nil {
		return nil, err
	}
	var err error
	if p.socket, err = net.Listen("unix", at); err != nil {
		return nil, fmt.Errorf("listen for a sandbox: %w", err)
	}
	if p.loopback, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		p.socket.Close()
		return nil, fmt.Errorf("listen for a sandbox: %w", err)
	}
	for _, l := range []net.Listener{p.socket, p.loopback} {
		p.running.Go(func() { p.accept(l) })
	}
	return p, nil
}

// Socket returns the path of the Unix socket.
func (p *Proxy) Socket() string { return p.socket.Addr().String() }

// Port returns the port on loopback.
func (p *Proxy) Port() int { return p.loopback.Addr().(*net.TCPAddr).Port }

// Close stops the proxy and closes all connections.
func (p *Proxy) Close() {
	p.socket.Close()
	p.loopback.Close()
	p.mu.Lock()
	for c := range p.open {
		c.Close()
	}
	p.open = nil
	p.mu.Unlock()
	p.running.Wait()
}

// hold records a connection, so that Close closes it.
func (p *Proxy) hold(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		c.Close()
		return false
	}
	p.open[c] = true
	return true
}

func (p *Proxy) drop(c net.Conn) {
	c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

func (p *Proxy) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(10 * time.Millisecond) // wait, because for example too many files are open
			continue
		}
		if !p.hold(conn) {
			return
		}
		p.running.Go(func() {
			defer p.drop(conn)
			p.serve(conn)
		})
	}
}

// patient is the timeout for reading a request's header, and for connecting to
// a host.
const patient = 30 * time.Second

// serve handles one request on a connection.
func (p *Proxy) serve(conn net.Conn) {
	r := bufio.NewReader(conn)
	conn.SetReadDeadline(time.Now().Add(patient))
	request, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	conn.SetReadDeadline(time.Time{})
	host, port := request.URL.Hostname(), request.URL.Port()
	if request.Method != http.MethodConnect {
		if host == "" || request.URL.Scheme != "http" {
			say(conn, http.StatusBadRequest, "this is a proxy")
			return
		}
		if port == "" {
			port = "80"
		}
	}
	other, err := p.dial(host, port)
	if err != nil {
		say(conn, http.StatusForbidden, err.Error())
		return
	}
	if !p.hold(other) {
		return
	}
	defer p.drop(other)
	if request.Method == http.MethodConnect {
		if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err == nil {
			copyBoth(buffered{conn, r}, other)
		}
		return
	}
	request.Header.Del("Proxy-Authorization")
	request.Header.Del("Proxy-Connection")
	request.Close = true // the next request may be for another host
	if request.Write(other) == nil {
		io.Copy(conn, other)
	}
}

func say(conn net.Conn, status int, text string) {
	fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n", status, http.StatusText(status), len(text)+1, text)
}

// dial connects to a host if the host is allowed. It resolves the name once,
// and connects to one of the resulting addresses.
func (p *Proxy) dial(host, port string) (net.Conn, error) {
	ok, literal := p.hosts.allow(host, port)
	if !ok {
		if p.refused != nil {
			p.refused(net.JoinHostPort(host, port))
		}
		return nil, fmt.Errorf("%s is not a host in sandbox_network", net.JoinHostPort(host, port))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	addrs, err := p.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	err = fmt.Errorf("%s has no address that the sandbox may reach", host)
	for _, a := range addrs {
		if !literal && !public(a) {
			continue
		}
		conn, failed := dialer.DialContext(ctx, "tcp", net.JoinHostPort(a.Unmap().String(), port))
		if failed == nil {
			return conn, nil
		}
		err = failed
	}
	return nil, err
}

// inside lists address ranges that belong to this machine or its network:
// shared, benchmark, reserved, NAT64, 6to4 and mapped. It lacks the ranges that
// Go itself treats as private.
var inside = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("fec0::/10"), netip.MustParsePrefix("::/96"),
}

func public(a netip.Addr) bool {
	a = a.Unmap()
	return !a.IsLoopback() && !a.IsPrivate() && !a.IsLinkLocalUnicast() && !a.IsMulticast() && !a.IsUnspecified() &&
		!slices.ContainsFunc(inside, func(n netip.Prefix) bool { return n.Contains(a) })
}
