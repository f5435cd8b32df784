package notify

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// A hook that cannot be reached is retried. A hook that refuses is not.
func TestAHookThatIsAwayIsTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		answers []int
		want    int64
	}{
		"away twice":       {[]int{503, 429, 200}, 3},
		"there":            {[]int{200}, 1},
		"refused":          {[]int{403, 200}, 1},
		"away for ever":    {[]int{503, 503, 503, 503, 503, 503}, 4},
		"moved elsewhere":  {[]int{302, 200}, 1},
		"slow to be there": {[]int{408, 200}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.answers[calls.Add(1)-1])
			}))
			defer server.Close()
			n := &notifier{Options: Options{Retry: []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}, Log: discard}}
			err := n.deliver(t.Context(), hook(t, "webhook:"+server.URL+"/hook"), Message{Title: "Deploy"})
			last := c.answers[c.want-1]
			if calls.Load() != c.want || (err == nil) != (last == 200) {
				t.Errorf("deliver = %v after %d calls, want %d calls and the end %d", err, calls.Load(), c.want, last)
			}
		})
	}
}

// A question that has been answered in the meantime is not sent again.
func TestAnEndedQuestionIsNotToldAgain(t *testing.T) {
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(503)
	}))
	defer server.Close()
	hub := runs(t, Options{})
	r := ask(t, hub, "Deploy", "")
	if _, err := hub.Dispatch(t.Context(), cancelled(r.ID)); err != nil {
		t.Fatal(err)
	}
	n := &notifier{Options: Options{Hub: hub, Retry: []time.Duration{time.Millisecond, time.Millisecond}, Log: discard}}
	if err := n.deliver(t.Context(), hook(t, "webhook:"+server.URL), Message{ID: r.ID}); err != nil || calls.Load() != 1 {
		t.Errorf("deliver = %v after %d calls, want one", err, calls.Load())
	}
}

var discard = slog.New(slog.DiscardHandler)

func cancelled(id string) elicit.Action {
	return elicit.Action{Type: elicit.CompletedBy, RequestID: id, Response: elicit.Cancel}
}
