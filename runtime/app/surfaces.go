package app

import (
	"context"
	"sync"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/surface"
)

// stand runs the surfaces until ctx ends. It only logs errors, because the server
// works without surfaces.
func (a *App) stand(ctx context.Context, o surface.Options) {
	if o == (surface.Options{}) || !a.storeComes(ctx) {
		return
	}
	if err := a.standing(ctx, o); err != nil && ctx.Err() == nil {
		a.log.Error("cannot start the surfaces", "error", err)
	}
}

func (a *App) standing(ctx context.Context, o surface.Options) error {
	hub, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	all, err := surface.New(db, hub, o)
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	for _, s := range all {
		running.Go(func() {
			err := s.Run(ctx)
			if f := fault.Of(err); f != nil {
				a.log.Error("a surface stopped", "surface", s.Name(), "error", f.Message, "hint", f.Hint)
			} else if err != nil {
				a.log.Error("a surface stopped", "surface", s.Name(), "error", err)
			}
		})
	}
	running.Wait()
	return nil
}
