package app

import (
	"context"
	"errors"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
)

// readyTime is how long the store may take to answer before the server reports that it is
// not ready. It is shorter than the 5 seconds within which a probe must see this.
const readyTime = 2 * time.Second

// ready returns nil if the store answers and accepts writes.
func (a *App) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- a.answers(ctx) }()
	select {
	case err := <-answered:
		return notReady(err)
	case <-ctx.Done(): // the store may not react to ctx, for example if a disk hangs
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

// notReady returns an error without private details, because anyone may ask.
func notReady(err error) error {
	if err == nil {
		return nil
	}
	if t, ok := store.TroubleOf(err); ok {
		return errors.New("the store does not answer: " + t.Message)
	}
	return errors.New("the store does not answer")
}
