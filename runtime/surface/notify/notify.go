// Package notify notifies people of new questions: on their desktop, on a phone
// through ntfy, or through a webhook or a command. It collects no answers
// itself. A notification links to the question's page, and to answers that take
// one press.
package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Message is the message that a hook delivers to a person. Commands and
// webhooks get it as JSON.
type Message struct {
	// Event is EndEvent if an attempt ended, and empty for questions.
	Event    string          `json:"event,omitempty"`
	ID       string          `json:"id,omitempty"` // ID of the question; empty if there are several
	Title    string          `json:"title"`
	Body     string          `json:"body"`
	Text     string          `json:"text"` // title and body in one string, for chat webhooks
	Asker    string          `json:"asker,omitempty"`
	Place    string          `json:"place,omitempty"`
	Priority elicit.Priority `json:"priority"`
	Deadline elicit.Time     `json:"deadline,omitzero"`
	URL      string          `json:"url,omitempty"` // the page's URL
	Answers  []Choice        `json:"answers,omitempty"`
}

// EndEvent is the [Message.Event] of an attempt that ended.
const EndEvent = "attempt_ended"

// Choice is an answer that takes one press; URL accepts a POST.
type Choice struct {
	Label string `json:"label"`
	URL   string `json:"url"`
}

// Options configure a Notifier. Hub and First are required.
type Options struct {
	Hub   *elicit.Hub
	Hooks []Hook
	Quiet Quiet
	// First reports whether this is the first call with id, by any process that
	// uses the store. Each question is therefore notified only once.
	First func(ctx context.Context, id string, until time.Time) (bool, error)
	// Page and Choices return a question's links. For an empty ID, Page returns the
	// inbox.
	Page    func(id string) string
	Choices func(r *elicit.Request) []Choice
	// Log receives failed deliveries. If it is nil, they are discarded.
	Log *slog.Logger
	// Retry holds the pauses before a message is sent again. A message is sent
	// again if a hook was unavailable or busy. If Retry is nil, the pauses are
	// 1 s, 5 s, 25 s and 2 minutes.
	Retry []time.Duration
}

// Limits of a notifier.
const (
	deliverIn = 15 * time.Second
	// sinceStart is the maximum age of an open question that a starting
	// notifier still announces. Such questions exist, for example, after a
	// crash.
	sinceStart = time.Minute
	// told is how long a notifier remembers which questions it has announced.
	told = 24 * time.Hour
)

var usualRetry = []time.Duration{time.Second, 5 * time.Second, 25 * time.Second, 2 * time.Minute}

// Run notifies people of new questions until ctx ends or the store is closed.
// In quiet hours, it announces only urgent questions. After quiet hours, it
// announces the other questions in one message. If the store cannot be read, it
// retries.
func Run(ctx context.Context, o Options) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Retry == nil {
		o.Retry = usualRetry
	}
	n := &notifier{Options: o, held: map[string]bool{}}
	defer n.sending.Wait()
	for {
		err := n.follow(ctx)
		switch {
		case ctx.Err() != nil || errors.Is(err, store.ErrClosed):
			return
		case errors.Is(err, store.ErrGone): // the notifier is too far behind and starts again from the current state
			continue
		}
		n.Log.Warn("cannot follow new questions", "error", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

type notifier struct {
	Options
	sending sync.WaitGroup
	held    map[string]bool // IDs of questions to announce when quiet hours end
}

func (n *notifier) follow(ctx context.Context) error {
	list, err := n.Hub.List(ctx, elicit.Filter{Limit: 1000})
	if err != nil {
		return err
	}
	for i := range list.Requests {
		if r := &list.Requests[i]; time.Since(r.CreatedAt.Time) < sinceStart {
			n.tell(ctx, r)
		}
	}
	w, err := n.Hub.Watch(ctx, list.Seq, "")
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		changes, err := n.next(ctx, w)
		if err != nil {
			return err
		}
		for _, c := range changes {
			switch c.Action.Type {
			case elicit.Requested:
				if r, err := n.Hub.Get(ctx, c.Action.RequestID); err == nil && r.Status == elicit.Open {
					n.tell(ctx, &r)
				}
			case elicit.CompletedBy, elicit.Withdrawn, elicit.Removed:
				delete(n.held, c.Action.RequestID)
			}
		}
	}
}

// next waits for changes. If questions are held, it also waits for the end of
// quiet hours.
func (n *notifier) next(ctx context.Context, w *elicit.Watcher) ([]elicit.Change, error) {
	if len(n.held) == 0 {
		return w.Next(ctx)
	}
	wait, cancel := context.WithTimeout(ctx, max(n.Quiet.left(time.Now()), time.Millisecond))
	defer cancel()
	changes, err := w.Next(wait)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		if n.Quiet.left(time.Now()) <= 0 {
			n.digest(ctx)
		}
		return nil, nil
	}
	return changes, err
}

