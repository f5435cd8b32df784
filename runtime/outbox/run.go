package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

// Way sends the messages to one address, or to one kind of address.
type Way struct {
	Name, Target string // as in [Message]
	// Send sends a message. remote is the receiving service's ID of it, or "". If err is a
	// [*Failure], it says whether to repeat; [ErrOver] drops the message, and [Later] keeps it until a time. Other errors are
	// repeated. Errors contain no secret, because they are stored and shown.
	Send func(ctx context.Context, m Message) (remote string, err error)
}

// Options configure [Box.Run].
type Options struct {
	Ways []Way
	// Sent, if not nil, is called after a message about a question was sent.
	Sent func(ctx context.Context, m Message)
	// Log receives failures. If nil, they are discarded.
	Log *slog.Logger
}

const (
	// glance is how long a process waits before it looks again, if nothing wakes it.
	glance = time.Minute
	// again is the pause after the store could not be used.
	again = time.Second
	// lastTime is how long a try may continue when the process ends.
	lastTime = 2 * time.Second
)

// Run sends messages until ctx ends or the store is closed. Each way sends one message at a
// time, so that a slow receiver delays only itself.
func (b *Box) Run(ctx context.Context, o Options) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &sender{Box: b, o: o, holder: rand.Text()}
	var running sync.WaitGroup
	var rings []chan struct{}
	for _, w := range o.Ways {
		ring := make(chan struct{}, 1)
		rings = append(rings, ring)
		running.Go(func() { s.send(ctx, w, ring) })
	}
	if len(o.Ways) > 0 {
		running.Go(func() { s.watch(ctx, rings) })
		running.Go(func() { s.prune(ctx) })
	}
	running.Wait()
}

type sender struct {
	*Box
	o      Options
	holder string // the same for all messages of a process; random, because a process ID means nothing elsewhere
}

// watch rings whenever something may be due.
func (s *sender) watch(ctx context.Context, rings []chan struct{}) {
	for ctx.Err() == nil {
		err := s.follow(ctx, rings)
		if ctx.Err() != nil || errors.Is(err, store.ErrClosed) {
			return
		}
		if err != nil && !errors.Is(err, store.ErrGone) {
			s.o.Log.Warn("cannot follow the outbox", "error", err)
		}
		rest(ctx, nil, again)
	}
}

func (s *sender) follow(ctx context.Context, rings []chan struct{}) error {
	var seq int64
	if err := s.db.View(ctx, func(tx *store.Tx) error { seq = tx.Seq; return nil }); err != nil {
		return err
	}
	w, err := s.db.Watch(ctx, seq, store.Filter{Topic: topic})
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		for _, ring := range rings {
			select {
			case ring <- struct{}{}:
			default:
			}
		}
		if _, err := w.Next(ctx); err != nil {
			return err
		}
	}
}

func (s *sender) prune(ctx context.Context) {
	for {
		rest(ctx, nil, time.Hour) // a process that ends soon leaves this to others
		if ctx.Err() != nil {
			return
		}
		if err := s.Box.prune(ctx); errors.Is(err, store.ErrClosed) {
			return
		} else if err != nil && ctx.Err() == nil {
			s.o.Log.Warn("cannot delete old messages", "error", err)
		}
	}
}

// rest waits for a time, a ring or the end of ctx.
func rest(ctx context.Context, ring <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-ring:
	case <-t.C:
	}
}

// send sends the messages of one way, one after another.
func (s *sender) send(ctx context.Context, w Way, ring <-chan struct{}) {
	for ctx.Err() == nil {
		m, at, err := s.next(ctx, w.Name, w.Target, s.holder)
		switch {
		case ctx.Err() != nil || errors.Is(err, store.ErrClosed):
			return
		case err != nil:
			s.o.Log.Warn("cannot read the outbox", "way", w.Name, "error", err)
			rest(ctx, nil, again)
		case m != nil:
			s.try(ctx, w, m)
		case at.IsZero():
			rest(ctx, ring, glance)
		default:
			rest(ctx, ring, min(max(at.Sub(s.db.Now()), time.Millisecond), glance))
		}
	}
}

// try sends a message and records the result. A try that has begun may end after ctx has,
// because it cannot be known whether a message that was broken off has arrived.
func (s *sender) try(ctx context.Context, w Way, m *Message) {
	sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), SendTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { rest(sending, nil, lastTime); cancel() })()
	remote, failed := safely(sending, w, *m)
	state, err := s.record(ctx, m, remote, failed)
	switch {
	case err != nil:
		s.o.Log.Warn("cannot record a message; it may be sent again", "way", m.Way, "message", m.ID, "error", err)
	case state == Dead:
		s.o.Log.Warn("gave up on a message", "way", m.Way, "to", m.To, "message", m.ID, "elicitationId", m.Request, "error", brief(failed),
			"hint", "deskhand outbox list shows it; deskhand outbox retry "+m.ID+" sends it again")
	case state == Waiting && errors.As(failed, new(*later)):
	case state == Waiting:
		s.o.Log.Info("a message failed; will retry", "way", m.Way, "to", m.To, "message", m.ID, "elicitationId", m.Request, "error", brief(failed))
	case state == Sent && m.Request != "" && s.o.Sent != nil:
		s.o.Sent(ctx, *m)
	}
}

// safely calls Send. A panic fails the message, and not the process.
func safely(ctx context.Context, w Way, m Message) (remote string, err error) {
	defer func() {
		if r := recover(); r != nil {
			remote, err = "", Final(fmt.Errorf("internal error: %v", r))
		}
	}()
	return w.Send(ctx, m)
}

// record stores the result of a try. While the store is away, the claim keeps others from
// sending the message again, so it tries for as long as the claim lasts.
func (s *sender) record(ctx context.Context, m *Message, remote string, failed error) (state State, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTime-SendTime)
	defer cancel()
	for {
		if state, err = s.finish(ctx, m, remote, failed); err == nil || errors.Is(err, store.ErrClosed) {
			return state, err
		}
		rest(ctx, nil, again)
		if ctx.Err() != nil {
			return "", err
		}
	}
}
