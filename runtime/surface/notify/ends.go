package notify

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// End is the end of an attempt's run.
type End struct {
	// ID is unique for the run; it is notified once.
	ID string
	// Title is what ended, and Body how. URL is the attempt's page; it may be empty.
	Title, Body, Asker, Place, URL string
	Failed                         bool
}

// RunEnds notifies people of ends until ctx ends. In quiet hours it sends nothing, and
// afterwards one message for all ends. Of the options, it does not use Hub, Page and
// Choices.
func RunEnds(ctx context.Context, o Options, ends <-chan End) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Retry == nil {
		o.Retry = usualRetry
	}
	n := &notifier{Options: o}
	defer n.sending.Wait()
	for held := 0; ; {
		var over <-chan time.Time
		if held > 0 {
			over = time.After(max(n.Quiet.left(time.Now()), time.Millisecond))
		}
		select {
		case <-ctx.Done():
			return
		case e := <-ends:
			first, err := n.First(ctx, "notify/"+e.ID, time.Now().Add(told))
			switch {
			case err != nil:
				n.Log.Warn("cannot send a notification", "id", e.ID, "error", err)
			case !first:
			case n.Quiet.left(time.Now()) > 0:
				held++
			default:
				n.send(ctx, e.message())
			}
		case <-over:
			if n.Quiet.left(time.Now()) <= 0 {
				n.send(ctx, heldEnds(held))
				held = 0
			}
		}
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
	m := Message{Event: EndEvent, Title: plain(e.Title), Body: plain(e.Body), Asker: plain(e.Asker), Place: plain(e.Place), Priority: elicit.Low, URL: e.URL}
	if e.Failed {
		m.Priority = elicit.Normal
	}
	m.Text = strings.TrimSpace(m.Title + "\n" + m.Body + "\n" + m.URL)
	return m
}
