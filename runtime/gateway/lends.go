package gateway

//lint:file-ignore SA1019 2026-07-28 deprecates sampling and roots, and servers have them

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
)

// What an upstream is told that clients lend is the most that any client has
// declared so far. When one comes that lends more, the connection is made anew.

// lending is what clients have been found to lend.
type lending struct {
	mu    sync.Mutex
	all   contract.Lends
	until time.Time // clients wait for upstreams to know of it; zero: they do not
}

// add notes what a client lends, and whether none has lent as much before: then
// clients wait for patience.
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

// declare is what an upstream is told of the clients.
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

// Expect sets what the first client lends. Call it before Start.
func (g *Gateway) Expect(l contract.Lends) { g.lends.add(l, 0) }

// Met tells upstreams what a client lends, unless an earlier one lent as much.
// It returns when they have listed what they offer to such a client, or when
// patience has passed since the first such client.
func (g *Gateway) Met(ctx context.Context, l contract.Lends, patience time.Duration) {
	all, isNew, until := g.lends.add(l, patience)
	if l == (contract.Lends{}) || !time.Now().Before(until) {
		return
	}
	for _, u := range g.upstreams {
		if isNew {
			u.wake() // and it connects anew
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

// lastLook is what was lent when the upstream was last looked at, and closed when
// it is looked at again.
func (u *upstream) lastLook() (again <-chan struct{}, with contract.Lends) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.looked, u.lookedWith
}

// lookedAt notes that the upstream was looked at, however that ended.
func (u *upstream) lookedAt(with contract.Lends) {
	u.mu.Lock()
	defer u.mu.Unlock()
	close(u.looked)
	u.looked, u.lookedWith = make(chan struct{}), with
}

// hold keeps a connection from being retired until release; ok is false if it is
// already.
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

// retire replaces a connection over which less was lent: it is closed once the
// calls on it have ended.
func (u *upstream) retire(s *session) {
	u.mu.Lock()
	if u.live == s {
		u.live = nil
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
		_ = s.Close() // nobody needs to know how it ends
	})
}
