package mcpserver

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// calls are the HTTP requests under way. The SDK lets a call of a session go on
// when the connection for its answer is gone, since in some servers the answer
// can be fetched later. In ours it cannot, and a call that waits for a person
// would wait for nobody.
type calls struct {
	mu    sync.Mutex
	byKey map[string]context.Context
}

// callHeader carries the key of a request through the SDK. Whatever a client
// puts there is overwritten.
const callHeader = "Deskhand-Call"

// enter notes r until leave is called.
func (c *calls) enter(r *http.Request) (leave func()) {
	key := rand.Text()
	r.Header.Set(callHeader, key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		c.byKey = map[string]context.Context{}
	}
	c.byKey[key] = r.Context()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.byKey, key)
	}
}

// untilGone ends ctx when the client of an HTTP request is gone. done must be
// called at the end.
func (d *httpDoor) untilGone(ctx context.Context, extra *mcp.RequestExtra) (_ context.Context, done func()) {
	if extra == nil {
		return ctx, func() {}
	}
	d.calls.mu.Lock()
	request := d.calls.byKey[extra.Header.Get(callHeader)]
	d.calls.mu.Unlock()
	if request == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(request, cancel)
	return ctx, func() {
		forget()
		cancel()
	}
}
