package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/netguard"
	"github.com/deskhand/deskhand/runtime/text"
)

// Options configure requests to a registry. The zero value is ready to use.
type Options struct {
	// PlainHTTP disables TLS. For a registry on this machine, TLS is always disabled.
	PlainHTTP bool
	// If Progress is not nil, it is called with the number of index bytes that have
	// been transferred and the total.
	Progress func(done, total int64)
	// Known is the digest of the manifest that the caller already has. If the
	// reference resolves to this digest, Find returns ErrUnchanged. If Known is empty,
	// it is ignored.
	Known string
	// Annotations are added to the manifest's annotations and override them. Only Push
	// uses them.
	Annotations map[string]string

	idle time.Duration // zero means idleWait
}

// Limits on requests.
const (
	// idleWait is the maximum time in which a server neither sends nor receives data.
	// It is long because some servers store an upload elsewhere before they respond.
	idleWait = 2 * time.Minute
	// wholeWait is the timeout of a push or pull.
	wholeWait = time.Hour
	// maxManifest is the maximum size of a manifest. The specification requires
	// registries to accept manifests of up to this size.
	maxManifest  = 4 << 20
	maxRedirects = 5
)

var (
	errIdle      = errors.New("the server stopped sending")
	errDowngrade = errors.New("it redirects to an address without TLS")
)

// repository returns a client for r that uses the user's credentials.
func repository(r Reference, o Options) (*remote.Repository, error) {
	plain := o.PlainHTTP || r.isThisMachine()
	store, err := signIns()
	if err != nil {
		return nil, err
	}
	idle := o.idle
	if idle == 0 {
		idle = idleWait
	}
	transport := &transport{
		host: r.ref.Host(), plain: plain, idle: idle,
		itself: netguard.Guard{Inside: true}.Transport(), network: netguard.Guard{Network: true}.Transport(), internet: netguard.Guard{}.Transport(),
	}
	transport.near.Store(netguard.IsInside("https://"+r.ref.Host()) && !r.isThisMachine())
	return &remote.Repository{
		Reference: r.ref, PlainHTTP: plain, MaxMetadataBytes: maxManifest,
		Client: &auth.Client{
			Client: &http.Client{
				Transport:     &retry.Transport{Base: transport, Policy: func() retry.Policy { return retries }},
				CheckRedirect: redirect,
			},
			Header: http.Header{"User-Agent": {"deskhand"}}, ClientID: "deskhand",
			Cache: auth.NewCache(), Credential: credentialsOf(store),
		},
	}, nil
}

var retries = &retry.GenericPolicy{
	Retryable: retry.DefaultPredicate, Backoff: retry.DefaultBackoff, MinWait: 100 * time.Millisecond, MaxWait: 3 * time.Second, MaxRetry: 3,
}

// redirect checks a redirect, and removes the registry's password or token if it leads to
// another host. [http.Client] keeps them for other ports and for subdomains.
func redirect(r *http.Request, via []*http.Request) error {
	if r.URL.Host != via[0].URL.Host {
		r.Header.Del("Authorization")
	}
	if len(via) >= maxRedirects {
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	}
	if r.URL.Scheme != "https" && via[len(via)-1].URL.Scheme == "https" {
		return errDowngrade
	}
	return nil
}

// signIns returns the credentials stored by "docker login" and "oras login", or nil if
// there cannot be any.
func signIns() (credentials.Store, error) {
	if os.Getenv("DOCKER_CONFIG") == "" {
		if home, err := os.UserHomeDir(); err != nil || !filepath.IsAbs(home) {
			return nil, nil
		}
	}
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, fault.New("registry_denied", "docker's credentials cannot be read: "+shown(err.Error()), "fix config.json in $DOCKER_CONFIG or ~/.docker")
	}
	return store, nil
}

func credentialsOf(store credentials.Store) auth.CredentialFunc {
	if store == nil {
		return nil
	}
	ask := credentials.Credential(store)
	return func(ctx context.Context, host string) (auth.Credential, error) {
		c, err := ask(ctx, host)
		if err != nil {
			return c, fault.New("registry_denied", fmt.Sprintf("the credentials for %s cannot be read: %s", host, shown(err.Error())),
				"fix the credential helper in docker's config.json, or sign in again: docker login "+host)
		}
		return c, nil
	}
}