// tell sends a question to all hooks. It does so only once, even if several
// processes use the store.
func (n *notifier) tell(ctx context.Context, r *elicit.Request) {
	if r.Priority != elicit.Urgent && n.Quiet.left(time.Now()) > 0 {
		n.held[r.ID] = true
		return
	}
	first, err := n.First(ctx, "notify/"+r.ID, time.Now().Add(told))
	if err != nil {
		n.Log.Warn("cannot send a notification", "elicitationId", r.ID, "error", err)
	}
	if err == nil && first {
		n.send(ctx, n.message(r))
	}
}

// digest announces all held questions in one message.
func (n *notifier) digest(ctx context.Context) {
	count := 0
	for id := range n.held {
		if first, err := n.First(ctx, "notify/"+id, time.Now().Add(told)); err == nil && first {
			count++
		}
		delete(n.held, id)
	}
	if count == 0 {
		return
	}
	text := fmt.Sprintf("%d questions are waiting for you", count)
	if count == 1 {
		text = "1 question is waiting for you"
	}
	n.send(ctx, Message{Title: text, Body: "They arrived during quiet hours.", Text: text, Priority: elicit.Normal, URL: n.Page("")})
}

func (n *notifier) message(r *elicit.Request) Message {
	title, _, _ := strings.Cut(strings.TrimSpace(r.Heading()), "\n")
	asker := r.Source.Name
	if asker == "" {
		asker = "someone"
	}
	m := Message{ID: r.ID, Title: plain(title), Asker: plain(asker), Place: plain(r.Place()), Priority: r.Priority, Deadline: r.Deadline,
		URL: n.Page(r.ID)}
	for _, c := range n.Choices(r) {
		m.Answers = append(m.Answers, Choice{plain(c.Label), c.URL})
	}
	m.Body = "asked by " + m.Asker
	if m.Place != "" {
		m.Body += ", " + m.Place
	}
	if len(r.Questions) == 1 {
		m.Body = strings.TrimPrefix(about(r)+"\n"+m.Body, "\n")
	}
	if p := r.Proposal; p != nil {
		shown := plain(p.Text)
		if warning := p.Warning(); warning != "" {
			m.Body = warning + "\n" + m.Body
		}
		if m.Body = shown + "\n" + m.Body; shown != p.Text {
			m.Answers = nil // a person must not allow a proposal that is not shown in full
		}
	}
	m.Text = strings.TrimSpace(m.Title + "\n" + m.Body + "\n" + m.URL)
	return m
}

// about returns the text of the request's only question, unless the heading
// says the same. If an option has a description, about also returns the
// options.
func about(r *elicit.Request) string {
	q := &r.Questions[0]
	var lines, options []string
	if text := q.Beside(r.Heading()); text != "" {
		lines = append(lines, text)
	}
	said := false
	for i := range q.Options {
		o := &q.Options[i]
		options, said = append(options, "- "+o.Says()), said || o.Says() != o.Label
	}
	if said {
		lines = append(lines, options...)
	}
	return plain(strings.Join(lines, "\n"))
}

// plain removes characters that are not text, and truncates text that is too
// long for a notification.
func plain(s string) string {
	const most = 400
	return textutil.Shorten(textutil.Plain(s), most)
}

// send delivers a message to all hooks concurrently, so that a slow hook does
// not delay the others.
func (n *notifier) send(ctx context.Context, m Message) {
	for _, h := range n.Hooks {
		n.sending.Go(func() {
			if err := n.deliver(ctx, h, m); err != nil {
				n.Log.Warn("gave up on a notification", "hook", h.Name(), "elicitationId", m.ID, "error", err)
			}
		})
	}
}

// deliver sends a message to one hook. If the hook is unavailable or busy, deliver
// retries until the question has ended.
func (n *notifier) deliver(ctx context.Context, h Hook, m Message) error {
	for _, pause := range append(slices.Clone(n.Retry), -1) {
		err := func() error {
			ctx, cancel := context.WithTimeout(ctx, deliverIn)
			defer cancel()
			return h.deliver(ctx, m)
		}()
		if err == nil || pause < 0 || !errors.Is(err, errAway) {
			return err
		}
		n.Log.Info("a notification failed; will retry", "hook", h.Name(), "elicitationId", m.ID, "in", pause, "error", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		if m.ID != "" {
			if r, err := n.Hub.Get(ctx, m.ID); err == nil && r.Status != elicit.Open {
				return nil // the question has ended, so nobody needs to be told
			}
		}
	}
	return nil
}
