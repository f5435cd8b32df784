package slack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	api "github.com/slack-go/slack"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/outbox"
	"github.com/deskhand/deskhand/runtime/store"
)

// leader is the state of the process that holds the lease.
type leader struct {
	*Surface
	api *api.Client

	mu      sync.Mutex
	queue   []string        // requests whose message may have to be updated, in order
	pending map[string]bool // the requests in queue
	wake    chan struct{}   // holds one token
	timers  sync.WaitGroup

	bringing sync.Mutex        // held while a message is brought up to date
	rooms    map[string]string // direct messages by person
}

// retryTime is the pause before a message is tried again if the store cannot be written.
const retryTime = 5 * time.Second

// want adds a request to the queue, so that the request's message is updated.
func (d *leader) want(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.pending[id] {
		d.pending[id] = true
		d.queue = append(d.queue, id)
	}
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// next waits for a queued request. It returns false if ctx has ended.
func (d *leader) next(ctx context.Context) (string, bool) {
	for {
		d.mu.Lock()
		if len(d.queue) > 0 {
			id := d.queue[0]
			d.queue = d.queue[1:]
			delete(d.pending, id)
			d.mu.Unlock()
			return id, ctx.Err() == nil
		}
		d.mu.Unlock()
		select {
		case <-d.wake:
		case <-ctx.Done():
			return "", false
		}
	}
}

// follow queues every request that changes. It begins with all open requests,
// and with requests whose message was left unfinished by another process.
func (d *leader) follow(ctx context.Context) {
	for ctx.Err() == nil {
		if err := d.followOn(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrGone) {
			d.o.Log.Warn("cannot follow requests", "surface", Channel, "error", err)
			pause(ctx, time.Second)
		}
	}
}

func pause(ctx context.Context, t time.Duration) {
	select {
	case <-time.After(t):
	case <-ctx.Done():
	}
}

// visible lists the kinds of changes that are visible in a message.
var visible = []elicit.ActionType{elicit.Requested, elicit.CompletedBy, elicit.Extended, elicit.Reassigned, elicit.Withdrawn, elicit.TimeUp, elicit.Outlived, elicit.Removed}

func (d *leader) followOn(ctx context.Context) error {
	state, err := d.hub.State(ctx, d.db.Now())
	if err != nil {
		return err
	}
	left, err := unfinished(ctx, d.db)
	if err != nil {
		return err
	}
	for id := range state.Requests {
		left = append(left, id)
	}
	slices.Sort(left) // IDs sort by time
	for _, id := range slices.Compact(left) {
		d.want(id)
	}
	w, err := d.hub.Watch(ctx, state.Seq, "")
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		changes, err := w.Next(ctx)
		if err != nil {
			return err
		}
		for _, c := range changes {
			if slices.Contains(visible, c.Action.Type) {
				d.want(c.Action.RequestID)
			}
		}
	}
}

