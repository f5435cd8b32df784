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

// InView returns the form for a view of an MCP client: the inbox's handlers for
// a single question, without list and stream. The form's script reaches them
// through whatever carries its requests.
func (in *Inbox) InView() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /inbox/{id}", in.page(in.one))
	mux.Handle("POST /inbox/{id}", in.page(in.act))
	mux.Handle("POST /inbox/{id}/draft", in.page(in.draft))
	mux.Handle("POST /inbox/{id}/presented", in.page(in.presented))
	mux.Handle("GET /inbox/{id}/changes", in.page(in.changes))
	return mux
}

// longestPoll bounds how long a request for changes is held: under the 60
// seconds after which common clients give up.
const longestPoll = 20 * time.Second

// changed is the answer to a request for changes.
type changed struct {
	Seq    int64   `json:"seq"` // ask for what comes after this
	Events []event `json:"events"`
	// Reset says that the feed does not go back that far: read the question again.
	Reset bool `json:"reset,omitempty"`
}

// changes returns what happened to a question after a place in the feed, and
// waits for it at most wait milliseconds. Without a place it says where the feed
// is now.
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
	wait, _ := strconv.Atoi(r.FormValue("wait")) // 0: only look
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

// watch waits for changes of one question; none: there were none in time, or
// this process stops.
func (in *Inbox) watch(ctx context.Context, hub *elicit.Hub, id string, after int64, wait time.Duration) ([]elicit.Change, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(in.stopped, cancel)()
	watcher, err := hub.Watch(ctx, after, id)
	if err != nil {
		return nil, err
	}
	defer watcher.Close()
	// A watcher whose time is up before it has looked says nothing of what is
	// there already.
	waiting, end := context.WithTimeout(ctx, max(wait, 50*time.Millisecond))
	defer end()
	list, err := watcher.Next(waiting)
	if err != nil && (waiting.Err() != nil || errors.Is(err, store.ErrClosed)) {
		return nil, nil
	}
	return list, err
}
