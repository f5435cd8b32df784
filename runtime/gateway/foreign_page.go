package gateway

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// foreignPages holds an upstream's pages that people were asked to open, by the
// upstream's own ID. The reply that a person opened a page comes immediately; the
// upstream may report later that the page is done.
type foreignPages struct {
	mu  sync.Mutex
	all map[string]*foreignPage
}

type foreignPage struct {
	request string        // ID of our request; empty until a person is asked
	early   bool          // the upstream reported that the page is done before that
	done    chan struct{} // closed when the upstream reports that the page is done
	tell    func(context.Context, string)
	until   *time.Timer
}

// Limits for pages that an upstream never reports as done.
const (
	maxForeignPages = 1000
	pageLife        = time.Hour
)

// doneTime is how long a call waits for an upstream to report an opened page as
// done. The report is optional for upstreams. doneTime is a variable so that
// tests can change it.
var doneTime = 30 * time.Second

// expect prepares for the report that a page is done. It returns nil if id is empty
// or there are too many pages.
func (p *foreignPages) expect(id string) (done <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id == "" || len(p.all) >= maxForeignPages {
		return nil
	}
	if one := p.all[id]; one != nil && one.early {
		one.until.Stop()
		delete(p.all, id)
	}
	one := p.of(id)
	one.request, one.tell = "", nil // those of a person who was asked before
	return one.done
}

// of returns the page with this ID, creating it if necessary. p.mu must be held.
func (p *foreignPages) of(id string) *foreignPage {
	if p.all == nil {
		p.all = map[string]*foreignPage{}
	}
	if p.all[id] == nil {
		p.all[id] = &foreignPage{done: make(chan struct{}), until: time.AfterFunc(pageLife, func() { p.take(id) })}
	}
	return p.all[id]
}

// wait returns when a page is done, or after doneTime.
func (p *foreignPages) wait(ctx context.Context, id string, done <-chan struct{}) {
	if done == nil {
		return
	}
	over := time.NewTimer(doneTime)
	defer over.Stop()
	select {
	case <-done:
	case <-over.C:
		p.take(id)
	case <-ctx.Done():
	}
}

// take removes and returns the page with this ID, or returns nil if there is none.
func (p *foreignPages) take(id string) *foreignPage {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.all[id]
	if one != nil {
		one.until.Stop()
		delete(p.all, id)
	}
	return one
}

// report removes and returns the page with this ID because it is done. It returns
// nil if there is none, or if no person is asked yet: then the person's request ends
// as soon as it is open.
func (p *foreignPages) report(id string) *foreignPage {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.all[id]
	switch {
	case one == nil || one.early:
		return nil
	case one.request == "":
		one.early = true
		close(one.done)
		return nil
	}
	one.until.Stop()
	delete(p.all, id)
	return one
}

// noting is a surface that shows nothing. It records which request is open for a
// page and which function to call when the page is done.
type noting struct {
	u    *upstream
	tell func(ctx context.Context, id string)
}

// Offer implements [elicit.Surface].
func (n *noting) Offer(ctx context.Context, hub *elicit.Hub, r elicit.Request) {
	var id string
	_ = json.Unmarshal(r.Context.Other[theirID], &id) // if empty, the upstream cannot report the page as done
	p := &n.u.foreign
	early := false
	p.mu.Lock()
	if id != "" && len(p.all) < maxForeignPages {
		page := p.of(id)
		page.request, page.tell = r.ID, n.tell
		early = page.early
	}
	p.mu.Unlock()
	if early {
		p.take(id)
		n.u.endPage(ctx, hub, r.ID)
	}
	<-ctx.Done()
}

// elicitationDone ends the request whose page the upstream reports as done. If the
// person opened the page through their client, the client is told.
func (u *upstream) elicitationDone(ctx context.Context, req *mcp.ElicitationCompleteNotificationRequest) {
	page := u.foreign.report(req.Params.ElicitationID)
	if page == nil {
		return
	}
	defer close(page.done)
	hub, err := u.g.openHub(ctx)
	if err != nil {
		u.g.log.Warn("cannot end the upstream's request", "upstream", u.Name, "error", err)
		return
	}
	if !u.endPage(ctx, hub, page.request) || page.tell == nil {
		return
	}
	if r, err := hub.Get(ctx, page.request); err == nil && r.Completion != nil && r.Completion.Channel == "client" {
		page.tell(ctx, page.request)
	}
}

// endPage ends a request whose page is done, and reports whether that worked.
func (u *upstream) endPage(ctx context.Context, hub *elicit.Hub, request string) bool {
	err := complete(ctx, hub, request, elicit.Accept, "", "upstream")
	if err != nil {
		u.g.log.Warn("cannot end the upstream's request", "upstream", u.Name, "error", err)
	}
	return err == nil
}
