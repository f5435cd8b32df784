package gateway

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Connection is an upstream and whether someone has connected to it. It
// contains no secrets.
type Connection struct {
	Name  string   `json:"name"`
	Title string   `json:"title"`
	At    string   `json:"at"` // host, or the command
	Scope Scope    `json:"credential_scope"`
	Kind  AuthKind `json:"auth"`
	// Connected reports whether there is a credential.
	Connected bool      `json:"connected"`
	Since     time.Time `json:"since,omitzero"`
	By        string    `json:"by,omitempty"`
	Scopes    []string  `json:"scopes,omitempty"`
	// Expires is when the token expires; Renews reports whether it is then
	// renewed automatically.
	Expires time.Time `json:"expires,omitzero"`
	Renews  bool      `json:"renews,omitempty"`
	Tools   int       `json:"tools"` // number when last seen
}

// Connections lists the upstreams in configuration order.
func (g *Gateway) Connections(ctx context.Context) (all []Connection, err error) {
	v, err := g.open(ctx)
	if err != nil {
		return nil, err
	}
	for _, u := range g.upstreams {
		one := Connection{Name: u.Name, Title: u.Title, At: u.host(), Scope: u.Scope, Kind: u.Auth.Kind}
		c, err := v.credential(ctx, u.Name, u.principal())
		if err != nil {
			return nil, err
		}
		if c != nil {
			one.Connected, one.Since, one.By, one.Scopes, one.Expires, one.Renews = true, c.At, c.By, c.Scopes, c.Expires, c.Refresh != ""
		}
		offer, _, err := v.remembered(ctx, u.Name, u.principal())
		if err != nil {
			return nil, err
		}
		one.Tools = len(offer.Tools)
		all = append(all, one)
	}
	return all, nil
}

// connectable returns an upstream that can be connected.
func (g *Gateway) connectable(name string) (*upstream, error) {
	u := g.named(name)
	if u == nil {
		var names []string
		for _, one := range g.upstreams {
			names = append(names, one.Name)
		}
		hint := "no upstream is configured under upstreams in the configuration file"
		if len(names) > 0 {
			hint = "configured upstreams: " + strings.Join(names, ", ")
		}
		return nil, fault.New("unknown_upstream", fmt.Sprintf("no upstream is named %q", name), hint)
	}
	if u.Scope == NoScope {
		return nil, fault.New("nothing_to_connect", u.Title+" is called without a credential", "set credential_scope and auth of upstream "+name+" if it needs one")
	}
	return u, nil
}

// Takes returns the kind of credential that an upstream accepts. The error is a
// fault.
func (g *Gateway) Takes(name string) (AuthKind, error) {
	u, err := g.connectable(name)
	if err != nil {
		return "", err
	}
	return u.Auth.Kind, nil
}

// Connect stores a key for an upstream that accepts one.
func (g *Gateway) Connect(ctx context.Context, name, key string) error {
	u, err := g.connectable(name)
	if err != nil {
		return err
	}
	if u.Auth.Kind != Key {
		return fault.New("wrong_kind", u.Title+" does not accept keys: people sign in to it", "omit the key")
	}
	return g.store(ctx, u, key, g.options.Principal, "cli")
}

// Ask opens a request to connect an upstream. The caller waits for its end.
func (g *Gateway) Ask(ctx context.Context, name string) (elicit.Request, error) {
	u, err := g.connectable(name)
	if err != nil {
		return elicit.Request{}, err
	}
	hub, err := g.openHub(ctx)
	if err != nil {
		return elicit.Request{}, err
	}
	c := &call{name: "deskhand connect"}
	r, err := u.request(ctx, c)
	if err != nil {
		return elicit.Request{}, err
	}
	r.Source = elicit.Source{Kind: "cli", Name: "deskhand connect"}
	r.Message = fmt.Sprintf("Connect your account for %s.", u.Title)
	r, _, err = u.opened(ctx, hub, r)
	return r, err
}

// Disconnect deletes an upstream's credential and revokes it at its issuer. The
// result was reports whether there was a credential.
func (g *Gateway) Disconnect(ctx context.Context, name string) (was bool, err error) {
	u, err := g.connectable(name)
	if err != nil {
		return false, err
	}
	v, err := g.open(ctx)
	if err != nil {
		return false, err
	}
	c, err := v.credential(ctx, u.Name, u.principal())
	if err != nil && fault.Of(err) == nil { // an unreadable credential is removed anyway
		return false, err
	}
	was, err = v.drop(ctx, u.Name, u.principal(), 0)
	if err != nil {
		return false, err
	}
	u.use(nil)
	u.revoke(ctx, c)
	return was, nil
}