// post updates the messages one after another, because Slack accepts only about
// one message per second and channel.
func (d *leader) post(ctx context.Context) {
	for {
		id, ok := d.next(ctx)
		if !ok {
			return
		}
		d.bringing.Lock()
		err := d.bring(ctx, id)
		d.bringing.Unlock()
		if err == nil {
			err = outbox.In(d.db).Done(ctx, QuestionWay+"/"+id)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		if limited := new(api.RateLimitedError); errors.As(err, &limited) {
			pause(ctx, limited.RetryAfter) // the other messages would be refused as well
		}
		d.o.Log.Warn("cannot post a message", "surface", Channel, "elicitationId", id, "error", err)
		if err := d.later(ctx, id, err); err != nil && ctx.Err() == nil {
			d.o.Log.Warn("cannot store a message", "surface", Channel, "elicitationId", id, "error", err)
			d.timers.Go(func() {
				pause(ctx, retryTime)
				d.want(id)
			})
		}
	}
}

// QuestionWay is the way in the outbox of the messages of questions that could not be brought
// up to date. The process with the lease sends them.
const QuestionWay = "slack question"

// later lets a request's message be brought up to date later, or gives it up if Slack will
// refuse it again.
func (d *leader) later(ctx context.Context, id string, failed error) error {
	return outbox.In(d.db).Failed(context.WithoutCancel(ctx), outbox.New{Once: QuestionWay + "/" + id, Way: QuestionWay, To: d.o.Channel, Request: id, Reason: outbox.Update}, repeated(failed))
}

// retry brings the messages in the outbox up to date until ctx ends.
func (d *leader) retry(ctx context.Context) {
	outbox.In(d.db).Run(ctx, outbox.Options{Log: d.o.Log, Ways: []outbox.Way{{Name: QuestionWay, Send: func(ctx context.Context, m outbox.Message) (string, error) {
		d.bringing.Lock()
		defer d.bringing.Unlock()
		return "", repeated(d.bring(ctx, m.Request))
	}}}})
}

// bring creates or updates one request's message.
func (d *leader) bring(ctx context.Context, id string) error {
	r, err := d.hub.Get(ctx, id)
	if fault.Of(err) != nil {
		return forget(ctx, d.db, id)
	}
	if err != nil {
		return err
	}
	p, there, err := load(ctx, d.db, id)
	if err != nil {
		return err
	}
	if !there && r.Status != elicit.Open || p.final {
		return nil
	}
	m := render(&r)
	says, err := m.digest()
	if err != nil {
		return err
	}
	fresh := false
	if !there {
		to, err := d.o.roomFor(r.Audience.Principal, func(principal string) (bool, error) { return d.hub.Sees(ctx, principal, r.Context.ProjectID) })
		if err != nil || to == "" {
			return err
		}
		channel, err := d.room(ctx, to)
		if err != nil {
			return err
		}
		if p, fresh, err = begin(ctx, d.db, id, channel); err != nil {
			return err
		}
	}
	if p.ts == "" && !fresh {
		if err := d.find(ctx, id, &p); err != nil {
			return err
		}
	}
	switch {
	case p.ts == "" && r.Status == elicit.Completed: // the request has ended before anybody saw it
	case p.ts == "":
		if p.channel, p.ts, err = d.api.PostMessageContext(ctx, p.channel, m.options(id)...); err != nil {
			return fmt.Errorf("post message: %w", err)
		}
	case p.says != says:
		if _, _, _, err := d.api.UpdateMessageContext(ctx, p.channel, p.ts, m.options(id)...); err != nil {
			return fmt.Errorf("update message: %w", err)
		}
	}
	shown := p.says == "" && p.ts != ""
	p.says, p.final = says, r.Status == elicit.Completed
	if err := save(context.WithoutCancel(ctx), d.db, id, p); err != nil {
		return err
	}
	if shown && r.Status != elicit.Completed {
		_, err = d.hub.Dispatch(ctx, elicit.Action{Type: elicit.PresentedTo, RequestID: id, Channel: Channel, Client: p.channel})
		if fault.Of(err) != nil {
			return nil // the request has ended in the meantime
		}
	}
	return err
}

// room returns the ID of the conversation to post to. For a person, it is the
// ID of the direct message, because Slack returns the history only for that ID.
func (d *leader) room(ctx context.Context, to string) (string, error) {
	if to[0] != 'U' && to[0] != 'W' {
		return to, nil
	}
	if room, ok := d.rooms[to]; ok {
		return room, nil
	}
	c, _, _, err := d.api.OpenConversationContext(ctx, &api.OpenConversationParameters{Users: []string{to}})
	if err != nil {
		return "", fmt.Errorf("open direct message: %w", err)
	}
	d.rooms[to] = c.ID
	return c.ID, nil
}

// messageEvent is the metadata type that identifies deskhand's messages in
// Slack's history.
const messageEvent = "deskhand_request"

// find searches for a message that may have been posted already: by a process
// that has died, or by a call whose response was lost.
func (d *leader) find(ctx context.Context, id string, p *posted) error {
	const slack, pages = 2 * time.Minute, 10 // for clocks that differ; a page has 200 messages
	query := &api.GetConversationHistoryParameters{ChannelID: p.channel, IncludeAllMetadata: true, Limit: 200,
		Oldest: strconv.FormatInt(p.begun.Add(-slack).Unix(), 10)}
	for range pages {
		page, err := d.api.GetConversationHistoryContext(ctx, query)
		if answer := (api.SlackErrorResponse{}); errors.As(err, &answer) && answer.Err == "missing_scope" {
			d.o.Log.Warn("the bot is not allowed to check whether a message was posted, so the message may appear twice",
				"surface", Channel, "elicitationId", id, "hint", "give it the scopes channels:history, groups:history and im:history")
			return nil
		}
		if err != nil {
			return fmt.Errorf("search for message: %w", err)
		}
		for _, m := range page.Messages {
			if m.Metadata.EventType == messageEvent && m.Metadata.EventPayload["id"] == id {
				p.ts = m.Timestamp
				return nil
			}
		}
		if query.Cursor = page.ResponseMetaData.NextCursor; query.Cursor == "" {
			return nil
		}
	}
	return nil
}

func (m message) options(id string) []api.MsgOption {
	return []api.MsgOption{api.MsgOptionText(m.text, false), api.MsgOptionBlocks(m.blocks...), api.MsgOptionDisableLinkUnfurl(),
		api.MsgOptionMetadata(api.SlackMetadata{EventType: messageEvent, EventPayload: map[string]any{"id": id}})}
}

// digest identifies a message's content.
func (m message) digest() (string, error) {
	b, err := json.Marshal(m.blocks)
	if err != nil {
		return "", fmt.Errorf("encode message: %w", err)
	}
	sum := sha256.Sum256(append(b, m.text...))
	return hex.EncodeToString(sum[:16]), nil
}
