package app

import (
	"context"
	"errors"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
)

// readyTime is how long the store may take to answer before a server counts as
// not ready: below the 5 seconds in which a probe has to see it.
const readyTime = 2 * time.Second

// ready returns nil if the store answers, and takes what is written to it.
func (a *App) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- a.answers(ctx) }()
	select {
	case err := <-answered:
		return notReady(err)
	case <-ctx.Done(): // nothing that is asked looks at ctx, as where a disk hangs
		return notReady(store.ErrSlow)
	}
}

func (a *App) answers(ctx context.Context) error {
	hub, db, err := a.open(ctx)
	if err == nil {
		err = db.Probe(ctx)
	}
	if err == nil {
		_, err = hub.List(ctx, elicit.Filter{Limit: 1})
	}
	return err
}

// notReady words an error for whoever may ask, which is everybody.
func notReady(err error) error {
	if err == nil {
		return nil
	}
	if t, ok := store.TroubleOf(err); ok {
		return errors.New("the store does not answer: " + t.Message)
	}
	return errors.New("the store does not answer")
}
