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

// InView returns the handlers for the form in a view of an MCP client: the inbox's
// handlers for a single question, without list and stream. The view carries the
// requests of the form's script to them.
func (in *Inbox) InView() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /inbox/{id}", in.page(in.one))
	mux.Handle("POST /inbox/{id}", in.page(in.act))
	mux.Handle("POST /inbox/{id}/draft", in.page(in.draft))
	mux.Handle("POST /inbox/{id}/presented", in.page(in.presented))
	mux.Handle("GET /inbox/{id}/changes", in.page(in.changes))
	return mux
}

// longestPoll is how long a request for changes is held. Common clients time out
// after 60 seconds.
const longestPoll = 20 * time.Second

// changed is the answer to a request for changes.
type changed struct {
	Seq    int64   `json:"seq"` // ask for changes after this position
	Events []event `json:"events"`
	// Reset reports that the feed does not go back that far. The question must then
	// be read again.
	Reset bool `json:"reset,omitempty"`
}

// changes returns what happened to a question after a feed position, and waits up
// to wait milliseconds for it. Without a position, it returns the current position.
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
	wait, _ := strconv.Atoi(r.FormValue("wait")) // 0 means no waiting
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

// watch waits for changes of one question. It returns none on a timeout or when
// this process is stopping.
func (in *Inbox) watch(ctx context.Context, hub *elicit.Hub, id string, after int64, wait time.Duration) ([]elicit.Change, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(in.stopped, cancel)()
	watcher, err := hub.Watch(ctx, after, id)
	if err != nil {
		return nil, err
	}
	defer watcher.Close()
	// With less time, a watcher may time out before it returns the existing
	// changes.
	waiting, end := context.WithTimeout(ctx, max(wait, 50*time.Millisecond))
	defer end()
	list, err := watcher.Next(waiting)
	if err != nil && (waiting.Err() != nil || errors.Is(err, store.ErrClosed)) {
		return nil, nil
	}
	return list, err
}
