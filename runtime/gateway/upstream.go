package gateway

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
)

// Upstream configures one MCP server behind the gateway. Name and either
// Command or URL are required; other zero values are defaults.
type Upstream struct {
	Name string
	// Title is the display name. If empty, it is the capitalized name.
	Title string
	// Command starts a server in Dir that communicates over its stdin and stdout.
	// Its environment contains what every program needs ([executor.Environment]),
	// the variables that match Pass, in which a trailing * matches any rest, and
	// Env.
	Command []string
	Dir     string
	Pass    []string
	Env     map[string]string
	// URL is the address of a server that communicates over HTTP. Headers are sent
	// with every request, but only to this server.
	URL     string
	Headers map[string]string
	// Inside reports whether URL is on this machine or its network even though
	// its name does not show that. Its sign-in pages may then be there too.
	Inside bool
	// Prefix is put before the upstream's tool names, joined by "_". If empty, it
	// is the upstream's name; "-" means no prefix.
	Prefix string
	// Allow and Deny are patterns for its tool and prompt names, as in
	// path.Match. The gateway offers a name if Allow matches it, or is empty, and
	// Deny does not match it.
	Allow, Deny []string
	// NoResources hides its resources and resource templates.
	NoResources bool
	// Scope determines whose credential a call uses.
	Scope Scope
	Auth  Auth
	// Timeout is how long a call may take without an answer or progress, not
	// counting the time during which a person is being asked. If zero, it is
	// [DefaultTimeout].
	Timeout time.Duration
	// MaxBytes limits the size of one message from the upstream (an answer, an
	// event, a page of a list), and that of a whole list. If zero, it is
	// [DefaultMaxBytes].
	MaxBytes int
}

// noPrefix is the Prefix for tools that keep their upstream's names.
const noPrefix = "-"

// Scope determines whose credential a call uses.
type Scope string

const (
	NoScope      Scope = "none"    // no credential
	ProjectScope Scope = "project" // one shared by everyone
	UserScope    Scope = "user"    // the credential of the person that the agent works for
)

// Auth configures how an upstream authenticates callers, including the
// differences between providers.
type Auth struct {
	Kind AuthKind // if empty, oauth for a URL with a scope, header for a command

	// Header and Format define how a key is sent. If empty, they are Authorization
	// and "Bearer %s"; with another header, Format is "%s". Env is the environment
	// variable in which a command gets the key. If empty, it is <NAME>_TOKEN.
	Header, Format, Env string

	// Issuer is the authorization server. If empty, it is the server that the
	// upstream names.
	Issuer string
	// ClientID and ClientSecret identify a manually registered client. The
	// secret may be empty. ClientURL is the https address of a client metadata
	// document. Without either, a client is registered when needed.
	ClientID, ClientSecret, ClientURL string
	// Scopes are the scopes to request. If nil, they are the scopes that the
	// upstream requests.
	Scopes []string
	// OmitResource omits the parameter "resource", for servers that reject it.
	OmitResource bool
	// Style is how the client sends its secret: header, params, or empty for a
	// style that the server supports.
	Style string
	// Params are extra parameters of the authorization request, for example
	// prompt.
	Params map[string]string
}

// AuthKind is a way to authenticate.
type AuthKind string

const (
	NoAuth AuthKind = "none"
	OAuth  AuthKind = "oauth"
	Key    AuthKind = "header" // a key that the person pastes
)

