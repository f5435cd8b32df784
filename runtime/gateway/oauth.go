package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/deskhand/deskhand/runtime/fault"
)

// oauthClient is deskhand's registration with an authorization server.
type oauthClient struct {
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"`
	Style  string `json:"style,omitempty"` // header, params, or empty to detect it
	// Until is when an automatically registered secret expires; zero if never.
	Until time.Time `json:"until,omitzero"`
}

func (c *oauthClient) config(tokenURL, redirect string, scopes []string) *oauth2.Config {
	style := map[string]oauth2.AuthStyle{"header": oauth2.AuthStyleInHeader, "params": oauth2.AuthStyleInParams}[c.Style]
	if c.Secret == "" {
		style = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: c.ID, ClientSecret: c.Secret, RedirectURL: redirect, Scopes: scopes,
		Endpoint: oauth2.Endpoint{TokenURL: tokenURL, AuthStyle: style},
	}
}

// provider is where an upstream's users sign in.
type provider struct {
	meta     *oauthex.AuthServerMeta
	resource string // resource that a token is for
	scopes   []string
}

// host returns the provider's host. People use it to judge whether they trust the
// provider.
func (p *provider) host() string { return hostOf(p.meta.AuthorizationEndpoint) }

func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return "the authorization server"
}

// discover asks the upstream for the server at which its users sign in (RFC
// 9728), and asks that server for its addresses (RFC 8414). challenge is the
// header with which the upstream last refused a call, or empty if it was not
// called. The error is a fault.
func (u *upstream) discover(ctx context.Context, challenge string) (*provider, error) {
	failed := func(err error) (*provider, error) {
		return nil, &fault.Fault{Code: "sign_in_unreachable", Message: u.clean(fmt.Sprintf("cannot determine where to sign in for %s: %v", u.Title, err)),
			Hint: "retry in a moment", Retryable: true}
	}
	client := u.web(nil)
	demands := bearer(challenge)
	p := &provider{resource: u.URL, scopes: strings.Fields(demands["scope"])}
	issuer := u.Auth.Issuer
	for _, at := range metadataOf(demands["resource_metadata"], u.URL) {
		meta, err := oauthex.GetProtectedResourceMetadata(ctx, at.address, at.resource, client)
		if err != nil {
			if ctx.Err() != nil {
				return failed(ctx.Err())
			}
			continue
		}
		p.resource = meta.Resource
		if len(p.scopes) == 0 {
			p.scopes = meta.ScopesSupported
		}
		if issuer == "" && len(meta.AuthorizationServers) > 0 {
			issuer = meta.AuthorizationServers[0]
		}
		break
	}
	if issuer == "" { // in 2025-03-26, the upstream is its own authorization server
		at, _ := url.Parse(u.URL) // Check has parsed it
		issuer = at.Scheme + "://" + at.Host
	}
	if u.Auth.Scopes != nil {
		p.scopes = u.Auth.Scopes
	}
	meta, err := auth.GetAuthServerMetadata(ctx, issuer, client)
	if err != nil {
		return failed(err)
	}
	if meta == nil {
		meta = &oauthex.AuthServerMeta{Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token", RegistrationEndpoint: issuer + "/register"}
	}
	if len(meta.CodeChallengeMethodsSupported) > 0 && !slices.Contains(meta.CodeChallengeMethodsSupported, "S256") {
		return failed(errors.New(hostOf(issuer) + " does not support PKCE with S256"))
	}
	if slices.Contains(meta.ScopesSupported, "offline_access") && u.Auth.Scopes == nil && !slices.Contains(p.scopes, "offline_access") {
		p.scopes = append(slices.Clone(p.scopes), "offline_access") // to get a refresh token
	}
	p.meta = meta
	return p, nil
}

// knownFor is how long a discovered provider is cached.
const knownFor = time.Minute

// signsInAt works like discover, but caches the result.
func (u *upstream) signsInAt(ctx context.Context) (*provider, error) {
	challenge := ""
	if last := u.challenge.Load(); last != nil {
		challenge = *last
	}
	u.mu.Lock()
	known := u.provider
	u.mu.Unlock()
	if known.of == challenge && time.Since(known.at) < knownFor && known.provider != nil {
		return known.provider, nil
	}
	p, err := u.discover(ctx, challenge)
	if err != nil {
		return nil, err
	}
	u.mu.Lock()
	u.provider = providerThen{p, challenge, time.Now()}
	u.mu.Unlock()
	return p, nil
}

// providerThen is a cached provider.
type providerThen struct {
	*provider
	of string // the challenge it was discovered with
	at time.Time
}

// bearer returns the parameters of a Bearer challenge.
func bearer(challenge string) map[string]string {
	all, err := oauthex.ParseWWWAuthenticate([]string{challenge})
	if err != nil || challenge == "" {
		return nil
	}
	for _, c := range all {
		if c.Scheme == "bearer" {
			return c.Params
		}
	}
	return nil
}

// document is the address of a possible description of a resource, together with
// the resource that it must describe.
type document struct{ address, resource string }

func metadataOf(named, resource string) (all []document) {
	if named != "" {
		all = append(all, document{named, resource})
	}
	at, _ := url.Parse(resource) // Check has parsed it
	root := at.Scheme + "://" + at.Host
	const place = "/.well-known/oauth-protected-resource"
	if path := strings.TrimRight(at.Path, "/"); path != "" {
		all = append(all, document{root + place + path, resource})
	}
	all = append(all, document{root + place, root})
	if named != "" {
		all = append(all, document{named, root})
	}
	return append(all, document{root + place, root + "/"})
}

// clientAt returns deskhand's client registration with a provider: a manual
// registration, one that a client metadata document describes, or a new
// registration, which it stores.
func (u *upstream) clientAt(ctx context.Context, v *vault, p *provider, redirect string) (*oauthClient, error) {
	switch {
	case u.Auth.ClientID != "":
		return &oauthClient{ID: u.Auth.ClientID, Secret: u.Auth.ClientSecret, Style: cmp.Or(u.Auth.Style, styleOf(p.meta))}, nil
	case u.Auth.ClientURL != "" && p.meta.ClientIDMetadataDocumentSupported:
		return &oauthClient{ID: u.Auth.ClientURL, Style: "params"}, nil
	case strings.HasPrefix(redirect, "https://") && p.meta.ClientIDMetadataDocumentSupported:
		return &oauthClient{ID: strings.TrimSuffix(redirect, callbackPath) + clientPath, Style: "params"}, nil
	}
	known, err := v.client(ctx, p.meta.Issuer, redirect)
	if err != nil {
		return nil, err
	}
	if known != nil && (known.Until.IsZero() || time.Now().Before(known.Until)) {
		return known, nil
	}
	if p.meta.RegistrationEndpoint == "" {
		return nil, fault.New("no_client", p.host()+" does not support dynamic client registration",
			"register deskhand there with the redirect address "+redirect+" and put client_id (and client_secret) under auth of upstream "+u.Name)
	}
	method := "none"
	if style := cmp.Or(u.Auth.Style, styleOf(p.meta)); style != "" && !slices.Contains(p.meta.TokenEndpointAuthMethodsSupported, "none") && len(p.meta.TokenEndpointAuthMethodsSupported) > 0 {
		method = map[string]string{"header": "client_secret_basic", "params": "client_secret_post"}[style]
	}
	kind := "native" // on this machine, as the redirect address shows
	if strings.HasPrefix(redirect, "https://") {
		kind = "web"
	}
	registered, err := oauthex.RegisterClient(ctx, p.meta.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{redirect}, ClientName: "deskhand", ApplicationType: kind, TokenEndpointAuthMethod: method,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}, Scope: strings.Join(p.scopes, " "),
	}, u.web(nil))
	if err != nil {
		return nil, fault.New("no_client", p.host()+" did not register deskhand: "+u.clean(err.Error()),
			"retry, or register it manually with the redirect address "+redirect+" and put client_id under auth of upstream "+u.Name)
	}
	c := &oauthClient{ID: registered.ClientID, Secret: registered.ClientSecret, Until: registered.ClientSecretExpiresAt,
		Style: map[string]string{"client_secret_basic": "header", "client_secret_post": "params", "none": "params"}[registered.TokenEndpointAuthMethod]}
	return c, v.putClient(ctx, p.meta.Issuer, redirect, c)
}

