package gateway

//lint:file-ignore SA1019 2026-07-28 deprecates sampling and roots, but servers still use them

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
)

// Upstreams are told the most that any client so far has offered to lend. When a
// client lends more, the connection is replaced.

// lending records the features that clients lend.
type lending struct {
	mu    sync.Mutex
	all   contract.Lends
	until time.Time // until when clients wait for upstreams to learn of it; zero if they do not wait
}

// add records the features that a client lends. isNew reports whether no earlier
// client lent as much. In that case, clients wait up to patience for the
// upstreams.
func (l *lending) add(more contract.Lends, patience time.Duration) (all contract.Lends, isNew bool, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.all
	l.all = contract.Lends{Sampling: before.Sampling || more.Sampling, SamplingTools: before.SamplingTools || more.SamplingTools, Roots: before.Roots || more.Roots}
	if isNew = l.all != before; isNew && patience > 0 {
		l.until = time.Now().Add(patience)
	}
	return l.all, isNew, l.until
}

func (l *lending) get() contract.Lends {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

// declare adds the features that clients lend to the capabilities that are
// declared to an upstream.
func (u *upstream) declare(o *mcp.ClientOptions, l contract.Lends) {
	if l.Sampling {
		o.Capabilities.Sampling = &mcp.SamplingCapabilities{}
		if l.SamplingTools {
			o.Capabilities.Sampling.Tools = &mcp.SamplingToolsCapabilities{}
		}
		o.CreateMessageWithToolsHandler = u.sample
	}
	if l.Roots {
		o.Capabilities.RootsV2 = &mcp.RootCapabilities{}
	}
}

// Expect sets the features that the first client lends. Call it before Start.
func (g *Gateway) Expect(l contract.Lends) { g.lends.add(l, 0) }

// Met tells upstreams which features a client lends, unless an earlier client
// lent as much. It returns when the upstreams have listed what they offer to such
// a client, or when patience has passed since the first such client.
func (g *Gateway) Met(ctx context.Context, l contract.Lends, patience time.Duration) {
	all, isNew, until := g.lends.add(l, patience)
	if l == (contract.Lends{}) || !time.Now().Before(until) {
		return
	}
	for _, u := range g.upstreams {
		if isNew {
			u.wake() // which reconnects it
		}
	}
	over := time.NewTimer(time.Until(until))
	defer over.Stop()
	for _, u := range g.upstreams {
		for {
			looked, with := u.lastLook()
			if with == all {
				break
			}
			select {
			case <-looked:
				continue
			case <-over.C:
			case <-ctx.Done():
			}
			return
		}
	}
}

// lastLook returns the features that were lent when the upstream was last checked,
// and a channel that is closed at the next check.
func (u *upstream) lastLook() (again <-chan struct{}, with contract.Lends) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.looked, u.lookedWith
}

// lookedAt records that the upstream was checked, successfully or not.
func (u *upstream) lookedAt(with contract.Lends) {
	u.mu.Lock()
	defer u.mu.Unlock()
	close(u.looked)
	u.looked, u.lookedWith = make(chan struct{}), with
}

// hold keeps a connection from being closed until release is called. ok is false if
// the connection has already been retired.
func (u *upstream) hold(s *session) (release func(), ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s.retired {
		return nil, false
	}
	s.using++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if s.using--; s.using == 0 && s.retired {
			close(s.idle)
		}
	}, true
}

// retire replaces a connection, for example one that was made when clients lent less. The
// connection is closed when its calls have ended.
func (u *upstream) retire(s *session) {
	u.mu.Lock()
	if u.live == s {
		u.live = nil
	}
	if s.retired {
		u.mu.Unlock()
		return
	}
	s.retired = true
	if s.using == 0 {
		close(s.idle)
	}
	u.mu.Unlock()
	u.g.running.Go(func() {
		select {
		case <-s.idle:
		case <-u.g.ctx.Done():
		}
		_ = s.Close() // the error does not matter
	})
}
