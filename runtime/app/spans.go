package app

import (
	"context"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/telemetry"
)

// hubOptions returns the options of every hub that uses the store. Each hub exports
// spans for its questions. Call tell after closing the hub to send the last spans.
func (a *App) hubOptions() (o elicit.Options, tell func(), err error) {
	p, err := a.config.People.Get()
	if err != nil {
		return o, nil, err
	}
	o = elicit.Options{Attended: p.Attended, AllowSecrets: p.Secrets, Log: a.config.Log, Command: a.config.Command, Attempt: a.config.Attempt, Settle: a.endTurns,
		Principal: a.config.Person, People: a.members, World: a.world, Policy: a.policy, Caller: a.named, ProjectName: a.ProjectName, Host: sync.OnceValue(a.host)}
	if o.Members, err = a.config.Members.Get(); err != nil {
		return o, nil, err
	}
	to, err := a.config.Spans.Get()
	if err != nil || to == nil {
		return o, func() {}, err
	}
	spans := telemetry.Open(*to)
	o.Observe = spans.Observe
	return o, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if err := spans.Close(ctx); err != nil {
			a.log.Warn("cannot send the last spans", "error", err)
		}
	}, nil
}
