package notify

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
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
	// ProjectID is the ID of the project, whose name is Place.
	ProjectID string
}

// RunEnds notifies people of ends until ctx ends. In quiet hours it stores nothing, and
// afterwards one message for all ends. Of the options, it uses Box, Hooks, Quiet and Log.
func RunEnds(ctx context.Context, o Options, ends <-chan End) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	var until time.Time
	for held := map[string]End{}; ; {
		var over <-chan time.Time
		if len(held) > 0 {
			over = time.After(max(o.Quiet.Left(time.Now()), time.Millisecond))
		}
		select {
		case <-ctx.Done():
			return
		case e := <-ends:
			if left := o.Quiet.Left(time.Now()); left > 0 {
				held[e.ID], until = e, time.Now().Add(left)
				continue
			}
			o.store(ctx, e.ID, e)
		case <-over:
			if o.Quiet.Left(time.Now()) <= 0 {
				o.store(ctx, quietEnds+until.UTC().Format("2006-01-02T15:04"), slices.Collect(maps.Values(held))...)
				clear(held)
			}
		}
	}
}

// store stores a message about ends to each hook that is told of them.
func (n Options) store(ctx context.Context, once string, ends ...End) {
	var all []outbox.New
	for _, h := range n.Hooks {
		told := slices.DeleteFunc(slices.Clone(ends), func(e End) bool { return !h.tells(e.ProjectID, e.Place) })
		if len(told) == 0 {
			continue
		}
		m := told[0].message()
		if strings.HasPrefix(once, quietEnds) {
			m = heldEnds(len(told))
		}
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

// quietEnds begins the names of messages about ends in quiet hours.
const quietEnds = "quiet-ends/"

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
