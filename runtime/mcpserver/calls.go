package mcpserver

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// calls holds the running calls that the SDK answers, by a key that travels through
// the SDK with each call. It gives a tool the information that the SDK does not:
// whether the client of an HTTP call is gone, which principal called, and whether
// the answer was written.
type calls struct {
	mu    sync.Mutex
	byKey map[string]*underway
	ended chan struct{} // closed when a call ends; nil if nothing waits for it
}

type underway struct {
	ctx       context.Context // ends when the client is gone; nil if that is not known
	principal string
	answering bool            // this is a tool call
	written   []func(ok bool) // called with whether the answer was written
}

// callHeader carries the key of a call through the SDK. A value from the client is
// overwritten.
const callHeader = "Deskhand-Call"

// enter records a call until leave is called. leave takes whether the answer was
// written.
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

// drain waits until no tool call is running, but at most for the given duration.
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

// nextEnd returns a channel that is closed when the next call ends, or nil if no
// tool call is running.
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

// keyOf returns the key of the call that came with extra, or "" if it has none.
func keyOf(extra *mcp.RequestExtra) string {
	if extra == nil {
		return ""
	}
	return extra.Header.Get(callHeader)
}

// carrying returns the extra data that carries a call's key through the SDK.
func carrying(key string) *mcp.RequestExtra {
	return &mcp.RequestExtra{Header: http.Header{callHeader: {key}}}
}

// whenWritten registers f, which is called when it is known whether the answer was
// written. If the call is over, f is called with false immediately.
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

// untilGone returns a context that also ends when the call's client is gone. The
// SDK continues a session's call after its connection is lost, because some servers
// let the client fetch the answer later. Our server does not, so a call that is
// waiting for a person would wait in vain. done must be called when the call ends.
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
