// Package notify notifies people of new questions: on their desktop, on a phone
// through ntfy, in Microsoft Teams or Discord, or through a webhook or a command.
// It collects no answers itself. A notification links to the question's page, and
// to answers that take one press.
//
// It stores messages in the outbox, from where any process of the installation that
// has the same hook sends them.
package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/outbox"
	"github.com/deskhand/deskhand/runtime/store"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Message is the message that a hook delivers to a person. Commands and
// webhooks get it as JSON.
type Message struct {
	// Event is EndEvent if an attempt ended, OverEvent if a question ended, and empty for
	// open questions.
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
	Path     string          `json:"path,omitempty"` // the path of an attempt's page; hooks do not get it

	key string // the same if the message is sent again
}

// Key returns a text that is the same if the message is sent again, and another for each
// message.
func (m Message) Key() string { return m.key }

// Values of [Message.Event].
const (
	EndEvent  = "attempt_ended"
	OverEvent = "question_ended"
)

// Choice is an answer that takes one press; URL accepts a POST.
type Choice struct {
	Label string `json:"label"`
	URL   string `json:"url"`
}

// Options configure a notifier.
type Options struct {
	// Hub and Box are required.
	Hub   *elicit.Hub
	Box   *outbox.Box
	Hooks []Hook
	Quiet Quiet
	// Page and Choices return a question's links. For an empty ID, Page returns the
	// inbox.
	Page    func(id string) string
	Choices func(r *elicit.Request) []Choice
	// People returns the people whom a new question is for, and Personal the messages to
	// one of them, for example a mail. Either may be nil.
	People   func(ctx context.Context, r *elicit.Request) ([]string, error)
	Personal func(ctx context.Context, r *elicit.Request, a Announcement) ([]outbox.New, error)
	// FollowUp reports whether a second message says how a question ended, if the first one
	// cannot be edited.
	FollowUp bool
	// Follow lists ways of Personal that can have a second message.
	Follow []string
	// Log receives problems. If it is nil, they are discarded.
	Log *slog.Logger
}

// Announcement says who is notified of an open question, and why.
type Announcement struct {
	// Person is who is notified. If empty, the hooks are, which all people share.
	Person string
	// Once makes the announcement unique among those of its question. If empty, it is the
	// first one.
	Once string
	// Lead says why the person is notified again, for example "Reminder". It is empty in the
	// first announcement.
	Lead string
	// Due is when it is sent; zero: now.
	Due time.Time
}

// Reason returns the reason in the outbox.
func (a Announcement) Reason() string {
	if a.Lead == "" {
		return "asked"
	}
	return textutil.Shorten(a.Lead, 100)
}

// OnceFor returns the text that makes the announcement unique.
func (a Announcement) OnceFor(r *elicit.Request) string { return r.ID + "/" + cmp.Or(a.Once, "asked") }

// sinceStart is the maximum age of an open question that a starting notifier announces. Each
// question is announced once, also if the process that would have announced it was killed.
const sinceStart = 24 * time.Hour

// Run notifies people of new questions until ctx ends or the store is closed.
// In quiet hours, it announces only urgent questions. After quiet hours, it
// announces the other questions in one message. If the store cannot be read, it
// retries.
func Run(ctx context.Context, o Options) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	n := &notifier{Options: o, held: map[string]elicit.Context{}}
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
	held map[string]elicit.Context // questions to announce when quiet hours end, by ID
	over time.Time                 // when the quiet hours of the held questions end
}

func (n *notifier) follow(ctx context.Context) error {
	if err := n.catchUp(ctx); err != nil {
		return err
	}
	list, err := n.Hub.List(ctx, elicit.Filter{Limit: 1000})
	if err != nil {
		return err
	}
	for i := range list.Requests {
		if r := &list.Requests[i]; r.Status == elicit.Open && time.Since(r.CreatedAt.Time) < sinceStart {
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
			case elicit.CompletedBy, elicit.Withdrawn, elicit.Removed, elicit.TimeUp, elicit.Outlived:
				n.ended(ctx, c.Action.RequestID)
			}
		}
	}
}

