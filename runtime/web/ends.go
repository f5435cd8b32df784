package web

import (
	"context"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/people"
)

// endsEvery is the interval at which the sessions of long requests are checked.
// Another process that uses the ledger may have ended a session.
const endsEvery = time.Second

// lasting holds the running requests by session or token, so that they end with it. An event stream would otherwise never check its session again. The zero
// value is ready to use.
type lasting struct {
	mu sync.Mutex
	by map[string]*lastingSession
}

type lastingSession struct {
	session
	requests map[*time.Time]context.CancelFunc // by the time at which each request began
}

// begin returns a context that ends with the session. over must be called when
// the request has been answered.
func (l *lasting) begin(ctx context.Context, one session) (_ context.Context, over func()) {
	var cancel context.CancelFunc
	if one.until.IsZero() {
		ctx, cancel = context.WithCancel(ctx)
	} else {
		ctx, cancel = context.WithDeadline(ctx, one.until)
	}
	began := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.by[one.key()]
	if of == nil {
		of = &lastingSession{one, map[*time.Time]context.CancelFunc{}}
		if l.by == nil {
			l.by = map[string]*lastingSession{}
		}
		l.by[one.key()] = of
	}
	of.requests[&began] = cancel
	return ctx, func() {
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(of.requests, &began)
		if len(of.requests) == 0 && l.by[one.key()] == of {
			delete(l.by, one.key())
		}
	}
}

// end ends a session's requests.
func (l *lasting) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, of := range l.by {
		for _, cancel := range of.requests {
			if of.id == id {
				cancel()
			}
		}
	}
}

// change ends the requests that began when a caller had other rights.
func (l *lasting) change(one session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of := l.by[one.key()]; of != nil {
		for _, cancel := range of.requests {
			cancel()
		}
	}
}

// old returns the sessions that have a request which began before the given
// time.
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

// endSessions ends the long requests of sessions and tokens that were ended by another
// process, until ctx ends. While the ledger cannot be read, the requests continue.
func (s *Server) endSessions(ctx context.Context) {
	every := time.NewTicker(endsEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-every.C:
			s.endOld(ctx, s.lasting.old(now.Add(-endsEvery/2)))
		}
	}
}

func (s *Server) endOld(ctx context.Context, old []session) {
	now, err := s.standing(ctx, old...)
	if err != nil {
		return
	}
	for _, one := range old {
		switch ended, changed := now.over(one); {
		case ended:
			s.lasting.end(one.id)
		case changed:
			s.lasting.change(one)
		}
	}
}

// standing is what the ledger and the directory say of some sessions at one time. All of a
// server's sessions are read with two transactions, because a server may have thousands.
type standing struct {
	people people.Snapshot
	ended  func(session string, began time.Time) bool
}

func (s *Server) standing(ctx context.Context, of ...session) (now standing, err error) {
	var names, tokens []string
	browsers := false
	for _, one := range of {
		switch {
		case one.token != "":
			tokens = append(tokens, one.token)
		case one.name != "":
			names = append(names, one.name)
		}
		browsers = browsers || one.token == ""
	}
	if len(names)+len(tokens) > 0 {
		if now.people, err = s.opts.Directory.Snapshot(ctx, names, tokens); err != nil {
			return now, err
		}
	}
	if browsers {
		now.ended, err = s.opts.Ledger.Ended(ctx)
	}
	return now, err
}

// over reports whether a session or a token has ended elsewhere, or else whether its rights
// have changed.
func (now standing) over(one session) (ended, changed bool) {
	if one.token != "" {
		valid, sees := now.people.Valid(one.token)
		return !valid, rightsOf(access.Caller{Boundary: sees}) != one.rights
	}
	rights := one.rights
	if one.name != "" {
		c, ok := now.people.Session(one.name, one.turn)
		if !ok {
			return true, false
		}
		rights = rightsOf(c)
	}
	return now.ended(one.id, one.began), rights != one.rights
}
