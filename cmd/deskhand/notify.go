package main

import (
	"context"
	"log/slog"
	"net/url"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/surface/notify"
	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/inbox"
)

// notices are the settings of notifications.
type notices struct {
	hooks []notify.Hook
	quiet notify.Quiet
	base  string // of links; empty: where the pages are
}

// notices reads the settings; an error is a misuse that names the one to
// correct.
func (a *app) notices(token string) (n notices, err error) {
	for _, text := range a.settings.list("notify") {
		h, err := notify.ParseHook(text, web.Key(token, "webhook"))
		if err != nil {
			return n, misuse("notify: "+err.Error(), "correct "+a.settings.origin("notify"))
		}
		n.hooks = append(n.hooks, h)
	}
	if n.quiet, err = notify.ParseQuiet(a.settings.get("quiet-hours")); err != nil {
		return n, misuse("quiet-hours: "+err.Error(), "correct "+a.settings.origin("quiet-hours"))
	}
	if n.base = strings.TrimSuffix(a.settings.get("public-url"), "/"); n.base != "" {
		if u, err := url.Parse(n.base); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return n, a.settings.wrong("public-url", "not an address such as https://desk.example.org", "")
		}
	}
	return n, nil
}

// hosts are the names under which pages may be asked for, beside those of this
// machine.
func (a *app) hosts() []string {
	hosts := a.settings.list("allow-host")
	if u, err := url.Parse(a.settings.get("public-url")); err == nil && u.Hostname() != "" {
		hosts = append(hosts[:len(hosts):len(hosts)], u.Hostname())
	}
	return hosts
}

// notify tells of new questions until ctx ends. address is where the pages are.
func (p *peoplePages) notify(ctx context.Context, a *app, address string, log *slog.Logger) {
	token, _, err := a.token(log)
	if err != nil {
		return // whoever started it was told
	}
	n, err := a.notices(token) // programs that check the signature have this one
	if err != nil || len(n.hooks) == 0 {
		return
	}
	hub, _, err := p.room.open(ctx)
	if err != nil {
		return
	}
	if n.base != "" {
		address = n.base
	}
	notify.Run(ctx, notify.Options{Hub: hub, Hooks: n.hooks, Quiet: n.quiet, First: p.room.Once, Log: log,
		Page: func(id string) string {
			home := p.in.Home(address)
			if id == "" {
				return home + "/"
			}
			return home + "/inbox/" + id
		},
		Choices: func(r *elicit.Request) (all []notify.Choice) {
			for _, c := range inbox.AnswerLinks(web.Key(p.in.Key, "answers"), r) {
				all = append(all, notify.Choice{Label: c.Label, URL: address + c.Path})
			}
			return all
		}})
}
