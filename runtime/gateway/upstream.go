package gateway

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
)

// Upstream is one MCP server behind the gateway, as it is configured. Name, and
// either Command or URL, are required; other zero values are defaults.
type Upstream struct {
	Name string
	// Title is what people call it. Zero: the name, with a capital.
	Title string
	// Command starts a server that speaks on its stdin and stdout, in Dir. Of the
	// environment it gets what every program needs ([executor.Environment]) and
	// what Pass names, each with a * at its end for any rest; Env is added.
	Command []string
	Dir     string
	Pass    []string
	Env     map[string]string
	// URL is the address of a server that speaks over HTTP; Headers go with
	// every request to it, and to nowhere else.
	URL     string
	Headers map[string]string
	// Inside says that URL is on this machine or its network, though its name
	// does not say so: then where its people sign in may be there too.
	Inside bool
	// Prefix stands before the names of its tools, with "_" between. Zero: the
	// name; "-": nothing does.
	Prefix string
	// Allow and Deny are patterns of names of its tools and prompts, as path.Match
	// has them: those that Allow names, or all if it is empty, without those of
	// Deny.
	Allow, Deny []string
	// NoResources leaves out its resources and resource templates.
	NoResources bool
	// Scope is whose credential a call needs.
	Scope Scope
	Auth  Auth
	// Timeout is how long a call may go on without an answer or progress, in
	// which time for which a person is asked is not counted. Zero:
	// [DefaultTimeout].
	Timeout time.Duration
	// MaxBytes bounds one message of it: an answer, an event, a page of a list;
	// and a list as a whole. Zero: [DefaultMaxBytes].
	MaxBytes int
}

// noPrefix is the prefix of tools that are named as the upstream names them.
const noPrefix = "-"

// Scope is whose credential a call goes with.
type Scope string

const (
	NoScope      Scope = "none"    // nobody's
	ProjectScope Scope = "project" // one that all share
	UserScope    Scope = "user"    // that of the person for whom the agent works
)

// Auth is how an upstream knows its callers, with a switch for each thing that
// one provider or another does in its own way.
type Auth struct {
	Kind AuthKind // zero: oauth for a URL with a scope, header for a command

	// Header and Format are how a key is sent. Zero: Authorization and "Bearer
	// %s"; with another header, "%s". Env is the variable in which a command
	// gets it. Zero: <NAME>_TOKEN.
	Header, Format, Env string

	// Issuer is the authorization server. Zero: the one that the upstream names.
	Issuer string
	// ClientID and ClientSecret are a client that was registered by hand. The
	// secret may be empty. ClientURL is the https address of a client metadata
	// document. Without either a client is registered when it is needed.
	ClientID, ClientSecret, ClientURL string
	// Scopes to ask for. Nil: those that the upstream asks for.
	Scopes []string
	// OmitResource leaves the parameter "resource" out, for those who refuse it.
	OmitResource bool
	// Style is how the client shows its secret: header, params, or zero for
	// what the server says it takes.
	Style string
	// Params are further parameters of the authorization request, as prompt.
	Params map[string]string
}

// AuthKind is a way to know a caller.
type AuthKind string

const (
	NoAuth AuthKind = "none"
	OAuth  AuthKind = "oauth"
	Key    AuthKind = "header" // a key that the person pastes
)

var upstreamName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

// Check fills in what is custom and refuses what cannot be meant, with a fault
// of code "bad_upstream". What it has checked it leaves as it is.
func Check(u Upstream) (Upstream, error) {
	bad := func(format string, args ...any) (Upstream, error) {
		return u, fault.New("bad_upstream", fmt.Sprintf("upstream %q: ", u.Name)+fmt.Sprintf(format, args...), "correct it under upstreams in the configuration file")
	}
	if !upstreamName.MatchString(u.Name) {
		return bad("a name is 1 to 32 of a-z, 0-9, _ and -")
	}
	if (len(u.Command) == 0) == (u.URL == "") {
		return bad("wants either a command or a url")
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
		return bad("prefix %q cannot begin the name of a tool: use a-z, A-Z, 0-9, _ and -", u.Prefix)
	}
	for _, pattern := range slices.Concat(u.Allow, u.Deny) {
		if _, err := path.Match(pattern, ""); err != nil {
			return bad("%q is no pattern of names", pattern)
		}
	}
	if u.MaxBytes != 0 && u.MaxBytes < minMaxBytes {
		return bad("max_bytes is %d, and the least is %d", u.MaxBytes, minMaxBytes)
	}
	if u.Timeout < 0 {
		return bad("timeout is %v, and the default is %v", u.Timeout, DefaultTimeout)
	}
	switch u.Scope {
	case "":
		u.Scope = NoScope
	case NoScope, ProjectScope, UserScope:
	default:
		return bad("credential_scope is %q, not none, project or user", u.Scope)
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
		_, err = bad("auth kind is %q, not oauth, header or none", a.Kind)
	case a.Kind == NoAuth && u.Scope != NoScope:
		_, err = bad("credential_scope %s needs an auth kind: oauth or header", u.Scope)
	case a.Kind != NoAuth && u.Scope == NoScope:
		_, err = bad("auth kind %s needs a credential_scope: user or project", a.Kind)
	case a.Kind == OAuth && u.URL == "":
		_, err = bad("auth kind oauth needs a url; a command gets a key, with kind header")
	case a.Style != "" && a.Style != "header" && a.Style != "params":
		_, err = bad("auth style is %q, not header or params", a.Style)
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
		_, err = bad("auth format %q must hold %%s once", a.Format)
	}
	if a.Env == "" {
		a.Env = strings.ToUpper(strings.ReplaceAll(u.Name, "-", "_")) + "_TOKEN"
	}
	return err
}

// minMaxBytes is more than the definition of a tool takes.
const minMaxBytes = 64 << 10

// takes says whether a tool or prompt of this name is passed on.
func (u *Upstream) takes(tool string) bool {
	matches := func(pattern string) bool {
		ok, _ := path.Match(pattern, tool) // Check has read it
		return ok
	}
	return (len(u.Allow) == 0 || slices.ContainsFunc(u.Allow, matches)) && !slices.ContainsFunc(u.Deny, matches)
}

// host is where the upstream is, for people.
func (u *Upstream) host() string {
	if at, err := url.Parse(u.URL); err == nil && at.Host != "" {
		return at.Host
	}
	return strings.Join(u.Command[:min(1, len(u.Command))], " ")
}

// environment is that of a command, with key in its place if there is one.
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
