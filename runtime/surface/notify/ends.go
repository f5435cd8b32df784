package notify

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/outbox"
)

// End is the end of an attempt's run.
type End struct {
	// ID is unique for the run; it is notified once.
	ID string
	// Title is what ended, and Body how. URL is the attempt's page; it may be empty.
	Title, Body, Asker, Place, URL string
	// Path is the page's path, without the address of a server.
	Path   string
	Failed bool
}

// RunEnds notifies people of ends until ctx ends. In quiet hours it stores nothing, and
// afterwards one message for all ends. Of the options, it uses Box, Hooks, Quiet and Log.
func RunEnds(ctx context.Context, o Options, ends <-chan End) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	var until time.Time
	for held := map[string]bool{}; ; {
		var over <-chan time.Time
		if len(held) > 0 {
			over = time.After(max(o.Quiet.Left(time.Now()), time.Millisecond))
		}
		select {
		case <-ctx.Done():
			return
		case e := <-ends:
			if left := o.Quiet.Left(time.Now()); left > 0 {
				held[e.ID], until = true, time.Now().Add(left)
				continue
			}
			o.store(ctx, e.ID, e.message())
		case <-over:
			if o.Quiet.Left(time.Now()) <= 0 {
				o.store(ctx, "quiet-ends/"+until.UTC().Format("2006-01-02T15:04"), heldEnds(len(held)))
				clear(held)
			}
		}
	}
}

// store stores a message to all hooks.
func (n Options) store(ctx context.Context, once string, m Message) {
	var all []outbox.New
	for _, h := range n.Hooks {
		one, err := h.stored(once, m, "attempt ended")
		if err != nil {
			n.Log.Warn("cannot store a notification", "id", once, "error", err)
			return
		}
		all = append(all, one)
	}
	if _, err := n.Box.Put(ctx, all...); err != nil && ctx.Err() == nil {
		n.Log.Warn("cannot store a notification", "id", once, "error", err)
	}
}

func heldEnds(n int) Message {
	text := fmt.Sprintf("%d attempts ended during quiet hours", n)
	if n == 1 {
		text = "1 attempt ended during quiet hours"
	}
	return Message{Event: EndEvent, Title: text, Text: text, Priority: elicit.Low}
}

func (e End) message() Message {
	m := Message{Event: EndEvent, Title: plain(e.Title), Body: plain(e.Body), Asker: plain(e.Asker), Place: plain(e.Place), Priority: elicit.Low, URL: e.URL, Path: e.Path}
	if e.Failed {
		m.Priority = elicit.Normal
	}
	m.Text = strings.TrimSpace(m.Title + "\n" + m.Body + "\n" + m.URL)
	return m
}
