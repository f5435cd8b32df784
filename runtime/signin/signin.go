// Package signin learns from an identity provider who a browser's user is, with OpenID
// Connect, and decides what the person's groups allow.
package signin

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/people"
)

// Codes of faults.
const (
	Unreachable = "provider_unreachable" // the provider does not answer
	Refused     = "sign_in_refused"      // the provider's answer is not valid for this sign-in
)

// Options configure a provider. Issuer, ClientID and Groups are required.
type Options struct {
	Issuer, ClientID string
	// Secret is empty for a public client, which has only PKCE.
	Secret string
	// Groups maps the provider's groups to what their members may do.
	Groups map[string]Grant
	// GroupsClaim and NameClaim are the claims with the groups and the name. The defaults
	// are groups and preferred_username.
	GroupsClaim, NameClaim string
	// Scopes are requested in addition to openid. The default is profile and email.
	Scopes []string
	// Client sends requests to the provider. If nil, it is one with a timeout.
	Client *http.Client
}

// Grant is what the members of a group may do.
type Grant struct {
	people.Grant
	Projects []string // names of projects
}

// Provider is an identity provider. Its methods may be called concurrently.
type Provider struct {
	o Options

	oidc    atomic.Pointer[oidc.Provider] // nil until its configuration was read
	reading singleflight.Group
}

// requestTime limits a request to the provider.
const requestTime = 10 * time.Second

// New returns a provider. It sends no request yet.
func New(o Options) *Provider {
	if o.GroupsClaim == "" {
		o.GroupsClaim = "groups"
	}
	if o.NameClaim == "" {
		o.NameClaim = "preferred_username"
	}
	if o.Scopes == nil {
		o.Scopes = []string{"profile", "email"}
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: requestTime}
	}
	return &Provider{o: o}
}

// provider returns the provider's configuration, which it reads once. Concurrent calls wait
// for the same reading, each until its context ends.
func (p *Provider) provider(ctx context.Context) (*oidc.Provider, error) {
	if found := p.oidc.Load(); found != nil {
		return found, nil
	}
	reading := p.reading.DoChan("", func() (any, error) {
		// The provider keeps the context for later requests for its keys.
		found, err := oidc.NewProvider(p.with(context.WithoutCancel(ctx)), p.o.Issuer)
		if err == nil {
			p.oidc.Store(found)
		}
		return found, err
	})
	select {
	case <-ctx.Done():
		return nil, p.unreachable(ctx.Err())
	case read := <-reading:
		if read.Err != nil {
			return nil, p.unreachable(read.Err)
		}
	}
	return p.oidc.Load(), nil
}

func (p *Provider) with(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.o.Client)
}

func (p *Provider) unreachable(err error) error {
	return &fault.Fault{Code: Unreachable, Message: fmt.Sprintf("the identity provider %s does not answer as one: %v", p.o.Issuer, err), Hint: "retry, or check people.oidc.issuer", Retryable: true}
}

func refused(format string, args ...any) error {
	return fault.New(Refused, "the identity provider's answer was refused: "+fmt.Sprintf(format, args...), "sign in again")
}

// Flow is a sign-in that has begun. The browser that began it must bring it back.
type Flow struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	To       string `json:"t"` // path to which the browser is redirected afterwards
}

// Start begins a sign-in. It returns the provider's page, which sends the browser back to
// redirect.
func (p *Provider) Start(ctx context.Context, redirect, to string) (page string, f Flow, err error) {
	found, err := p.provider(ctx)
	if err != nil {
		return "", f, err
	}
	f = Flow{State: oauth2.GenerateVerifier(), Nonce: oauth2.GenerateVerifier(), Verifier: oauth2.GenerateVerifier(), To: to}
	return p.config(found, redirect).AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), f, nil
}

func (p *Provider) config(found *oidc.Provider, redirect string) *oauth2.Config {
	return &oauth2.Config{ClientID: p.o.ClientID, ClientSecret: p.o.Secret, RedirectURL: redirect, Endpoint: found.Endpoint(), Scopes: append([]string{oidc.ScopeOpenID}, p.o.Scopes...)}
}

// Identity is who signed in, according to the provider.
type Identity struct {
	Issuer, Subject string
	Name            string
	Groups          []string
}

// Returned is what a browser brings back from the provider.
type Returned struct {
	State, Code, Issuer string
	Error               string
}