// styleOf returns how a server accepts a client's secret, or "" if it does not say.
func styleOf(meta *oauthex.AuthServerMeta) string {
	for _, one := range [][2]string{{"client_secret_post", "params"}, {"client_secret_basic", "header"}} {
		if slices.Contains(meta.TokenEndpointAuthMethodsSupported, one[0]) {
			return one[1]
		}
	}
	return ""
}

// begin returns the address to send a person to. The person comes back to the
// redirect address with a state that can be used once.
func (u *upstream) begin(ctx context.Context, v *vault, p *provider, s signIn) (address string, err error) {
	client, err := u.clientAt(ctx, v, p, s.Redirect)
	if err != nil {
		return "", err
	}
	s.Upstream, s.Client, s.Verifier = u.Name, *client, oauth2.GenerateVerifier()
	s.Issuer, s.WantsIss = p.meta.Issuer, p.meta.AuthorizationResponseIssParameterSupported
	s.TokenURL, s.RevokeURL, s.Scopes = p.meta.TokenEndpoint, p.meta.RevocationEndpoint, u.withGranted(p.scopes)
	if !u.Auth.OmitResource {
		s.Resource = p.resource
	}
	state := rand.Text() + rand.Text()
	if err := v.putSignIn(ctx, state, &s); err != nil {
		return "", err
	}
	config := client.config(p.meta.TokenEndpoint, s.Redirect, s.Scopes)
	config.Endpoint.AuthURL = p.meta.AuthorizationEndpoint
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(s.Verifier)}
	if s.Resource != "" {
		options = append(options, oauth2.SetAuthURLParam("resource", s.Resource))
	}
	for name, value := range u.Auth.Params {
		options = append(options, oauth2.SetAuthURLParam(name, value))
	}
	return config.AuthCodeURL(state, options...), nil
}

