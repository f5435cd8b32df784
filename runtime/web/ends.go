package web

import (
	"context"
	"sync"
	"time"
)

// endsEvery is how often the sessions with a request that lasts are looked up:
// another process over the same ledger may have ended them.
const endsEvery = time.Second

// lasting are the requests of browsers, by session, so that they end with it: a
// stream of events asks for nothing again. The zero value is ready to use.
type lasting struct {
	mu sync.Mutex
	by map[string]*lastingSession
}

type lastingSession struct {
	session
	requests map[*time.Time]context.CancelFunc // by when each began
}

// begin gives a request of a session a context that ends with the session; over
// is called when it is answered.
func (l *lasting) begin(ctx context.Context, one session) (_ context.Context, over func()) {
	ctx, cancel := context.WithDeadline(ctx, one.until)
	began := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.by[one.id]
	if of == nil {
		of = &lastingSession{one, map[*time.Time]context.CancelFunc{}}
		if l.by == nil {
			l.by = map[string]*lastingSession{}
		}
		l.by[one.id] = of
	}
	of.requests[&began] = cancel
	return ctx, func() {
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(of.requests, &began)
		if len(of.requests) == 0 && l.by[one.id] == of {
			delete(l.by, one.id)
		}
	}
}

// end ends the requests of a session.
func (l *lasting) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of := l.by[id]; of != nil {
		for _, cancel := range of.requests {
			cancel()
		}
	}
}

// old are the sessions with a request that was there at a time.
func (l *lasting) old(at time.Time) (all []session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, of := range l.by {
		for began := range of.requests {
			if !began.After(at) {
				all = append(all, of.session)
				break
			}
		}
	}
	return all
}

// endSessions ends the requests that last of sessions that have been ended
// elsewhere, until ctx ends. While the ledger cannot be read they stay: there is
// nothing to be told either.
func (s *Server) endSessions(ctx context.Context) {
	every := time.NewTicker(endsEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-every.C:
			for _, one := range s.lasting.old(now.Add(-endsEvery / 2)) {
				if ended, err := s.opts.Ledger.Ended(ctx, one.id, one.began); err == nil && ended {
					s.lasting.end(one.id)
				}
			}
		}
	}
}