// catchUp ends the messages about questions that ended while no notifier ran.
func (n *notifier) catchUp(ctx context.Context) error {
	requests, err := n.Box.Unclosed(ctx)
	for _, id := range requests {
		n.ended(ctx, id)
	}
	return err
}

// ended tells the receivers of messages about a question that it has ended, if it has.
func (n *notifier) ended(ctx context.Context, id string) {
	r, err := n.Hub.Get(ctx, id)
	if err == nil && r.Status != elicit.Completed {
		return
	}
	delete(n.held, id)
	if unknown := new(elicit.Rejection); err != nil && !errors.As(err, &unknown) {
		n.Log.Warn("cannot read a question", "elicitationId", id, "error", err)
		return
	}
	if err := Over(ctx, n.Options, id, &r); err != nil && ctx.Err() == nil {
		n.Log.Warn("cannot store a notification", "elicitationId", id, "error", err)
	}
}

// next waits for changes. If questions are held, it also waits for the end of
// quiet hours.
func (n *notifier) next(ctx context.Context, w *elicit.Watcher) ([]elicit.Change, error) {
	if len(n.held) == 0 {
		return w.Next(ctx)
	}
	wait, cancel := context.WithTimeout(ctx, max(n.Quiet.Left(time.Now()), time.Millisecond))
	defer cancel()
	changes, err := w.Next(wait)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		if n.Quiet.Left(time.Now()) <= 0 {
			n.digest(ctx)
		}
		return nil, nil
	}
	return changes, err
}

// tell announces a question. In quiet hours, hooks hold it until they end, and messages to
// people wait in the outbox.
func (n *notifier) tell(ctx context.Context, r *elicit.Request) {
	var all []Announcement
	due := time.Time{}
	if left := n.Quiet.Left(time.Now()); r.Priority != elicit.Urgent && left > 0 {
		if len(n.held) == 0 {
			n.over = time.Now().Add(left)
		}
		n.held[r.ID], due = r.Context, time.Now().Add(left)
	} else {
		all = append(all, Announcement{})
	}
	var err error
	if n.People != nil {
		var people []string
		people, err = n.People(ctx, r)
		for _, name := range people {
			all = append(all, Announcement{Person: name, Due: due})
		}
	}
	if err == nil {
		err = Announce(ctx, n.Options, r, all...)
	}
	if err != nil && ctx.Err() == nil {
		n.Log.Warn("cannot store a notification", "elicitationId", r.ID, "error", err)
	}
}

// Announce stores messages about an open question. What is announced already, by whatever
// process, is not announced again.
func Announce(ctx context.Context, o Options, r *elicit.Request, list ...Announcement) error {
	var all []outbox.New
	for _, a := range list {
		one, err := o.messages(ctx, r, a)
		if err != nil {
			return err
		}
		for i := range one {
			one[i].Due = a.Due
		}
		all = append(all, one...)
	}
	_, err := o.Box.Put(ctx, all...)
	return err
}

