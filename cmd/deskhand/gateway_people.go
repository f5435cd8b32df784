package main

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
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
