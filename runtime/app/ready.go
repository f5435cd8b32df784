package app

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
)

// readyTime is how long the store may take to answer before the server reports that it is
// not ready. It is shorter than the 5 seconds within which a probe must see this.
const readyTime = 2 * time.Second

// readyFor is how long a result of checking the folder of the worktrees is reused, because
// anyone may ask.
const readyFor = time.Second

// ready returns nil if everything that this server serves can be used: the index, the store
// and, for work, the folder of the worktrees.
func (s *server) ready() error {
	if s.has("docs") {
		if err := s.lib.ready(); err != nil {
			return err
		}
	}
	if !s.asks() && !s.has("work") {
		return nil
	}
	if err := s.App.ready(); err != nil || !s.has("work") {
		return err
	}
	return s.placeReady()
}

// ready returns why the docs tools cannot search, without private details.
func (l *docsServer) ready() error {
	switch {
	case l.libraries.Load() != nil:
		return nil // a shelf without libraries is not served
	case l.engine == nil || l.engine.Ready() != nil:
		return errors.New("the index is not ready: there is none, it is being built, or it is damaged")
	}
	return nil
}

// placeReady returns why no worktree can be created.
func (s *server) placeReady() error {
	s.place.Lock()
	defer s.place.Unlock()
	if time.Since(s.placeAt) >= readyFor {
		s.placeErr, s.placeAt = s.tryPlace(), time.Now()
	}
	return s.placeErr
}

func (s *server) tryPlace() error {
	o, err := s.config.Tasks.Get()
	if err == nil {
		err = os.MkdirAll(o.Dir, 0o700)
	}
	var f *os.File
	if err == nil {
		f, err = os.CreateTemp(o.Dir, ".ready-*")
	}
	if err == nil {
		_, err = f.WriteString("deskhand\n")
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if err != nil {
		s.log.Warn("the folder of the worktrees cannot be written", "error", err)
		return errors.New("the folder of the worktrees cannot be written")
	}
	return nil
}

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