// messages returns the messages of an announcement.
func (n Options) messages(ctx context.Context, r *elicit.Request, a Announcement) (all []outbox.New, err error) {
	if a.Person != "" {
		if n.Personal == nil {
			return nil, nil
		}
		return n.Personal(ctx, r, a)
	}
	m := n.message(r)
	if a.Lead != "" {
		m.Title, m.Text = plain(a.Lead+": "+m.Title), a.Lead+": "+m.Text
	}
	for _, h := range n.Hooks {
		if !h.tells(r.Context.ProjectID, r.Context.Project) {
			continue
		}
		one, err := h.stored(a.OnceFor(r), m, a.Reason())
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// stored returns a message to a hook as it is stored.
func (h Hook) stored(once string, m Message, reason string) (outbox.New, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return outbox.New{}, fmt.Errorf("encode notification: %w", err)
	}
	return outbox.New{Once: h.name + "/" + h.id + "/" + once, Way: h.name, Target: h.id, To: h.receiver(), Request: m.ID, Reason: reason, Body: body}, nil
}

// Over drops the messages about a question that has ended, and stores messages that say so
// for receivers of the others. r may be the zero value if the question was deleted.
func Over(ctx context.Context, o Options, id string, r *elicit.Request) error {
	return o.Box.Over(ctx, id, func(sent outbox.Message) *outbox.New {
		one := &outbox.New{Once: sent.ID, Way: sent.Way, Target: sent.Target, To: sent.To, Request: id, Reason: outbox.Ended}
		for _, way := range o.Follow {
			if way == sent.Way && o.FollowUp {
				one.Body = sent.Body
				return one
			}
		}
		for _, h := range o.Hooks {
			if h.name != sent.Way || h.id != sent.Target || !(h.edit != nil && sent.Remote != "") && !(h.follows && o.FollowUp) {
				continue
			}
			var m Message
			if json.Unmarshal(sent.Body, &m) != nil {
				return nil
			}
			body, err := json.Marshal(m.over(r))
			if err != nil {
				return nil
			}
			one.Body = body
			return one
		}
		return nil
	})
}

// over returns the message about the end of a question. It does not contain the answer.
func (m Message) over(r *elicit.Request) Message {
	how := "deleted"
	if r.Completion != nil {
		how = plain(r.Completion.Words())
	}
	m.Event, m.Answers = OverEvent, nil
	m.Body = strings.ToUpper(how[:1]) + how[1:]
	m.Text = m.Title + "\n" + m.Body
	return m
}

// Ways returns the senders of messages to hooks.
func Ways(hub *elicit.Hub, hooks []Hook) (all []outbox.Way) {
	for _, h := range hooks {
		all = append(all, outbox.Way{Name: h.name, Target: h.id, Send: func(ctx context.Context, stored outbox.Message) (string, error) {
			var m Message
			if err := json.Unmarshal(stored.Body, &m); err != nil {
				return "", outbox.Final(fmt.Errorf("read notification: %w", err))
			}
			if m.key = stored.ID; stored.Request != "" && m.Event == "" {
				if err := StillOpen(ctx, hub, stored.Request); err != nil {
					return "", err
				}
			}
			return h.deliver(ctx, m, stored.Remote)
		}})
	}
	return all
}

// StillOpen returns [outbox.ErrOver] if a question has ended.
func StillOpen(ctx context.Context, hub *elicit.Hub, id string) error {
	r, err := hub.Get(ctx, id)
	if rejected := new(elicit.Rejection); errors.As(err, &rejected) || err == nil && r.Status == elicit.Completed {
		return outbox.ErrOver
	}
	return err
}

// digest announces all held questions in one message.
func (n *notifier) digest(ctx context.Context) {
	var all []outbox.New
	for _, h := range n.Hooks {
		count := 0
		for id, c := range n.held { // a process that starts later does not announce them
			if h.tells(c.ProjectID, c.Project) {
				count++
				all = append(all, outbox.New{Once: h.name + "/" + h.id + "/" + id + "/asked", Way: h.name, Target: h.id, To: h.receiver(), Reason: "asked", Done: true})
			}
		}
		if count == 0 {
			continue
		}
		text := fmt.Sprintf("%d questions are waiting for you", count)
		if count == 1 {
			text = "1 question is waiting for you"
		}
		m := Message{Title: text, Body: "They arrived during quiet hours.", Text: text, Priority: elicit.Normal, URL: n.Page("")}
		one, err := h.stored("quiet/"+n.over.UTC().Format("2006-01-02T15:04"), m, "quiet hours")
		if err != nil {
			n.Log.Warn("cannot store a notification", "error", err)
			return
		}
		all = append(all, one)
	}
	if _, err := n.Box.Put(ctx, all...); err != nil && ctx.Err() == nil {
		n.Log.Warn("cannot store a notification", "error", err)
		return // the next change tries again
	}
	clear(n.held)
}

// message describes a question.
func (n Options) message(r *elicit.Request) Message {
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
	if said := plain(r.Message); r.Proposal == nil && said != "" && said != plain(r.Heading()) {
		m.Body = said + "\n" + m.Body
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
