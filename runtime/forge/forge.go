// Package forge opens pull requests and reads their state, on GitHub, GitLab and Gitea
// (including Forgejo). It uses gh, glab or tea if they are installed, and otherwise the
// forge's REST API with a token.
//
// The package never runs git, and runs those programs in an empty folder, because an
// agent can change a repository's configuration.
package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Kind is a kind of forge.
type Kind string

// Kinds of forges.
const (
	GitHub Kind = "github"
	GitLab Kind = "gitlab"
	Gitea  Kind = "gitea"
)

// Kinds lists all kinds of forges.
var Kinds = []Kind{GitHub, GitLab, Gitea}

// Fault codes.
const (
	// ForgeUnknown means that the remote's forge cannot be determined.
	ForgeUnknown = "forge_unknown"
	// ForgeNoToken means that neither a program nor a token is available.
	ForgeNoToken = "forge_no_token"
	// ForgeRefused means that the forge or its program refused the request. The
	// fault contains the reason.
	ForgeRefused = "forge_refused"
	// ForgeAway means that the forge did not answer.
	ForgeAway = "forge_away"
)

// Codes lists all fault codes.
var Codes = []string{ForgeUnknown, ForgeNoToken, ForgeRefused, ForgeAway}

// Place is a repository on a forge.
type Place struct {
	Kind Kind   `json:"kind"`
	Host string `json:"host"` // empty for a remote on this disk, which requires API
	Path string `json:"path"` // owner and name, after any groups on GitLab
	// API is the URL of the REST API, without a slash at the end. If Own is set, no
	// program is used for this place.
	API string `json:"api"`
	Own bool   `json:"own,omitempty"` // API was configured
}

// TokenHost returns the host for which a token is stored: the API's if it was configured,
// and otherwise the remote's, which determines the API.
func (p Place) TokenHost() string {
	if p.Own {
		if u, err := url.Parse(p.API); err == nil {
			return strings.TrimSuffix(strings.ToLower(u.Host), ":443")
		}
	}
	return p.Host
}

// HowToSignIn says how a person lets deskhand use the forge.
func (p Place) HowToSignIn() string {
	if p.Own {
		return fmt.Sprintf("store a token: deskhand connect %s; or set %s", p.TokenHost(), TokenNames[p.Kind][0])
	}
	return fmt.Sprintf("store a token: deskhand connect %s; or set %s, or install %s and sign in", p.TokenHost(), TokenNames[p.Kind][0], programs[p.Kind])
}

// State is the state of a pull request.
type State string

// States of a pull request.
const (
	Open   State = "open"
	Merged State = "merged"
	Closed State = "closed"
)

// Results of checks and reviews. Empty means that there is no result or that the result
// is unknown.
const (
	Passing          = "passing"
	Failing          = "failing"
	Pending          = "pending"
	Approved         = "approved"
	ChangesRequested = "changes_requested"
)

// Pull is a pull request, or a merge request on GitLab.
type Pull struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	State  State  `json:"state"`
	Draft  bool   `json:"draft,omitempty"`
	Checks string `json:"checks,omitempty"` // Passing, Failing or Pending
	Review string `json:"review,omitempty"` // Approved or ChangesRequested
}

// Request describes a pull request to open. The branches must already exist.
type Request struct {
	Branch, Target string
	Title, Body    string
	Draft          bool
}

// Client accesses forges. The zero value has no tokens.
type Client struct {
	// Token, if not nil, returns the token for a place, or "" if there is none.
	Token func(ctx context.Context, p Place) (string, error)
	// HTTP sends the requests. Nil means a client with a timeout of 30 seconds.
	HTTP *http.Client
	// Find returns the path of a program, or "" if it is missing. Nil means
	// [exec.LookPath].
	Find func(program string) string
}

