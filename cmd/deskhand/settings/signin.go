package settings

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"

	"github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/people"
	"github.com/deskhand/deskhand/runtime/signin"
	"github.com/deskhand/deskhand/runtime/web"
)

// provider is the setting people.oidc as written.
type provider struct {
	Issuer          string           `json:"issuer"`
	ClientID        string           `json:"client_id"`
	ClientSecretEnv string           `json:"client_secret_env"`
	GroupsClaim     string           `json:"groups_claim"`
	NameClaim       string           `json:"name_claim"`
	Scopes          []string         `json:"scopes"`
	Adopt           bool             `json:"adopt"`
	Groups          map[string]group `json:"groups"`
}

// group is what the members of one of the provider's groups may do.
type group struct {
	Scopes   string   `json:"scopes"`
	Projects []string `json:"projects"`
	Roles    []string `json:"roles"`
	Guest    bool     `json:"guest"`
}

// signIn returns the identity provider of the settings, or nil if there is none.
func (s *Settings) signIn() (*app.SignIn, error) {
	var p *provider
	if err := s.tree("people.oidc", &p); err != nil {
		return nil, fault.Misuse(fault.Of(err).Message, "see the guide \"Sign in with your identity provider\" for its format")
	}
	if p == nil || OwnAttempt() != "" {
		return nil, nil
	}
	wrong := func(what, hint string) error {
		return fault.Misuse("people.oidc: "+what, hint+", in "+s.origin("people.oidc"))
	}
	if u, err := url.Parse(p.Issuer); err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !thisMachine(u.Hostname())) {
		return nil, wrong(fmt.Sprintf("issuer is %q, which is no https address", p.Issuer), "write the address under which the provider has its /.well-known/openid-configuration")
	}
	if p.ClientID == "" {
		return nil, wrong("client_id is missing", "write the ID of the client that you created at the provider")
	}
	in := &app.SignIn{Adopt: p.Adopt, Address: cmp.Or(s.get("public-url"), s.get("base-url")), Options: signin.Options{Issuer: p.Issuer, ClientID: p.ClientID,
		GroupsClaim: p.GroupsClaim, NameClaim: p.NameClaim, Scopes: p.Scopes, Groups: map[string]signin.Grant{}}}
	if in.Address == "" {
		return nil, wrong("the provider cannot send browsers back, because no setting has this server's address", "set public_url")
	}
	if name := p.ClientSecretEnv; name != "" {
		if in.Secret = Env(name); in.Secret == "" {
			return nil, wrong("the variable "+name+" is empty", "set it to the client's secret, or omit client_secret_env for a client without one")
		}
	}
	if len(p.Groups) == 0 {
		return nil, wrong("no group may use this installation", "list groups with their scopes")
	}
	for name, g := range p.Groups {
		grant := signin.Grant{Grant: people.Grant{Scopes: people.Standard, Roles: g.Roles, Guest: g.Guest}, Projects: g.Projects}
		if g.Scopes != "" {
			var err error
			if grant.Scopes, err = people.ParseScopes(g.Scopes); err != nil {
				return nil, wrong("group "+name+": "+fault.Of(err).Message, fault.Of(err).Hint)
			}
		}
		in.Groups[name] = grant
	}
	return in, nil
}

// proxy returns the proxy of the settings that signs people in. Without one, it is the zero
// value.
func (s *Settings) proxy() (p web.Proxy, err error) {
	p.Header = s.get("people.proxy-header")
	from := s.list("people.proxy-from")
	if p.Header == "" && len(from) > 0 && OwnAttempt() == "" {
		return p, fault.Misuse("people.proxy_from is set, and people.proxy_header is empty, so nobody is signed in by the proxy", "write the header in which the proxy names the person, or omit people.proxy_from, in "+s.origin("people.proxy-from"))
	}
	if p.Header == "" || OwnAttempt() != "" {
		return web.Proxy{}, nil
	}
	for _, text := range from {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			at, err := netip.ParseAddr(text)
			if err != nil {
				return p, fault.Misuse(fmt.Sprintf("people.proxy_from: %q is not an address", text), "write, for example, 10.0.0.7 or 10.1.0.0/16, in "+s.origin("people.proxy-from"))
			}
			prefix = netip.PrefixFrom(at, at.BitLen())
		}
		p.From = append(p.From, prefix)
	}
	if len(p.From) == 0 {
		return p, fault.Misuse("people.proxy_header is set, and people.proxy_from is empty, so anyone could claim to be anyone", "list the addresses of the proxy")
	}
	return p, nil
}

// thisMachine reports whether a host is a loopback address.
func thisMachine(host string) bool {
	at, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && at.IsLoopback()
}
