package mcpserver

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// watching holds other servers' resources that clients have subscribed to: for each
// URI, the sessions and the function that ends the subscription. The SDK knows whom
// to notify. It does not report that a session ended without unsubscribing, so
// sweep removes such sessions at the next subscription.
type watching struct {
	mu  sync.Mutex
	all map[string]*watched
}

type watched struct {
	by   map[*mcp.ServerSession]int
	stop func() // nil if no server reports changes
}

// subscribe records that a session wants to be notified of a resource's changes.
// Our own resources, and those of servers that report no changes, never change.
func (s *Server) subscribe(ctx context.Context, req *mcp.SubscribeRequest) error {
	uri, now := req.Params.URI, s.current.Load()
	if !open(ctx, s.resourceScope(uri)) {
		return notFound(&mcp.ReadResourceParams{URI: uri, Meta: req.Params.Meta})
	}
	if now.resources[uri] != nil {
		return nil
	}
	if now.elsewhere.Elsewhere == nil {
		return notFound(&mcp.ReadResourceParams{URI: uri, Meta: req.Params.Meta})
	}
	s.sweep()
	w := &s.watching
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[string]*watched{}
	}
	if w.all[uri] == nil {
		caller := callerOf(req.ClientInfo())
		stop, err := now.elsewhere.Watch(ctx, caller, uri, func() { s.updated(uri) })
		if err != nil {
			return s.elsewhereError(ctx, "subscribe to "+uri, err)
		}
		w.all[uri] = &watched{by: map[*mcp.ServerSession]int{}, stop: stop}
	}
	w.all[uri].by[req.Session]++
	return nil
}

func (s *Server) unsubscribe(_ context.Context, req *mcp.UnsubscribeRequest) error {
	w := &s.watching
	w.mu.Lock()
	one, stop := w.all[req.Params.URI], func() {}
	if one != nil {
		if one.by[req.Session]--; one.by[req.Session] <= 0 {
			delete(one.by, req.Session)
		}
		stop = w.end(req.Params.URI, one)
	}
	w.mu.Unlock()
	stop()
	return nil
}

// sweep ends the subscriptions whose sessions have all ended.
func (s *Server) sweep() {
	here, w := slices.Collect(s.sdk.Sessions()), &s.watching
	var stops []func()
	w.mu.Lock()
	for uri, one := range w.all {
		for session := range one.by {
			if !slices.Contains(here, session) {
				delete(one.by, session)
			}
		}
		stops = append(stops, w.end(uri, one))
	}
	w.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
}

// end removes a URI without subscribers and returns its stop function. stop may
// take as long as the other server, so the caller, which holds w.mu, calls it
// only after releasing that lock.
func (w *watching) end(uri string, one *watched) (stop func()) {
	if len(one.by) > 0 {
		return func() {}
	}
	delete(w.all, uri)
	if one.stop == nil {
		return func() {}
	}
	return one.stop
}

func (s *Server) updated(uri string) {
	if err := s.sdk.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
		s.opts.Logger.Debug("cannot send a resource change", slog.String("uri", uri), slog.Any("error", err))
	}
}
