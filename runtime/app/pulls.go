package app

import (
	"context"
	"time"
)

// pullsEvery is how often a server asks forges about open pull requests.
const pullsEvery = time.Minute

// followPulls checks the attempts' pull requests until ctx ends. If there are none, it
// sends no requests.
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
			a.log.Warn("cannot check pull requests", "error", err)
		}
	}
}
