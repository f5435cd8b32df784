package app

import (
	"context"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/surface/notify"
	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/inbox"
)

// notify sends notices of new questions until ctx ends. address is the
// base URL of the pages.
func (p *peoplePages) notify(ctx context.Context, address string) {
	token, _, err := p.app.token()
	if err != nil {
		return // startup has already reported the error
	}
	n, err := p.app.config.Notices.Get()
	if err != nil || len(n.Hooks) == 0 {
		return
	}
	hub, err := p.app.Hub(ctx)
	if err != nil {
		return
	}
	if n.Base != "" {
		address = n.Base
	}
	var hooks []notify.Hook
	for _, h := range n.Hooks { // programs that check the signature have the token
		hooks = append(hooks, h.Signed(web.Key(token, "webhook")))
	}
	notify.Run(ctx, notify.Options{Hub: hub, Hooks: hooks, Quiet: n.Quiet, First: p.app.Once, Log: p.app.log,
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
