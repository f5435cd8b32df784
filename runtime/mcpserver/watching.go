package mcpserver

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/access"
)

// watching holds other servers' resources that clients have subscribed to: for each
// person and URI, the sessions and the function that ends the subscription. The SDK
// knows the sessions of a URI, and onlyTheirs those of a person. The SDK does not report
// that a session ended without unsubscribing, so sweep removes such sessions at the next
// subscription.
type watching struct {
	adding sync.Mutex // held while a subscription begins, which may take as long as the other server

	mu  sync.Mutex
	all map[watchedBy]*watched
}

// watchedBy identifies a watched resource. One URI may be another resource for another
// person. person is empty for callers with a secret of the installation.
type watchedBy struct{ person, uri string }

type watched struct {
	by   map[*mcp.ServerSession]int
	stop func() // nil if no server reports changes
}

// subscribe records that a session wants to be notified of a resource's changes.
// Our own resources, and those of servers that report no changes, never change.
func (s *Server) subscribe(ctx context.Context, req *mcp.SubscribeRequest) error {
	uri, now := req.Params.URI, s.current.Load()
	e := now.elsewhereFor(ctx)
	if !open(ctx, s.resourceScope(uri)) {
		return notFound(&mcp.ReadResourceParams{URI: uri, Meta: req.Params.Meta})
	}
	if now.resources[uri] != nil {
		return nil
	}
	if e.Elsewhere == nil {
		return notFound(&mcp.ReadResourceParams{URI: uri, Meta: req.Params.Meta})
	}
	s.sweep()
	key := watchedBy{access.Of(ctx).Name, uri}
	w := &s.watching
	w.adding.Lock()
	defer w.adding.Unlock()
	if w.join(key, req.Session) {
		return nil
	}
	stop, err := e.Watch(ctx, callerOf(req.ClientInfo()), uri, func() { s.updated(key) })
	if err != nil {
		return s.elsewhereError(ctx, "subscribe to "+uri, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[watchedBy]*watched{}
	}
	w.all[key] = &watched{by: map[*mcp.ServerSession]int{req.Session: 1}, stop: stop}
	return nil
}

// join adds a session to a subscription, and reports whether there is one.
func (w *watching) join(key watchedBy, session *mcp.ServerSession) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.all[key]
	if one != nil {
		one.by[session]++
	}
	return one != nil
}

// has reports whether a session has subscribed.
func (w *watching) has(key watchedBy, session *mcp.ServerSession) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all[key] != nil && w.all[key].by[session] > 0
}

// unsubscribe ends a session's subscription. The SDK calls it with any context, but a session
// belongs to one person.
func (s *Server) unsubscribe(_ context.Context, req *mcp.UnsubscribeRequest) error {
	w := &s.watching
	stop := func() {}
	w.mu.Lock()
	for key, one := range w.all {
		if key.uri == req.Params.URI && one.by[req.Session] > 0 {
			if one.by[req.Session]--; one.by[req.Session] == 0 {
				delete(one.by, req.Session)
			}
			stop = w.end(key, one)
			break
		}
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
	for key, one := range w.all {
		for session := range one.by {
			if !slices.Contains(here, session) {
				delete(one.by, session)
			}
		}
		stops = append(stops, w.end(key, one))
	}
	w.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
}

// end removes a resource without subscribers and returns its stop function. stop may
// take as long as the other server, so the caller, which holds w.mu, calls it
// only after releasing that lock.
func (w *watching) end(key watchedBy, one *watched) (stop func()) {
	if len(one.by) > 0 {
		return func() {}
	}
	delete(w.all, key)
	if one.stop == nil {
		return func() {}
	}
	return one.stop
}

// updatedFor is the key of the Meta with which a notification carries its watchedBy past the
// SDK, which notifies all sessions of a URI.
const updatedFor = "deskhand/watched"

func (s *Server) updated(key watchedBy) {
	note := &mcp.ResourceUpdatedNotificationParams{URI: key.uri, Meta: mcp.Meta{updatedFor: key}}
	if err := s.sdk.ResourceUpdated(context.Background(), note); err != nil {
		s.opts.Logger.Debug("cannot send a resource change", slog.String("uri", key.uri), slog.Any("error", err))
	}
}

// onlyTheirs drops notifications of a resource's change that are for other sessions.
func (s *Server) onlyTheirs(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		note, ok := req.GetParams().(*mcp.ResourceUpdatedNotificationParams)
		if !ok {
			return next(ctx, method, req)
		}
		session, _ := req.GetSession().(*mcp.ServerSession)
		key, _ := note.Meta[updatedFor].(watchedBy)
		if !s.watching.has(key, session) {
			return nil, nil
		}
		sent := *note
		sent.Meta = maps.Clone(note.Meta)
		delete(sent.Meta, updatedFor)
		return next(ctx, method, &mcp.ServerRequest[*mcp.ResourceUpdatedNotificationParams]{Session: session, Params: &sent})
	}
}
