package gateway

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// watchers holds functions to call when an upstream's resources change, by the
// upstream's URIs. The upstream gets one subscription for each URI.
type watchers struct {
	mu   sync.Mutex
	by   map[string]map[int]func()
	last int
}

// maxWatched is how many of one upstream's resources can be watched.
const maxWatched = 1000

// watch subscribes to an upstream's resource.
func (r *routes) watch(ctx context.Context, caller contract.Caller, uri string, changed func()) (stop func(), err error) {
	u, original := r.to(uri)
	if u == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	if usable, err := u.usable(ctx); err != nil || usable == nil && u.Scope != NoScope {
		return nil, err // a subscription is not worth a sign-in request
	}
	id, begun, err := u.watchers.add(original, changed)
	if err != nil {
		return nil, err
	}
	stop = func() {
		if u.watchers.remove(original, id) {
			u.unsubscribe(original)
		}
	}
	if begun {
		return stop, nil
	}
	tells := false
	_, err = u.fetch(ctx, caller, textutil.Shorten(uri, 200), func(ctx context.Context, s *session) (json.RawMessage, error) {
		if tells = s.tellsChanges(); !tells {
			return nil, nil
		}
		return nil, s.Subscribe(ctx, &mcp.SubscribeParams{URI: original})
	})
	if err != nil || !tells {
		u.watchers.remove(original, id)
		return nil, err
	}
	return stop, nil
}

// tellsChanges reports whether the server's resources can be subscribed to.
func (s *session) tellsChanges() bool {
	opened := s.InitializeResult()
	return opened != nil && opened.Capabilities != nil && opened.Capabilities.Resources != nil && opened.Capabilities.Resources.Subscribe
}

// add adds a watcher for a URI. begun reports whether the URI already had a
// watcher.
func (w *watchers) add(uri string, changed func()) (id int, begun bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[string]map[int]func(){}
	}
	begun = len(w.by[uri]) > 0
	if !begun && len(w.by) >= maxWatched {
		return 0, false, fault.New("too_many", "too many resources of this server are subscribed to", "unsubscribe from others first")
	}
	if !begun {
		w.by[uri] = map[int]func(){}
	}
	w.last++
	w.by[uri][w.last] = changed
	return w.last, begun, nil
}

// remove removes a watcher. The result last reports whether it was the URI's last
// watcher.
func (w *watchers) remove(uri string, id int) (last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by[uri][id] == nil {
		return false
	}
	delete(w.by[uri], id)
	if last = len(w.by[uri]) == 0; last {
		delete(w.by, uri)
	}
	return last
}

func (w *watchers) uris() (all []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for uri := range w.by {
		all = append(all, uri)
	}
	return all
}

// unsubscribe ends the upstream's subscription for a URI, if the upstream is
// connected.
func (u *upstream) unsubscribe(uri string) {
	u.mu.Lock()
	s := u.live
	u.mu.Unlock()
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(u.g.ctx, completeTime)
	defer cancel()
	if err := s.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri}); err != nil {
		u.g.log.Debug("cannot unsubscribe at the upstream", "upstream", u.Name, "error", u.clean(err.Error()))
	}
}

// resubscribe subscribes on a new connection to everything that is watched, and
// notifies all watchers, because the resources may have changed in the meantime.
func (u *upstream) resubscribe(ctx context.Context, s *session) {
	if !s.tellsChanges() {
		return
	}
	for _, uri := range u.watchers.uris() {
		if err := s.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
			u.g.log.Debug("cannot subscribe to the upstream's resource", "upstream", u.Name, "error", u.clean(err.Error()))
		}
		u.updated(uri)
	}
}

// updated notifies all of a URI's watchers.
func (u *upstream) updated(uri string) {
	u.watchers.mu.Lock()
	var all []func()
	for _, changed := range u.watchers.by[uri] {
		all = append(all, changed)
	}
	u.watchers.mu.Unlock()
	for _, changed := range all {
		changed()
	}
}