// transport restricts the addresses to which requests are sent. It always allows the
// registry itself, because the user named it. It also allows addresses on the
// internet. If the registry is in a local network, it also allows other machines in
// that network, because they may serve tokens or storage.
type transport struct {
	host  string // the registry's host
	plain bool
	idle  time.Duration
	// itself is used for the registry, network for other machines in its local
	// network, and internet for all other addresses.
	itself, network, internet http.RoundTripper

	near atomic.Bool // the registry is in this machine's network, but not on this machine
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !t.plain {
		return nil, errDowngrade
	}
	own := r.URL.Host == t.host
	through := t.internet
	switch {
	case own:
		through = t.itself
	case t.near.Load():
		through = t.network
	}
	watch := newWatch(r.Context(), t.idle)
	ctx := watch.ctx
	if proxy, err := http.ProxyFromEnvironment(r); own && err == nil && proxy == nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { t.located(c.Conn.RemoteAddr().String()) }})
	}
	sent := r.Clone(ctx)
	if r.Body != nil && r.Body != http.NoBody {
		sent.Body = &watched{r.Body, watch, false}
	}
	response, err := through.RoundTrip(sent)
	if err != nil {
		watch.end()
		if cause := context.Cause(watch.ctx); errors.Is(cause, errIdle) {
			return nil, errIdle
		}
		return nil, err
	}
	watch.tick()
	response.Body = &watched{response.Body, watch, true}
	return response, nil
}

// located records whether the registry is in the local network.
func (t *transport) located(address string) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return
	}
	if ip := at.Addr(); netguard.IsInside("http://"+netip.AddrPortFrom(ip.WithZone(""), 80).String()) && !netguard.IsThisMachine(ip.WithZone("").String()) {
		t.near.Store(true)
	}
}

// watch cancels a request that makes no progress.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	idle   time.Duration
	mu     sync.Mutex
	timer  *time.Timer
}

func newWatch(ctx context.Context, idle time.Duration) *watch {
	w := &watch{idle: idle}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(idle, func() { w.cancel(errIdle) })
	return w
}

func (w *watch) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Reset(w.idle)
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
	w.cancel(nil)
}

// watched is the body of a request or response. When bytes are read from it, it
// resets the request's idle timer. The request ends when the response body is
// closed.
type watched struct {
	io.ReadCloser
	watch *watch
	last  bool
}

func (b *watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watch.tick()
	}
	if err != nil && err != io.EOF && errors.Is(context.Cause(b.watch.ctx), errIdle) {
		err = errIdle
	}
	return n, err
}

func (b *watched) Close() error {
	if b.last {
		b.watch.end()
	}
	return b.ReadCloser.Close()
}

// The purpose of a request, for errors.
const (
	pushing = "push to"
	pulling = "pull"
)

// failed converts the error of a request to a fault for the user.
func failed(doing string, r Reference, err error) error {
	if err == nil || fault.Of(err) != nil {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	host, where := r.ref.Registry, r.String()
	var answer *errcode.ErrorResponse
	var dial *url.Error
	why, hint := err.Error(), "check the reference and the registry, and retry"
	switch {
	case errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden), errors.Is(err, auth.ErrBasicCredentialNotFound):
		return fault.New("registry_denied", fmt.Sprintf("cannot %s %s: the registry denied access", doing, where), "sign in with an account that has permission: docker login "+host)
	case errors.Is(err, errdef.ErrNotFound), answer != nil && answer.StatusCode == http.StatusNotFound:
		if doing == pushing {
			hint = "create the repository if the registry requires it, and check your access: docker login " + host
			return fault.New("registry_missing", "there is no repository for "+where, hint)
		}
		return fault.New("registry_missing", where+" is not in the registry", "check the name, the tag and your access: docker login "+host)
	case answer != nil:
		why = fmt.Sprintf("the registry returned status %d", answer.StatusCode)
		if len(answer.Errors) > 0 {
			why += ", " + answer.Errors.Error()
		}
	case errors.Is(err, context.DeadlineExceeded):
		why = fmt.Sprintf("it took longer than %s", wholeWait)
	case errors.As(err, &dial):
		why = dial.Err.Error()
		if u, err := url.Parse(dial.URL); err == nil && u.Host != host {
			why = u.Host + ": " + why // the URL's query may contain a signature
		}
	}
	if refused := new(netguard.Refused); errors.As(err, &refused) || errors.Is(err, errDowngrade) {
		hint = "use another registry; if it is your own, configure it to serve blobs without redirects"
	} else if strings.Contains(why, "server gave HTTP response to HTTPS client") {
		why, hint = "the registry does not use TLS", "if you trust the network, pass --plain-http; others on the network can then read passwords"
	}
	f := fault.New("registry_failed", fmt.Sprintf("cannot %s %s: %s", doing, where, shown(why)), hint)
	f.Retryable = errors.Is(err, errIdle) || answer != nil && answer.StatusCode >= 500
	return f
}

// shown returns untrusted text in a form that is safe for a terminal.
func shown(s string) string { return text.Shorten(text.OneLine(text.Plain(s)), 300) }
