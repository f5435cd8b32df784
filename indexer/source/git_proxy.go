package source

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/deskhand/deskhand/runtime/netguard"
)

// gitProxy is an HTTP proxy through which git connects to a repository. git follows
// redirects itself, so only a proxy can keep a server on the internet from sending git to
// an address on this machine or in its network. The user named the repository's host, so it
// may be anywhere.
type gitProxy struct {
	host    string // the repository's host name
	port    string
	outside atomic.Bool // the host was reached on the internet
	address string      // of the proxy, with its password
	auth    string
	server  *http.Server
	forward httputil.ReverseProxy // for http; https has tunnels
	cancel  context.CancelFunc    // of all requests
	work    sync.WaitGroup        // the listener and each connection of git

	mu     sync.Mutex
	failed error // the first connection that failed or was refused
}

// startGitProxy starts a proxy for the repository at address. It returns nil if git uses no
// HTTP for this address, or if the environment sets a proxy, which then resolves names and
// connects. The caller must close the proxy.
func startGitProxy(ctx context.Context, address string) (*gitProxy, error) {
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" {
		return nil, nil
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: at}); err != nil || proxy != nil {
		return nil, nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start a proxy for git: %w", err)
	}
	own := url.UserPassword("deskhand", rand.Text())
	p := &gitProxy{host: at.Hostname(), port: cmp.Or(at.Port(), map[string]string{"http": "80", "https": "443"}[at.Scheme]), address: (&url.URL{Scheme: "http", User: own, Host: listener.Addr().String()}).String()}
	p.auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(own.String()))
	p.forward = httputil.ReverseProxy{
		Rewrite: func(*httputil.ProxyRequest) {}, FlushInterval: -1, Transport: &http.Transport{DialContext: p.dial, DisableCompression: true},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			http.Error(w, "cannot connect", http.StatusBadGateway)
		},
	}
	ctx, p.cancel = context.WithCancel(ctx)
	p.server = &http.Server{Handler: p, BaseContext: func(net.Listener) context.Context { return ctx }, ConnState: func(_ net.Conn, is http.ConnState) {
		switch is {
		case http.StateNew:
			p.work.Add(1)
		case http.StateClosed:
			p.work.Done()
		}
	}}
	p.work.Go(func() { _ = p.server.Serve(listener) }) // it ends with the proxy
	return p, nil
}

// Close ends the proxy and its connections. p may be nil.
func (p *gitProxy) Close() {
	if p == nil {
		return
	}
	p.cancel()
	_ = p.server.Close()
	p.work.Wait()
	p.forward.Transport.(*http.Transport).CloseIdleConnections()
}

// environment returns the variables with which git uses the proxy. p may be nil.
func (p *gitProxy) environment(all []string) []string {
	if p == nil {
		return all
	}
	var kept []string
	for _, v := range all {
		if name, _, _ := strings.Cut(v, "="); !strings.HasSuffix(strings.ToLower(name), "_proxy") || strings.HasPrefix(name, "GIT_") {
			kept = append(kept, v)
		}
	}
	return append(kept, "http_proxy="+p.address, "https_proxy="+p.address, "GIT_HTTP_PROXY_AUTHMETHOD=basic")
}

// failure returns the error of the first connection that failed, or nil. For an address that
// git may not reach, this is a [netguard.Refused]. p may be nil.
func (p *gitProxy) failure() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// dial connects to an address if git may reach it: an address on the internet, or the
// repository's own host. If that is on the internet, it must stay there, whatever its name
// resolves to later.
func (p *gitProxy) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	own := strings.EqualFold(host, p.host) && (port == p.port || port == "443")
	guard := netguard.Guard{Inside: own && !p.outside.Load()}
	conn, err := guard.Dialer().DialContext(ctx, "tcp", address)
	if err != nil {
		why := err
		if refused := new(netguard.Refused); errors.As(err, &refused) {
			why = fmt.Errorf("it redirects to %s: %w", address, refused)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.failed = cmp.Or(p.failed, why)
	}
	if err == nil && own && !netguard.IsInside("http://"+conn.RemoteAddr().String()) {
		p.outside.Store(true)
	}
	return conn, err
}

// ServeHTTP implements [http.Handler].
func (p *gitProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Proxy-Authorization") != p.auth {
		w.Header().Set("Proxy-Authenticate", `Basic realm="git"`)
		http.Error(w, "only git may use this proxy", http.StatusProxyAuthRequired)
		return
	}
	if r.Method == http.MethodConnect {
		p.tunnel(w, r)
		return
	}
	p.forward.ServeHTTP(w, r)
}

// tunnel connects git to an https server.
func (p *gitProxy) tunnel(w http.ResponseWriter, r *http.Request) {
	server, err := p.dial(r.Context(), "tcp", r.Host)
	if err != nil {
		http.Error(w, "cannot connect", http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer p.work.Done() // the server no longer counts this connection
	defer client.Close()
	stop := context.AfterFunc(r.Context(), func() { client.Close(); server.Close() })
	defer stop()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var sent sync.WaitGroup
	sent.Go(func() {
		_, _ = io.Copy(server, buffered)
		server.Close() // git has ended the connection
	})
	_, _ = io.Copy(client, server)
	client.Close()
	sent.Wait()
}
