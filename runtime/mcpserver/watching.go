package mcpserver

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// watching are the resources of other servers that clients have subscribed to:
// for each URI, which sessions, and how to end it. The SDK knows whom to tell; it
// does not say when a session has ended without unsubscribing, so those are swept
// out when somebody else subscribes.
type watching struct {
	mu  sync.Mutex
	all map[string]*watched
}

type watched struct {
	by   map[*mcp.ServerSession]int
	stop func() // nil: nobody tells of changes
}

// subscribe notes that a session wants to hear of changes of a resource. One of
// our own, or of a server that does not tell, never changes.
func (s *Server) subscribe(ctx context.Context, req *mcp.SubscribeRequest) error {
	uri, now := req.Params.URI, s.current.Load()
	if now.resources[uri] != nil {
		return nil
	}
	if now.elsewhere.Elsewhere == nil {
		return notFound(&mcp.ReadResourceParams{URI: uri, Meta: req.Params.Meta})
	}
	w := &s.watching
	w.mu.Lock()
	defer w.mu.Unlock()
	s.sweep()
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
	defer w.mu.Unlock()
	one := w.all[req.Params.URI]
	if one == nil {
		return nil
	}
	if one.by[req.Session]--; one.by[req.Session] <= 0 {
		delete(one.by, req.Session)
	}
	w.end(req.Params.URI, one)
	return nil
}

// sweep ends what only sessions that have ended subscribed to. s.watching.mu is
// held.
func (s *Server) sweep() {
	here := slices.Collect(s.sdk.Sessions())
	for uri, one := range s.watching.all {
		for session := range one.by {
			if !slices.Contains(here, session) {
				delete(one.by, session)
			}
		}
		s.watching.end(uri, one)
	}
}

// end forgets a URI that nobody watches. w.mu is held.
func (w *watching) end(uri string, one *watched) {
	if len(one.by) > 0 {
		return
	}
	delete(w.all, uri)
	if one.stop != nil {
		go one.stop() // which may wait for the other server, within its own bound
	}
}

func (s *Server) updated(uri string) {
	if err := s.sdk.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
		s.opts.Logger.Debug("change of a resource not told", slog.String("uri", uri), slog.Any("error", err))
	}
}
