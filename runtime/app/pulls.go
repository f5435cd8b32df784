package app

import (
	"context"
	"time"
)

// pullsEvery is how often a server asks forges about pull requests that are open.
const pullsEvery = time.Minute

// followPulls looks at the pull requests of attempts until ctx ends. A server with
// none asks nobody.
func (a *App) followPulls(ctx context.Context) {
	tick := time.NewTicker(pullsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		m, err := a.Work(ctx)
		if err == nil {
			err = m.LookAtPulls(ctx, "", pullsEvery)
		}
		if err != nil && ctx.Err() == nil {
			a.log.Warn("pull requests not looked at", "error", err)
		}
	}
}
