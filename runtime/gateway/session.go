package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// connectTime is the time limit for starting or reaching a server, including
// initialization.
const connectTime = 20 * time.Second

// session is one connection to an upstream.
type session struct {
	*mcp.ClientSession
	since  time.Time      // when someone connected the credential that it was made with; zero without one
	stderr *textutil.Tail // stderr of a command; nil for a URL
	lends  contract.Lends

	// The upstream's mu guards these.
	using   int           // number of calls on it
	retired bool          // new calls use another session
	idle    chan struct{} // closed when it is retired and not in use
}

// dial starts the upstream's command or connects to its URL, with c if it is not
// nil.
func (u *upstream) dial(ctx context.Context, c *Credential) (*session, error) {
	options := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}},
		ElicitationHandler:          u.elicited,
		ElicitationCompleteHandler:  u.elicitationDone,
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { u.wake() },
		PromptListChangedHandler:    func(context.Context, *mcp.PromptListChangedRequest) { u.wake() },
		ResourceListChangedHandler:  func(context.Context, *mcp.ResourceListChangedRequest) { u.wake() },
		ResourceUpdatedHandler:      func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { u.updated(r.Params.URI) },
		ProgressNotificationHandler: u.progressed,
		MultiRoundTrip:              &mcp.MultiRoundTripOptions{Disabled: true}, // see rounds
	}
	s := &session{lends: u.g.lends.get(), idle: make(chan struct{})}
	if c != nil {
		s.since = c.At
	}
	u.declare(options, s.lends)
	u.hearLogs(options)
	client := mcp.NewClient(&mcp.Implementation{Name: "deskhand", Version: u.g.options.Version}, options)
	if err := speaksTasks(client); err != nil {
		return nil, err
	}
	client.AddSendingMiddleware(u.rounds)
	client.AddReceivingMiddleware(u.lendingMiddleware)
	var transport mcp.Transport
	if u.URL != "" {
		transport = &mcp.StreamableClientTransport{Endpoint: u.URL, HTTPClient: u.http, MaxEventSize: -1} // inflow limits them
	} else {
		s.stderr = &textutil.Tail{}
		cmd := exec.Command(u.Command[0], u.Command[1:]...)
		cmd.Dir, cmd.Stderr, cmd.WaitDelay = u.Dir, s.stderr, time.Second // a grandchild may keep stderr open
		key := ""
		if c != nil {
			key = c.secret()
		}
		via, err := u.marksWith()
		if err != nil {
			return nil, err
		}
		cmd.Env = append(u.environment(key), via)
		u.secrets.add(c.known()...)
		transport = commandTransport{cmd, &u.in}
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	before := u.challenge.Load()
	var err error
	if s.ClientSession, err = client.Connect(ctx, transport, nil); err != nil {
		if refused := u.challenge.Load(); refused != before {
			return nil, &unauthorized{*refused} // after it, the SDK has tried another version
		}
		if s.stderr != nil {
			err = &commandError{err, s.stderr.String()}
		}
		return nil, err
	}
	s.askForLogs(ctx)
	return s, nil
}

// modernVersion is the first version in which every request names its caller.
const modernVersion = "2026-07-28"

// unauthorized is returned if an upstream requires a credential or one with more
// scopes.
type unauthorized struct{ challenge string }

func (*unauthorized) Error() string { return "the upstream requires a credential" }

// carrier sends requests, with the upstream's headers and credential, only to the
// upstream's origin. It also passes the answers through the inflow.
type carrier struct {
	u      *upstream
	origin string
	next   http.RoundTripper
}

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	if at := r.URL.Scheme + "://" + r.URL.Host; at != c.origin {
		return nil, errors.New("the upstream redirects to " + at + ", which must not get its credential")
	}
	r = r.Clone(r.Context())
	if err := outwardHTTP(r); err != nil {
		return nil, err
	}
	for name, value := range c.u.Headers {
		r.Header.Set(name, value)
	}
	credential, ok := r.Context().Value(credentialKey{}).(*Credential)
	if !ok {
		credential = c.u.current.Load()
	}
	if credential != nil {
		format, header := "Bearer %s", "Authorization"
		if credential.Kind == Key {
			format, header = c.u.Auth.Format, c.u.Auth.Header
		}
		c.u.secrets.add(credential.known()...)
		r.Header.Set(header, fmt.Sprintf(format, credential.secret()))
	}
	answer, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	challenge := strings.Join(answer.Header.Values("WWW-Authenticate"), ", ")
	if answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden && bearer(challenge)["error"] == insufficientScope {
		answer.Body.Close()
		c.u.challenge.Store(&challenge)
		c.u.mu.Lock()
		c.u.provider = providerThen{} // the provider may have changed
		c.u.mu.Unlock()
		return nil, &unauthorized{challenge}
	}
	if err := c.u.in.take(r, answer); err != nil {
		return nil, err
	}
	return answer, nil
}

// httpClient returns the client for requests to the upstream, or nil for a command.
func (u *upstream) httpClient() *http.Client {
	at, err := url.Parse(u.URL)
	if err != nil || u.URL == "" {
		return nil
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16
	return &http.Client{Transport: carrier{u, at.Scheme + "://" + at.Host, transport}}
}
