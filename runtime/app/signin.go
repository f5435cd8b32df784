package app

import (
	"context"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/people"
	"github.com/deskhand/deskhand/runtime/signin"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/web"
)

// signIn lets a front sign people in with the configured identity provider and proxy.
func (a *App) signIn(o *web.Options) error {
	settings, err := a.config.SignIn.Get()
	if err != nil {
		return err
	}
	if o.Proxy, err = a.config.Proxy.Get(); err != nil {
		return err
	}
	o.Proxy.Known = func(ctx context.Context, name string) (c access.Caller, turn int64, ok bool, err error) {
		r, err := a.Register(ctx)
		if err != nil {
			return c, 0, false, err
		}
		return r.Known(ctx, name)
	}
	if settings != nil {
		o.Provider = &web.Provider{Provider: signin.New(settings.Options), Address: settings.Address,
			Arrive: func(ctx context.Context, who signin.Identity) (string, int64, error) {
				return a.arrive(ctx, settings, who)
			}}
	}
	return nil
}

// arrive records a sign-in, with what the settings allow the person's groups.
func (a *App) arrive(ctx context.Context, settings *SignIn, who signin.Identity) (name string, turn int64, err error) {
	arrival := people.Arrival{Issuer: who.Issuer, Subject: who.Subject, Name: who.Name, Adopt: settings.Adopt}
	if allowed := settings.Allowed(who.Groups); allowed != nil {
		arrival.Grant = &allowed.Grant
		if arrival.Projects, err = a.projectIDs(ctx, allowed.Projects); err != nil {
			return "", 0, err
		}
	}
	if arrival.Managed, err = a.projectIDs(ctx, settings.Managed()); err != nil {
		return "", 0, err
	}
	r, err := a.Register(ctx)
	if err != nil {
		return "", 0, err
	}
	return r.Arrive(ctx, arrival, a.EndBrowsers)
}

// projectIDs returns the IDs of projects. Names of projects that do not exist yet count from
// the first sign-in after their creation.
func (a *App) projectIDs(ctx context.Context, names []string) (ids []string, err error) {
	for _, name := range names {
		id, err := a.ProjectID(access.Itself(ctx), name)
		if f := fault.Of(err); f != nil && f.Code == tasks.NotFound {
			a.log.Warn("people.oidc.groups names a project that does not exist", "project", name)
			continue
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}
