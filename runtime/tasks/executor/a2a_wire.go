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

	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
)

// connect reads the card of an agent and chooses the way to speak to it.
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

// wire sends calls to an agent. Secrets are sent only to the host that the
// configuration names, not to others that a card names.
type wire struct {
	headers map[string]string
	home    string
	log     Log // gets what the agent says; nil: nobody does
}

// errCredential is that the agent does not take who asks.
var errCredential = errors.New("it wants a credential: set headers of it, such as Authorization: Bearer ${TOKEN}")

// maxAnswer bounds an answer that is not in the log, in bytes: that has limits of
// its own.
const maxAnswer = 32 << 20

// RoundTrip implements [http.RoundTripper].
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if len(w.headers) > 0 {
		if origin(req.URL) != w.home {
			return nil, fmt.Errorf("its card leads to %s, and what is in headers is for %s alone: name the address of a card there", origin(req.URL), w.home)
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

// address says that a URL leads to a host, and shows to which.
func address(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

func origin(u *url.URL) string { return strings.ToLower(u.Scheme + "://" + u.Host) }

// variable is a name in the value of a header that stands for a variable.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// credentials are the headers with the values of variables that they name, or
// why there are none.
func (c Config) credentials() (headers map[string]string, missing string) {
	headers = map[string]string{}
	for name, value := range c.Headers {
		headers[name] = variable.ReplaceAllStringFunc(value, func(v string) string {
			text := os.Getenv(v[2 : len(v)-1])
			if text == "" {
				missing = v[2:len(v)-1] + " is not set in the environment"
			}
			return text
		})
	}
	return headers, missing
}

// Secrets returns the values that an agent is given and that must not be in its
// log: headers, and those of its environment that look like secrets by name or
// are none of the [ordinary].
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
		if _, rest, ok := strings.Cut(value, " "); ok { // as behind Bearer
			values = append(values, rest)
		}
	}
	return values
}
