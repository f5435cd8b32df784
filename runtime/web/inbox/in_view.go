package inbox

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
)

// InView returns the handlers for the form in a view of an MCP client. They are
// the inbox's handlers for a single question, without the list and the stream.
// The view passes the requests of the form's script to them.
func (in *Inbox) InView() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /inbox/{id}", in.page(in.one))
	mux.Handle("POST /inbox/{id}", in.page(in.act))
	mux.Handle("POST /inbox/{id}/draft", in.page(in.draft))
	mux.Handle("POST /inbox/{id}/presented", in.page(in.presented))
	mux.Handle("GET /inbox/{id}/changes", in.page(in.changes))
	return mux
}

// longestPoll is the maximum time that a request for changes is held. Common
// clients time out after 60 seconds.
const longestPoll = 20 * time.Second

// changed is the answer to a request for changes.
type changed struct {
	Seq    int64   `json:"seq"` // position after which to ask for more changes
	Events []event `json:"events"`
	// Reset reports whether the feed no longer contains the events after the
	// requested position. The question must then be read again.
	Reset bool `json:"reset,omitempty"`
}

// changes returns the changes of a question after a feed position. If there are
// none, it waits for a change, up to wait milliseconds. Without a position, it
// returns the current position.
func (in *Inbox) changes(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	id := r.PathValue("id")
	out := changed{Events: []event{}}
	after, err := strconv.ParseInt(r.FormValue("after"), 10, 64)
	if err != nil {
		_, out.Seq, err = hub.GetAt(r.Context(), id)
		if err == nil {
			in.json(w, http.StatusOK, out)
		}
		return err
	}
	wait, _ := strconv.Atoi(r.FormValue("wait")) // if missing or invalid, do not wait
	list, err := in.watch(r.Context(), hub, id, after, min(time.Duration(max(wait, 0))*time.Millisecond, longestPoll))
	if errors.Is(err, store.ErrGone) {
		out.Reset = true
		_, out.Seq, err = hub.GetAt(r.Context(), id)
	} else {
		out.Seq = after
	}
	if err != nil {
		return err
	}
	for _, c := range list {
		out.Seq = c.Seq
		out.Events = append(out.Events, in.eventOf(c.Action))
	}
	in.json(w, http.StatusOK, out)
	return nil
}

// watch waits for changes of one question. It returns no changes on a timeout,
// or if this process is stopping.
func (in *Inbox) watch(ctx context.Context, hub *elicit.Hub, id string, after int64, wait time.Duration) ([]elicit.Change, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(in.stopped, cancel)()
	watcher, err := hub.Watch(ctx, after, id)
	if err != nil {
		return nil, err
	}
	defer watcher.Close()
	// With a shorter timeout, a watcher might time out before it returns the
	// existing changes.
	waiting, end := context.WithTimeout(ctx, max(wait, 50*time.Millisecond))
	defer end()
	list, err := watcher.Next(waiting)
	if err != nil && (waiting.Err() != nil || errors.Is(err, store.ErrClosed)) {
		return nil, nil
	}
	return list, err
}