var upstreamName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`) })

// Check sets defaults and refuses invalid settings, with a fault with code
// "bad_upstream". Checking a checked Upstream changes nothing.
func Check(u Upstream) (Upstream, error) {
	bad := func(format string, args ...any) (Upstream, error) {
		return u, fault.New("bad_upstream", fmt.Sprintf("upstream %q: ", u.Name)+fmt.Sprintf(format, args...), "fix it under upstreams in the configuration file")
	}
	if !upstreamName().MatchString(u.Name) {
		return bad("a name consists of 1 to 32 characters from a-z, 0-9, _ and -")
	}
	if (len(u.Command) == 0) == (u.URL == "") {
		return bad("requires either a command or a url")
	}
	if u.URL != "" {
		if at, err := url.Parse(u.URL); err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" || at.User != nil {
			return bad("url is not an http or https address without a password")
		}
	}
	if u.Title == "" {
		u.Title = strings.ToUpper(u.Name[:1]) + u.Name[1:]
	}
	if u.Prefix == "" {
		u.Prefix = u.Name
	}
	if u.Prefix != noPrefix && !contract.ValidName(u.Prefix+"_connect") {
		return bad("prefix %q cannot start a tool name: use a-z, A-Z, 0-9, _ and -", u.Prefix)
	}
	for _, pattern := range slices.Concat(u.Allow, u.Deny) {
		if _, err := path.Match(pattern, ""); err != nil {
			return bad("%q is not a valid name pattern", pattern)
		}
	}
	if u.MaxBytes != 0 && u.MaxBytes < minMaxBytes {
		return bad("max_bytes is %d, the minimum is %d", u.MaxBytes, minMaxBytes)
	}
	if u.Timeout < 0 {
		return bad("timeout is %v, but must not be negative (default: %v)", u.Timeout, DefaultTimeout)
	}
	switch u.Scope {
	case "":
		u.Scope = NoScope
	case NoScope, ProjectScope, UserScope:
	default:
		return bad("credential_scope is %q, want none, project or user", u.Scope)
	}
	return u, u.checkAuth(bad)
}

func (u *Upstream) checkAuth(bad func(string, ...any) (Upstream, error)) error {
	a := &u.Auth
	if a.Kind == "" {
		switch {
		case u.Scope == NoScope:
			a.Kind = NoAuth
		case u.URL != "":
			a.Kind = OAuth
		default:
			a.Kind = Key
		}
	}
	var err error
	switch {
	case a.Kind != NoAuth && a.Kind != OAuth && a.Kind != Key:
		_, err = bad("auth kind is %q, want oauth, header or none", a.Kind)
	case a.Kind == NoAuth && u.Scope != NoScope:
		_, err = bad("credential_scope %s needs an auth kind: oauth or header", u.Scope)
	case a.Kind != NoAuth && u.Scope == NoScope:
		_, err = bad("auth kind %s needs a credential_scope: user or project", a.Kind)
	case a.Kind == OAuth && u.URL == "":
		_, err = bad("auth kind oauth needs a url; for a command, use kind header with a key")
	case a.Style != "" && a.Style != "header" && a.Style != "params":
		_, err = bad("auth style is %q, want header or params", a.Style)
	case a.ClientURL != "" && !strings.HasPrefix(a.ClientURL, "https://"):
		_, err = bad("client_url must begin with https://")
	}
	if a.Header == "" {
		a.Header = "Authorization"
	}
	if a.Format == "" {
		a.Format = "%s"
		if a.Header == "Authorization" {
			a.Format = "Bearer %s"
		}
	}
	if err == nil && strings.Count(a.Format, "%s") != 1 {
		_, err = bad("auth format %q must contain %%s once", a.Format)
	}
	if a.Env == "" {
		a.Env = strings.ToUpper(strings.ReplaceAll(u.Name, "-", "_")) + "_TOKEN"
	}
	return err
}

// minMaxBytes exceeds the size of any tool definition.
const minMaxBytes = 64 << 10

// takes reports whether the tool or prompt with this name is passed on.
func (u *Upstream) takes(tool string) bool {
	matches := func(pattern string) bool {
		ok, _ := path.Match(pattern, tool) // Check has validated it
		return ok
	}
	return (len(u.Allow) == 0 || slices.ContainsFunc(u.Allow, matches)) && !slices.ContainsFunc(u.Deny, matches)
}

// host returns the upstream's host or command, to be shown to people.
func (u *Upstream) host() string {
	if at, err := url.Parse(u.URL); err == nil && at.Host != "" {
		return at.Host
	}
	return strings.Join(u.Command[:min(1, len(u.Command))], " ")
}

// environment returns a command's environment, including key if it is not empty.
func (u *Upstream) environment(key string) []string {
	env, _ := executor.Environment(os.Environ(), u.Pass)
	for name, value := range u.Env {
		env = append(env, name+"="+value)
	}
	if key != "" {
		env = append(env, u.Auth.Env+"="+key)
	}
	return env
}
