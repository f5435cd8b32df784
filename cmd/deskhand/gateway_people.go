package main

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/gateway"
	"github.com/deskhand/deskhand/runtime/web"
)

// Whose agents a server works for is not known: everybody shows the same token. A
// credential of one person must not serve another, so where several people may
// come, no tool is called with one.
const (
	peopleAuto = "auto"
	peopleOne  = "one"
	peopleMany = "many"
)

// decidePeople replaces auto by what a server at addr has; empty: it speaks over
// stdin and stdout, with who started it. Attempts that it starts get the setting.
func (a *app) decidePeople(addr string) error {
	switch a.settings.get("gateway.people") {
	case peopleOne, peopleMany:
		return nil
	case peopleAuto:
	default:
		return a.settings.wrong("gateway.people", "not auto, one or many", "use one if nobody else has the token of the server")
	}
	if why := a.reachedAt(addr); why != "" {
		a.settings.values["gateway.people"] = value{[]string{peopleMany}, why}
	}
	return nil
}

// reachedAt says by which setting other machines reach a server; empty: by none.
func (a *app) reachedAt(addr string) string {
	if addr == "" {
		return ""
	}
	if host, _, err := net.SplitHostPort(addr); err == nil && !ownHost(host) {
		return "--http " + addr
	}
	for _, host := range a.settings.list("allow-host") {
		if !ownHost(host) {
			return "allow_host " + host
		}
	}
	for _, name := range []string{"public-url", "connect.url"} {
		if at, err := url.Parse(a.settings.get(name)); err == nil && at.Host != "" && !ownHost(at.Hostname()) {
			return key(name) + " " + at.Host
		}
	}
	return ""
}

// ownHost says that a host can only be this machine.
func ownHost(host string) bool {
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return ip.Unmap().IsLoopback()
	}
	name, _, _ := strings.Cut(strings.ToLower(host), ":")
	name = strings.TrimSuffix(name, ".")
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// upstreams are the settings of other MCP servers. Nil: none is configured.
func (a *app) upstreams() (*installation.Upstreams, error) {
	all, err := a.settings.upstreams()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	if _, err := a.people(); err != nil {
		return nil, err
	}
	if err := a.checkConnect(); err != nil {
		return nil, err
	}
	u := &installation.Upstreams{All: all, Addr: a.settings.get("connect.address"), URL: a.settings.get("connect.url")}
	if u.Disclosure, err = a.disclosure(); err != nil {
		return nil, err
	}
	if u.Prefix, err = a.toolPrefix(); err != nil {
		return nil, err
	}
	if a.settings.get("gateway.people") == peopleMany {
		u.Many = "gateway.people is many, by " + a.settings.origin("gateway.people")
	}
	return u, nil
}

// disclosure is how a model learns of the tools of upstreams.
func (a *app) disclosure() (gateway.Disclosure, error) {
	switch d := gateway.Disclosure(a.settings.get("gateway.disclosure")); d {
	case gateway.DiscloseAll, gateway.DiscloseSearch, gateway.DiscloseAuto:
		return d, nil
	}
	return "", a.settings.wrong("gateway.disclosure", "not all, search or auto", "use auto to show up to 40 tools and search more")
}

// checkConnect refuses addresses that nobody could be led to.
func (a *app) checkConnect() error {
	if addr := a.settings.get("connect.address"); addr != "" {
		if web.CheckAddr(addr) != nil {
			return a.settings.wrong("connect.address", "not HOST:PORT", "write it as 127.0.0.1:20312")
		}
	}
	if at := a.settings.get("connect.url"); at != "" {
		if u, err := url.Parse(at); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return a.settings.wrong("connect.url", "not an address", "write it as https://desk.example.com")
		}
	}
	return nil
}
