package mcpserver

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// calls are the calls under way that the SDK answers, by a key that travels
// through it beside each. They tell a tool what the SDK does not: that the
// client of an HTTP call is gone, in whose name it came, and whether the answer
// reached the wire.
type calls struct {
	mu    sync.Mutex
	byKey map[string]*underway
	ended chan struct{} // closed when a call ends; nil: nobody waits
}

type underway struct {
	ctx       context.Context // ends when the client is gone; nil: not known
	principal string
	answering bool            // a tool is to answer
	written   []func(ok bool) // to be told what became of the answer
}

// callHeader carries the key of a call through the SDK. Whatever a client puts
// there is overwritten.
const callHeader = "Deskhand-Call"

// enter notes a call until leave is called, with whether its answer was written.
func (c *calls) enter(u underway) (key string, leave func(written bool)) {
	key = rand.Text()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		c.byKey = map[string]*underway{}
	}
	c.byKey[key] = &u
	return key, func(written bool) {
		c.mu.Lock()
		tell := u.written
		delete(c.byKey, key)
		if c.ended != nil {
			close(c.ended)
			c.ended = nil
		}
		c.mu.Unlock()
		for _, f := range tell {
			f(written)
		}
	}
}

// drain waits until no tool is to answer any more, or for so long.
func (c *calls) drain(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		ended := c.nextEnd()
		if ended == nil {
			return
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return
		}
	}
}

// nextEnd is closed when the next call ends; nil: no tool is to answer.
func (c *calls) nextEnd() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range c.byKey {
		if u.answering {
			if c.ended == nil {
				c.ended = make(chan struct{})
			}
			return c.ended
		}
	}
	return nil
}

// keyOf is the key of the call that came with extra; empty: it has none.
func keyOf(extra *mcp.RequestExtra) string {
	if extra == nil {
		return ""
	}
	return extra.Header.Get(callHeader)
}

// carrying is what the SDK hands on beside a call.
func carrying(key string) *mcp.RequestExtra {
	return &mcp.RequestExtra{Header: http.Header{callHeader: {key}}}
}

// whenWritten has f called with what becomes of the answer: at once with false
// if the call is over.
func (c *calls) whenWritten(key string, f func(ok bool)) {
	c.mu.Lock()
	u := c.byKey[key]
	if u != nil {
		u.written = append(u.written, f)
	}
	c.mu.Unlock()
	if u == nil {
		f(false)
	}
}

func (c *calls) principal(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if u := c.byKey[key]; u != nil {
		return u.principal
	}
	return ""
}

// untilGone ends ctx when the client of a call is gone: the SDK lets a call of a
// session go on when the connection for its answer is gone, since in some
// servers the answer can be fetched later. In ours it cannot, and a call that
// waits for a person would wait for nobody. done must be called at the end.
func (c *calls) untilGone(ctx context.Context, key string) (_ context.Context, done func()) {
	c.mu.Lock()
	u := c.byKey[key]
	c.mu.Unlock()
	if u == nil || u.ctx == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(u.ctx, cancel)
	return ctx, func() {
		forget()
		cancel()
	}
}
