package mcpserver

import (
	"context"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
)

// sessions holds the HTTP sessions of clients that started with initialize. The SDK
// holds their state. This table limits the number of sessions and how long an
// unused session lives. A session with a running request or open stream is in use.
type sessions struct {
	max  int
	idle time.Duration

	mu      sync.Mutex
	byID    map[string]*session
	closing sync.WaitGroup
}

type session struct {
	id     string
	by     string // name of the person whose token opened it; empty for a secret of the installation
	caller contract.Caller
	end    func() // ends it in the SDK; may take as long as the session's calls

	// sessions.mu guards these fields.
	used   time.Time
	users  int
	expiry *time.Timer
	calls  map[string]context.CancelFunc // by ID as written
}

func newSessions(max int, idle time.Duration) *sessions {
	return &sessions{max: max, idle: idle, byID: make(map[string]*session)}
}

// add adds a session and removes others if there are too many.
func (t *sessions) add(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.byID) >= t.max {
		t.drop(t.leastUsed())
	}
	s.used = time.Now()
	s.calls = make(map[string]context.CancelFunc)
	s.expiry = time.AfterFunc(t.idle, func() { t.expire(s) })
	t.byID[s.id] = s
}

// leastUsed returns the session to remove, preferably one that is not in use. The
// caller holds t.mu, and the table is not empty. It scans all sessions. Even with
// the maximum number of sessions this takes microseconds, once per new client.
func (t *sessions) leastUsed() *session {
	var least *session
	for _, s := range t.byID {
		if least == nil || (s.users == 0) != (least.users == 0) && s.users == 0 ||
			(s.users == 0) == (least.users == 0) && s.used.Before(least.used) {
			least = s
		}
	}
	return least
}

// hold marks the session as in use until release is called. For an unknown ID, and for
// a session that someone else than by opened, it returns nil, and release may still be
// called.
func (t *sessions) hold(id, by string) (s *session, release func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s = t.byID[id]
	if s == nil || s.by != by {
		return nil, func() {}
	}
	s.users++
	s.used = time.Now()
	return s, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		s.users--
		s.used = time.Now()
	}
}

func (t *sessions) expire(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID[s.id] != s {
		return
	}
	if unused := time.Since(s.used); s.users > 0 || unused < t.idle {
		s.expiry.Reset(max(t.idle-unused, t.idle/10))
		return
	}
	t.drop(s)
}

// remove ends a session on its client's request, and reports whether it existed and by
// opened it.
func (t *sessions) remove(id, by string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.byID[id]
	if s == nil || s.by != by {
		return false
	}
	t.drop(s)
	return true
}

// drop ends s. The caller holds t.mu.
func (t *sessions) drop(s *session) {
	delete(t.byID, s.id)
	s.expiry.Stop()
	t.closing.Go(s.end)
}

func (t *sessions) closeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.byID {
		t.drop(s)
	}
}

// wait returns when all dropped sessions have ended.
func (t *sessions) wait() { t.closing.Wait() }

// begin returns a context for a call of s that cancel can end. done must be called
// when the call ends.
func (t *sessions) begin(ctx context.Context, s *session, id string) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	s.calls[id] = cancel
	return ctx, func() {
		cancel()
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(s.calls, id)
	}
}

func (t *sessions) cancel(s *session, id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cancel := s.calls[id]; cancel != nil {
		cancel()
	}
}
