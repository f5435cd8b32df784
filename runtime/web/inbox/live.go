package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
)

// heartbeat is the interval at which a stream sends an event even if nothing changes. Proxies
// close a stream that is silent for 30 seconds. The script treats a stream as
// ended after 40 seconds of silence.
const heartbeat = 15 * time.Second

// reset tells the script to reload the page.
const reset = "event: reset\ndata: {}\n\n"

// event is a change in the form in which the script receives it. It contains
// the whole draft, because drafts must be fast. For other changes, the script
// requests the question's current state.
type event struct {
	Type     elicit.ActionType   `json:"type"`
	ID       string              `json:"id"`
	Rev      int64               `json:"rev,omitempty"` // the question's revision after the change
	Question string              `json:"question,omitempty"`
	Fields   map[string][]string `json:"fields,omitempty"`
	Skip     bool                `json:"skip,omitempty"`
	Client   string              `json:"client,omitempty"`
	Where    string              `json:"where,omitempty"`
	Heading  string              `json:"heading,omitempty"` // set for a new question
	Attempt  string              `json:"attempt,omitempty"`
	Asker    string              `json:"asker,omitempty"`
	Priority elicit.Priority     `json:"priority,omitempty"`
}

// events streams the feed. It starts after the last event that the page or the
// script has seen.
func (in *Inbox) events(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	seq, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	if err != nil {
		seq, _ = strconv.ParseInt(r.FormValue("after"), 10, 64)
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(in.stopped, cancel)()
	stream := &stream{in: in, w: w, control: http.NewResponseController(w)}
	watcher, err := hub.Watch(ctx, seq, "")
	if errors.Is(err, store.ErrGone) {
		_ = stream.send(reset) // fails only if the window was closed
		return nil
	}
	if err != nil {
		return err
	}
	defer watcher.Close()
	if err := stream.send("retry: 400\n\n"); err != nil {
		return nil // the window was closed
	}
	for {
		wait, end := context.WithTimeout(ctx, heartbeat)
		err := stream.follow(wait, watcher)
		end()
		switch {
		case ctx.Err() != nil, errors.Is(err, store.ErrClosed):
			return nil
		case errors.Is(err, context.DeadlineExceeded):
			if err := stream.send("event: beat\ndata: 1\n\n"); err != nil {
				return nil
			}
		case errors.Is(err, store.ErrGone): // the watcher is too far behind, or a crash lost what the window shows
			_ = stream.send(reset) // fails only if the window was closed
			return nil
		default: // the window was closed, or the feed cannot be read, and the window connects again
			return nil
		}
	}
}

// stream writes events to one window. If the window does not read them, the
// front closes the connection, so that nothing else has to wait. The window
// then reads the events that it has missed from the store.
type stream struct {
	in      *Inbox
	w       http.ResponseWriter
	control *http.ResponseController
}

func (s *stream) send(text string) error {
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}

// follow sends changes until ctx ends.
func (s *stream) follow(ctx context.Context, watcher *elicit.Watcher) error {
	for {
		changes, err := watcher.Next(ctx)
		if err != nil {
			return err
		}
		if err := s.changes(changes); err != nil {
			return err
		}
	}
}

func (s *stream) changes(changes []elicit.Change) error {
	sent := false
	for _, c := range changes {
		if onNoPage(c.Action.Type) {
			continue
		}
		text, err := s.in.encoder.encode(c, s.in.eventOf)
		if err != nil {
			return err
		}
		if _, err := s.w.Write(text); err != nil {
			return err
		}
		sent = true
	}
	if !sent {
		return nil
	}
	return s.control.Flush()
}

// onNoPage reports whether a change shows on no page.
func onNoPage(t elicit.ActionType) bool {
	return t == elicit.PresentedTo || t == elicit.Collected || t == elicit.AnswerRedacted
}

// encoder encodes each change once for all windows.
type encoder struct {
	mu     sync.Mutex
	recent [64]struct {
		of   changeKey
		text []byte
	}
}

// changeKey identifies a change. After a database was restored to an earlier state, another
// change may have the same number.
type changeKey struct {
	seq    int64
	id     string
	action elicit.ActionType
	at     time.Time
}

func (e *encoder) encode(c elicit.Change, eventOf func(elicit.Action) event) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	slot := &e.recent[c.Seq%int64(len(e.recent))]
	key := changeKey{c.Seq, c.Action.RequestID, c.Action.Type, c.Action.At.Time}
	if slot.of == key {
		return slot.text, nil
	}
	data, err := json.Marshal(eventOf(c.Action))
	if err != nil {
		return nil, err
	}
	slot.of, slot.text = key, fmt.Appendf(nil, "id: %d\ndata: %s\n\n", c.Seq, data)
	return slot.text, nil
}

func (in *Inbox) eventOf(a elicit.Action) event {
	e := event{Type: a.Type, ID: a.RequestID, Rev: a.Rev, Question: a.QuestionID, Client: a.Client, Where: in.placeOf(a.Channel)}
	if a.Answer != nil {
		e.Fields, e.Skip = a.Answer.Value.Fields(a.QuestionID), a.Answer.State == elicit.Skipped
	}
	if r := a.Request; r != nil {
		c := cardOf(&elicit.Request{ID: a.RequestID, Title: r.Title, Message: r.Message, Source: r.Source, Priority: r.Priority}, a.At.Time)
		e.Heading, e.Asker, e.Priority, e.Attempt = c.Heading, c.Asker, r.Priority, r.Context.AttemptID
	}
	return e
}