// withGranted returns the given scopes plus those granted before, which a new token
// would otherwise lose.
func (u *upstream) withGranted(scopes []string) []string {
	all := slices.Clone(scopes)
	if c := u.current.Load(); c != nil {
		for _, one := range c.Scopes {
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return all
}

// finish exchanges the code that a person returned with, and stores the token. iss
// is the issuer that claims to have sent the person (RFC 9207).
func (u *upstream) finish(ctx context.Context, v *vault, s *signIn, code, iss, by string) error {
	if iss != "" && iss != s.Issuer || iss == "" && s.WantsIss {
		return fault.New("wrong_issuer", "the answer does not come from "+hostOf(s.Issuer), "start again; if this happens again, do not trust that sign-in page")
	}
	config := s.Client.config(s.TokenURL, s.Redirect, nil)
	asking := context.WithValue(ctx, oauth2.HTTPClient, u.web(extraFields{"resource": s.Resource}))
	token, err := config.Exchange(asking, code, oauth2.VerifierOption(s.Verifier))
	if err != nil {
		reason := "it cannot be reached"
		if refused := new(oauth2.RetrieveError); errors.As(err, &refused) {
			reason = "it returned " + cmp.Or(refused.ErrorCode, refused.Response.Status)
		}
		return &fault.Fault{Code: "sign_in_failed", Message: hostOf(s.TokenURL) + " returned no token: " + reason, Hint: "start again", Retryable: true}
	}
	if kind := token.Type(); kind != "Bearer" {
		return fault.New("sign_in_failed", "the token is of type "+kind+", which deskhand does not support", "use another way to connect "+u.Title)
	}
	granted := s.Scopes
	if scope, ok := token.Extra("scope").(string); ok && scope != "" {
		granted = strings.Fields(scope)
	}
	return v.put(ctx, u.Name, u.principal(), &Credential{
		Kind: OAuth, At: time.Now().UTC(), By: by, Channel: "web", Access: token.AccessToken, Refresh: token.RefreshToken, Got: time.Now(), Expires: token.Expiry,
		Scopes: granted, Issuer: s.Issuer, TokenURL: s.TokenURL, RevokeURL: s.RevokeURL, Resource: s.Resource, Client: s.Client,
	})
}

// revoke tells the issuer that a credential is no longer used (RFC 7009). A failure
// is only logged, because the credential is already deleted here.
func (u *upstream) revoke(ctx context.Context, c *Credential) {
	if c == nil || c.RevokeURL == "" {
		return
	}
	values := url.Values{"token": {cmp.Or(c.Refresh, c.Access)}, "client_id": {c.Client.ID}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.RevokeURL, strings.NewReader(values.Encode()))
	if err != nil {
		return
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if c.Client.Secret != "" {
		r.SetBasicAuth(url.QueryEscape(c.Client.ID), url.QueryEscape(c.Client.Secret))
	}
	answer, err := u.web(nil).Do(r)
	if err != nil {
		u.g.log.Warn("cannot revoke the credential at its issuer", "upstream", u.Name, "issuer", c.Issuer)
		return
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // only waits for the end
	answer.Body.Close()
}