// PlaceOf parses the address of a remote: https, ssh, scp's short form, or a path on
// this disk. kind and api come from the user's configuration. If kind is empty, it
// is determined from the host. Fault: forge_unknown.
func PlaceOf(remote string, kind Kind, api string) (p Place, err error) {
	p = Place{Kind: kind, API: strings.TrimRight(api, "/"), Own: api != ""}
	full := remote
	if before, after, short := strings.Cut(remote, ":"); short && !strings.Contains(remote, "://") && !strings.ContainsAny(before, `/\`) && len(before) > 1 {
		full = "ssh://" + before + "/" + strings.TrimPrefix(after, "/")
	}
	if u, err := url.Parse(full); err == nil && u.Host != "" {
		p.Host, p.Path = strings.ToLower(u.Hostname()), u.Path
		if u.Scheme == "https" && u.Port() != "443" { // the API has the same port; that of ssh is another one
			p.Host = strings.ToLower(u.Host)
		}
	} else {
		clean := strings.ReplaceAll(remote, `\`, "/")
		p.Path = path.Base(path.Dir(clean)) + "/" + path.Base(clean)
	}
	p.Path = strings.TrimSuffix(strings.Trim(p.Path, "/"), ".git")
	if p.Kind == "" {
		p.Kind = guess(p.Host)
	}
	if p.Kind == "" || !strings.Contains(p.Path, "/") || p.Host == "" && !p.Own {
		return p, fault.New(ForgeUnknown, fmt.Sprintf("cannot determine which forge hosts %s", Shown(remote)), "set the project's forge")
	}
	if p.API == "" {
		p.API = map[Kind]string{GitHub: "https://" + p.Host + "/api/v3", GitLab: "https://" + p.Host + "/api/v4", Gitea: "https://" + p.Host + "/api/v1"}[p.Kind]
		if p.Kind == GitHub && p.Host == "github.com" {
			p.API = "https://api.github.com"
		}
	}
	return p, nil
}

// Shown returns the address of a remote without the user name and password.
func Shown(remote string) string {
	u, err := url.Parse(remote)
	if err != nil || u.User == nil || u.Host == "" || u.Scheme == "ssh" {
		return remote
	}
	u.User = nil
	return u.String()
}

// guess returns the kind of forge that a host's name indicates, or "".
func guess(host string) Kind {
	switch name := strings.ToLower(host); {
	case name == "github.com", strings.HasPrefix(name, "github."):
		return GitHub
	case name == "gitlab.com", strings.HasPrefix(name, "gitlab."):
		return GitLab
	case name == "codeberg.org", name == "gitea.com", strings.HasPrefix(name, "gitea."), strings.HasPrefix(name, "forgejo."):
		return Gitea
	}
	return ""
}

// Ready returns a fault if a place has neither a program nor a token. Fault:
// forge_no_token.
func (c *Client) Ready(ctx context.Context, p Place) error {
	if c.program(p) != "" {
		return nil
	}
	_, err := c.api(ctx, p)
	return err
}

// Open opens a pull request, or returns the one that is already open for the branch.
// Faults: forge_no_token, forge_refused, forge_away.
func (c *Client) Open(ctx context.Context, p Place, r Request) (Pull, error) {
	if program := c.program(p); program != "" {
		return c.openBy(ctx, program, p, r)
	}
	f, err := c.api(ctx, p)
	if err != nil {
		return Pull{}, err
	}
	return f.open(ctx, r)
}

// Look returns the current state of a pull request. Faults: those of Open.
func (c *Client) Look(ctx context.Context, p Place, was Pull) (Pull, error) {
	if program := c.program(p); program != "" && p.Kind != Gitea { // tea cannot print a single pull request as JSON
		return c.lookBy(ctx, program, p, was)
	}
	f, err := c.api(ctx, p)
	if err != nil {
		return Pull{}, err
	}
	return f.look(ctx, was.Number)
}

func (c *Client) http() *http.Client {
	if c.HTTP != nil {
		return c.HTTP
	}
	return &http.Client{Timeout: 30 * time.Second, CheckRedirect: stay}
}

// stay prevents redirects, which would send the token to another host.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