// Finish ends a sign-in that the browser began. Its errors are faults with code [Refused] or
// [Unreachable].
func (p *Provider) Finish(ctx context.Context, redirect string, f Flow, r Returned) (who Identity, err error) {
	switch {
	case f.State == "" || subtle.ConstantTimeCompare([]byte(f.State), []byte(r.State)) != 1:
		return who, refused("this browser did not begin the sign-in")
	case r.Issuer != "" && r.Issuer != p.o.Issuer: // RFC 9207
		return who, refused("it comes from another issuer")
	case r.Error != "":
		return who, refused("it says %.200q", r.Error)
	case r.Code == "":
		return who, refused("it has no code")
	}
	found, err := p.provider(ctx)
	if err != nil {
		return who, err
	}
	if r.Issuer == "" && namesItself(found) {
		return who, refused("it does not say from which issuer it comes")
	}
	token, err := p.config(found, redirect).Exchange(p.with(ctx), r.Code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return who, refused("the code was not accepted")
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := found.Verifier(&oidc.Config{ClientID: p.o.ClientID}).Verify(p.with(ctx), raw)
	if err != nil {
		return who, refused("%v", err)
	}
	return p.identity(ctx, found, id, token, f)
}

// namesItself reports whether a provider announces that its answers name it (RFC 9207,
// section 2.4). An answer without its name then comes from elsewhere.
func namesItself(found *oidc.Provider) bool {
	var metadata struct {
		Names bool `json:"authorization_response_iss_parameter_supported"`
	}
	return found.Claims(&metadata) == nil && metadata.Names
}

// identity checks what the library leaves to its caller, and reads the claims.
func (p *Provider) identity(ctx context.Context, found *oidc.Provider, id *oidc.IDToken, token *oauth2.Token, f Flow) (who Identity, err error) {
	if f.Nonce == "" || subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(f.Nonce)) != 1 {
		return who, refused("its nonce belongs to another sign-in")
	}
	if id.AccessTokenHash != "" && id.VerifyAccessToken(token.AccessToken) != nil {
		return who, refused("its tokens do not belong together")
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return who, refused("%v", err)
	}
	if party, _ := claims["azp"].(string); party != p.o.ClientID && (party != "" || len(id.Audience) > 1) {
		return who, refused("it was made for another client")
	}
	if claims[p.o.GroupsClaim] == nil || claims[p.o.NameClaim] == nil {
		p.complete(ctx, found, id.Subject, token, claims)
	}
	who = Identity{Issuer: p.o.Issuer, Subject: id.Subject, Groups: texts(claims[p.o.GroupsClaim])}
	who.Name, _ = claims[p.o.NameClaim].(string)
	return who, nil
}

// complete adds the claims that only the provider's page about the user has. Without it, the
// groups are missing, which allows nothing.
func (p *Provider) complete(ctx context.Context, found *oidc.Provider, subject string, token *oauth2.Token, claims map[string]any) {
	if found.UserInfoEndpoint() == "" {
		return
	}
	info, err := found.UserInfo(p.with(ctx), oauth2.StaticTokenSource(token))
	more := map[string]any{}
	if err != nil || info.Subject != subject || info.Claims(&more) != nil {
		return
	}
	for _, name := range []string{p.o.GroupsClaim, p.o.NameClaim} {
		if claims[name] == nil {
			claims[name] = more[name]
		}
	}
}

// texts reads a claim that is a text or a list of texts.
func texts(claim any) (all []string) {
	switch v := claim.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			if text, ok := one.(string); ok {
				all = append(all, text)
			}
		}
	}
	return all
}

// Allowed returns what the groups of a person allow together, or nil if they allow nothing.
// A member of several groups is a guest only if all of them say so.
func (o Options) Allowed(groups []string) (all *Grant) {
	for _, name := range groups {
		g, ok := o.Groups[name]
		if !ok {
			continue
		}
		if all == nil {
			all = &Grant{Grant: people.Grant{Scopes: g.Scopes, Roles: g.Roles, Guest: g.Guest}, Projects: slices.Clone(g.Projects)}
			continue
		}
		all.Scopes, all.Roles, all.Guest = union(all.Scopes, g.Scopes), union(all.Roles, g.Roles), all.Guest && g.Guest
		all.Projects = union(all.Projects, g.Projects)
	}
	return all
}

// Managed lists the projects that the groups decide on.
func (o Options) Managed() (all []string) {
	for _, g := range o.Groups {
		all = union(all, g.Projects)
	}
	slices.Sort(all)
	return all
}

func union[T comparable](a, b []T) []T {
	a = slices.Clone(a)
	for _, one := range b {
		if !slices.Contains(a, one) {
			a = append(a, one)
		}
	}
	return a
}
