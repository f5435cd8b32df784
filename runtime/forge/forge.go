// Package forge opens pull requests and looks at them, on GitHub, GitLab and
// Gitea (Forgejo too): through gh, glab or tea where they are installed, else
// through the forge's REST API with a token.
//
// Nothing here runs git, and the programs run in a folder of their own: what a
// repository's configuration names is an agent's to write.
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

// Kinds are all of them.
var Kinds = []Kind{GitHub, GitLab, Gitea}

// Codes of faults.
const (
	// ForgeUnknown: the remote does not say which forge it is on.
	ForgeUnknown = "forge_unknown"
	// ForgeNoToken: there is neither a program nor a token.
	ForgeNoToken = "forge_no_token"
	// ForgeRefused: the forge or its program has refused, and says why.
	ForgeRefused = "forge_refused"
	// ForgeAway: the forge did not answer.
	ForgeAway = "forge_away"
)

// Codes are all of them.
var Codes = []string{ForgeUnknown, ForgeNoToken, ForgeRefused, ForgeAway}

// Place is a repository on a forge.
type Place struct {
	Kind Kind   `json:"kind"`
	Host string `json:"host"` // empty with API, for a remote on this disk
	Path string `json:"path"` // owner and name, with groups before on GitLab
	// API is the address of the REST API, without a slash at the end. A place
	// with one of its own is never reached by a program.
	API string `json:"api"`
	Own bool   `json:"own,omitempty"` // API was configured
}

// State is where a pull request stands.
type State string

// States of a pull request.
const (
	Open   State = "open"
	Merged State = "merged"
	Closed State = "closed"
)

// What checks and reviews say. Empty: there is none, or nobody can tell.
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

// Request is one to be opened. The branches are there already.
type Request struct {
	Branch, Target string
	Title, Body    string
	Draft          bool
}

// Client reaches forges. The zero value works without tokens.
type Client struct {
	// Token is the token for a host; empty: there is none. Nil: there are none.
	Token func(ctx context.Context, p Place) (string, error)
	// HTTP sends the requests. Nil: a client with a limit of 30 seconds.
	HTTP *http.Client
	// Find looks for a program on the path; empty: it is not there. Nil:
	// [exec.LookPath].
	Find func(program string) string
}

// PlaceOf reads the place of a remote from its address: https, ssh, the short form
// of scp, or a path on this disk. kind and api, if not empty, are what a person
// has configured; without, the host must tell. The fault is forge_unknown.
func PlaceOf(remote string, kind Kind, api string) (p Place, err error) {
	p = Place{Kind: kind, API: strings.TrimRight(api, "/"), Own: api != ""}
	full := remote
	if before, after, short := strings.Cut(remote, ":"); short && !strings.Contains(remote, "://") && !strings.ContainsAny(before, `/\`) && len(before) > 1 {
		full = "ssh://" + before + "/" + strings.TrimPrefix(after, "/")
	}
	if u, err := url.Parse(full); err == nil && u.Host != "" {
		p.Host, p.Path = u.Hostname(), u.Path
	} else {
		clean := strings.ReplaceAll(remote, `\`, "/")
		p.Path = path.Base(path.Dir(clean)) + "/" + path.Base(clean)
	}
	p.Path = strings.TrimSuffix(strings.Trim(p.Path, "/"), ".git")
	if p.Kind == "" {
		p.Kind = guess(p.Host)
	}
	if p.Kind == "" || !strings.Contains(p.Path, "/") || p.Host == "" && !p.Own {
		return p, fault.New(ForgeUnknown, fmt.Sprintf("nobody can tell which forge %s is on", Shown(remote)), "say which one it is for the project")
	}
	if p.API == "" {
		p.API = map[Kind]string{GitHub: "https://" + p.Host + "/api/v3", GitLab: "https://" + p.Host + "/api/v4", Gitea: "https://" + p.Host + "/api/v1"}[p.Kind]
		if p.Kind == GitHub && p.Host == "github.com" {
			p.API = "https://api.github.com"
		}
	}
	return p, nil
}

// Shown is the address of a remote without a name and a password in it.
func Shown(remote string) string {
	u, err := url.Parse(remote)
	if err != nil || u.User == nil || u.Host == "" || u.Scheme == "ssh" {
		return remote
	}
	u.User = nil
	return u.String()
}

// guess is the kind of a host that says so by its name.
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

// Ready says whether a place can be reached at all: there is a program, or a token.
// The fault is forge_no_token.
func (c *Client) Ready(ctx context.Context, p Place) error {
	if c.program(p) != "" {
		return nil
	}
	_, err := c.api(ctx, p)
	return err
}

// Open opens a pull request, or finds the one that is open for the branch. Faults:
// forge_no_token, forge_refused, forge_away.
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

// Look says where a pull request stands. Faults are those of Open.
func (c *Client) Look(ctx context.Context, p Place, was Pull) (Pull, error) {
	if program := c.program(p); program != "" && p.Kind != Gitea { // tea shows none as JSON
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

// stay follows no redirect: it would take the token to another host.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
