package gateway

import (
	"context"
	"fmt"
	"net/http"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
)

// of returns the upstream for the caller of ctx. With [UserScope], that is the one with
// the credential of the person whose name the caller has, of another gateway.
func (u *upstream) of(ctx context.Context) (*upstream, error) {
	name := access.Of(ctx).Name
	if !u.anothers(ctx) || u.g.options.For == nil {
		return u, nil // usable refuses another person's
	}
	g, err := u.g.options.For(name)
	if err != nil {
		return nil, err
	}
	if own := g.named(u.Name); own != nil && g.options.Principal == name {
		return own, nil
	}
	return nil, u.notTheirs(name)
}

// anothers reports whether the credential is one person's, and the caller of ctx works
// for another person.
func (u *upstream) anothers(ctx context.Context) bool {
	name := access.Of(ctx).Name
	return name != "" && u.Scope == UserScope && name != u.g.options.Principal
}

func (u *upstream) notTheirs(name string) error {
	return fault.New("not_one_person", fmt.Sprintf("%s is called with a person's credential, and this server has no way to use the one of %s", u.Title, name),
		"ask the server's operator to set credential_scope: project for upstream "+u.Name+" to share one account")
}

// of returns the pages with the gateway of the person at the browser.
func (p *pages) of(r *http.Request) (*pages, error) {
	name := access.Of(r.Context()).Name
	if name == "" || p.g.options.For == nil {
		return p, nil
	}
	own := *p
	var err error
	own.g, err = p.g.options.For(name)
	return &own, err
}
