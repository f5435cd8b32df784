package main

import (
	"context"
	"time"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/elicit/askdoor"
	"github.com/deskhand/deskhand/runtime/fault"
)

// attemptDoor returns a client for the server of the attempt that this process runs in,
// or nil if there is none. The server can open the store even if a sandbox hides it
// from this process.
func attemptDoor() *askdoor.Client {
	if url := settings.Env("DESKHAND_URL"); settings.OwnAttempt() != "" && url != "" {
		return &askdoor.Client{Address: url, Token: settings.Env("DESKHAND_TOKEN")}
	}
	return nil
}

// askThrough asks through the attempt's own server. The process's terminal, if any,
// belongs to the agent and not to a person.
func (a *app) askThrough(ctx context.Context, attempt *askdoor.Client, f *askFlags, r elicit.Request, w waiter, assumed map[string]elicit.Answer) error {
	began := time.Now()
	ways := askdoor.Ways{NoInbox: f.noInbox, Patient: f.unreachable == "wait", Detach: f.detach, Assumed: assumed}
	asked, err := attempt.Ask(ctx, r, ways, func(r elicit.Request) {
		if !f.detach {
			a.Tell("asked as " + r.ID + "; a person answers it in \"deskhand inbox\"")
		}
	})
	q := quest{waiter: w, flags: f}
	fail := fault.Of(err)
	switch {
	case fail != nil && fail.Code == elicit.NoSurface:
		return q.nobody(ctx, r)
	case err != nil && asked.ID == "":
		return err
	case err == nil && asked.Completion != nil && asked.Completion.By == "assumed":
		q.Tell("no one could be asked, so this is the assumed answer")
	case err == nil && f.detach:
		return q.id(asked, nil)
	case err == nil && asked.Status == elicit.ExpiredOpen && asked.Completion.At.Before(began):
		q.Tell("already asked as " + asked.ID + "; waiting for a late answer")
		return q.wait(ctx, asked, time.Duration(asked.WaitMS)*time.Millisecond)
	}
	return q.finish(asked, asked, err)
}
