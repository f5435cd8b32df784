package settings

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/gateway"
)

// A server cannot tell which person's agent is calling, because all agents use the same
// token. One person's credential must not be used for another person. Therefore, if the
// agents of several people can call the server, deskhand calls no tool with a personal
// credential.
const (
	peopleAuto = "auto"
	peopleOne  = "one"
	peopleMany = "many"
)

// DecidePeople determines the value of gateway.people for a server at addr if the setting
// is auto. If addr is empty, the server uses stdio, and its only user is the person who
// started it. Attempts that the server starts inherit the value.
func (s *Settings) DecidePeople(addr string) error {
	whose, err := s.checked("gateway.people")
	if err != nil || whose != peopleAuto {
		return err
	}
	if why := s.reachedAt(addr); why != "" {
		s.values["gateway.people"] = value{[]string{peopleMany}, why}
	}
	return nil
}

// reachedAt returns the setting that makes a server reachable from other machines,
// or "" if there is no such setting.
func (s *Settings) reachedAt(addr string) string {
	if addr == "" {
		return ""
	}
	if host, _, err := net.SplitHostPort(addr); err == nil && !ownHost(host) {
		return "--http " + addr
	}
	for _, host := range s.list("allow-host") {
		if !ownHost(host) {
			return "allow_host " + host
		}
	}
	for _, name := range []string{"public-url", "base-url", "connect.url"} {
		if at, err := url.Parse(s.get(name)); err == nil && at.Host != "" && !ownHost(at.Hostname()) {
			return key(name) + " " + at.Host
		}
	}
	return ""
}

// ownHost reports whether host is known to be this machine.
func ownHost(host string) bool {
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return ip.Unmap().IsLoopback()
	}
	name, _, _ := strings.Cut(strings.ToLower(host), ":")
	name = strings.TrimSuffix(name, ".")
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// upstreams returns the settings of the upstreams, or nil if there are no
// upstreams.
func (s *Settings) upstreams() (*app.Upstreams, error) {
	all, err := s.Upstreams()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	if _, err := s.People(); err != nil {
		return nil, err
	}
	if err := s.check("connect.address", "connect.url", "gateway.disclosure", "tool-prefix"); err != nil {
		return nil, err
	}
	u := &app.Upstreams{All: all, Addr: s.get("connect.address"), URL: s.get("connect.url"),
		Disclosure: gateway.Disclosure(s.get("gateway.disclosure")), Prefix: s.get("tool-prefix")}
	if s.get("gateway.people") == peopleMany {
		u.Many = "gateway.people is many, from " + s.origin("gateway.people")
	}
	return u, nil
}
