package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
)

// connect reads the agent's card and creates the clients.
func (c *remote) connect(ctx context.Context, l *launch) error {
	at, err := url.Parse(l.URL)
	if err != nil {
		return err
	}
	headers, missing := l.credentials()
	if missing != "" {
		return errors.New(missing)
	}
	quiet := &http.Client{Transport: &wire{headers: headers, home: origin(at)}, CheckRedirect: noRedirect}
	base, path := l.URL, "/.well-known/agent-card.json"
	if strings.HasSuffix(at.Path, ".json") {
		base, path = origin(at), at.Path
	}
	resolver := agentcard.Resolver{Client: quiet, CardParser: a2av0.NewAgentCardParser()}
	card, err := resolver.Resolve(ctx, base, agentcard.WithPath(path))
	if err != nil {
		return err
	}
	c.streams = card.Capabilities.Streaming
	loud := &http.Client{Transport: &wire{headers: headers, home: origin(at), log: l.spec.Log}, CheckRedirect: noRedirect}
	for client, to := range map[*http.Client]**a2aclient.Client{quiet: &c.looking, loud: &c.talking} {
		*to, err = a2aclient.NewFromCard(ctx, card, a2aclient.WithJSONRPCTransport(client), a2aclient.WithRESTTransport(client),
			a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{Client: client}))
		if err != nil {
			return err
		}
	}
	return nil
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// wire sends calls to an agent. It sends secrets only to the host in the
// configuration, and never to other hosts on the card.
type wire struct {
	headers map[string]string
	home    string
	log     Log // raw log for the agent's responses; nil if they are not logged
}

// errCredential means that the agent requires credentials.
var errCredential = errors.New("the agent requires a credential: set its headers, for example Authorization: Bearer ${TOKEN}")

// maxAnswer is the maximum size in bytes of an answer that is not logged. The log has
// its own limits.
const maxAnswer = 32 << 20

// RoundTrip implements [http.RoundTripper].
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if len(w.headers) > 0 {
		if origin(req.URL) != w.home {
			return nil, fmt.Errorf("its card points to %s, but the headers are only for %s: set url to the address of a card on that host", origin(req.URL), w.home)
		}
		req = req.Clone(req.Context())
		for name, value := range w.headers {
			req.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		resp.Body.Close()
		return nil, errCredential
	}
	body := io.LimitReader(resp.Body, maxAnswer)
	if w.log != nil {
		body = &rawTee{resp.Body, w.log}
	}
	resp.Body = loggedBody{body, resp.Body}
	return resp, nil
}

// loggedBody is the body of a response that is also written to the log.
type loggedBody struct {
	io.Reader
	io.Closer
}

// address reports whether u is an HTTP URL with a host and without credentials.
func address(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

func origin(u *url.URL) string { return strings.ToLower(u.Scheme + "://" + u.Host) }

// variable matches a placeholder for an environment variable in the value of a
// header.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`) })

// credentials returns the headers with their variables replaced. If a variable
// is missing, it returns the reason.
func (c Config) credentials() (headers map[string]string, missing string) {
	headers = map[string]string{}
	for name, value := range c.Headers {
		headers[name] = variable().ReplaceAllStringFunc(value, func(v string) string {
			text := os.Getenv(v[2 : len(v)-1])
			if text == "" {
				missing = v[2:len(v)-1] + " is not set in the environment"
			}
			return text
		})
	}
	return headers, missing
}

// Secrets returns secret values that are passed to an agent and must not appear
// in its log. They are headers, and values from its environment. An environment
// value counts as a secret if its variable has a secret's name, or if the value
// is not [ordinary].
func (t *Table) Secrets(id string) (values []string) {
	c := t.configs[Canonical(id)]
	environments := []map[string]string{c.Env}
	for _, v := range c.Variants {
		environments = append(environments, v.Env)
	}
	for _, env := range environments {
		for name, value := range env {
			if SecretName(name) || !ordinary(name, value) {
				values = append(values, value)
			}
		}
	}
	headers, _ := c.credentials()
	for name, value := range headers {
		if !SecretName(name) && value == c.Headers[name] {
			continue
		}
		values = append(values, value)
		if _, rest, ok := strings.Cut(value, " "); ok { // for example the token after Bearer
			values = append(values, rest)
		}
	}
	return values
}
