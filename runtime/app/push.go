package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/netguard"
	"github.com/deskhand/deskhand/runtime/outbox"
	"github.com/deskhand/deskhand/runtime/people"
	"github.com/deskhand/deskhand/runtime/surface/notify"
	textutil "github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/board"
	"github.com/deskhand/deskhand/runtime/webpush"
)

// pushFor is how long a push service keeps a message for a browser that is away.
const pushFor = 24 * time.Hour

// pushed is a push message, as the service worker reads it.
type pushed struct {
	Title string `json:"title"`
	Body  string `json:"body"`
	Path  string `json:"path"` // on this server
	Tag   string `json:"tag"`  // a later message with the same tag replaces it
}

// subscriptions returns the browsers that want push messages.
func (a *App) subscriptions(ctx context.Context) (webpush.Subscriptions, error) {
	db, err := a.Store(ctx)
	return webpush.Subscriptions{DB: db}, err
}

// sender returns the sender of push messages. Its key is derived from the person's key.
// The addresses come from browsers, so the sender connects to no address on this
// machine's network.
func (p *peoplePages) sender() (*webpush.Sender, error) {
	return pushSender(p.in.Key, p.app.pushClient)
}

// pushSender returns the sender for the person's key. If client is nil, it is the one for
// addresses on the internet.
func pushSender(key string, client *http.Client) (*webpush.Sender, error) {
	s, err := webpush.New(web.Key(key, "push"))
	if err != nil {
		return nil, err
	}
	s.Contact = "https://github.com/deskhand/deskhand"
	if s.Client = client; client == nil {
		s.Client = &http.Client{Transport: netguard.Guard{}.Transport(), Timeout: 15 * time.Second}
	}
	return s, nil
}

// push sends push messages about ended attempts until ctx ends. Those about questions come
// from the same notices as all others.
func (p *peoplePages) push(ctx context.Context) {
	n, err := p.app.config.Notices.Get()
	if err != nil || !p.withWork {
		return // startup has already reported the error
	}
	p.pushEnds(ctx, n)
}

// Names of ways in the outbox: a message to all browsers, and one to one browser.
const (
	pushWay    = "push"
	browserWay = "browser"
)

// pushHook is the hook that sends a message to all browsers that want messages: it stores
// one for each, so that one that fails does not repeat the others. The key is the person's.
func (a *App) pushHook(key string) notify.Hook {
	return notify.HookTo(pushWay, func(ctx context.Context, m notify.Message) error {
		one := pushed{Title: m.Title, Body: m.Body, Path: "/", Tag: "deskhand"}
		if m.ID != "" {
			one.Path, one.Tag = "/inbox/"+m.ID, m.ID
		}
		if m.Event == notify.EndEvent {
			m.Priority, one.Path, one.Tag = elicit.Low, m.Path, path.Base(m.Path)
			if m.Path == "" { // several, after quiet hours
				one.Path, one.Tag = board.Path, "deskhand-ends"
			}
		}
		once := m.Key() + one.Tag
		if m.ID != "" { // the same as that of the notification to a person; see elicit.Notice
			once = notify.Announcement{}.OnceFor(&elicit.Request{ID: m.ID})
		}
		return a.pushTo(ctx, once, m.ID, one, m.Priority, func() (func(person string) bool, error) { return a.toldOf(ctx, m) })
	})
}

// storedPush is a push message in the outbox. It names the browser only by a digest of its
// address, which is a secret.
type storedPush struct {
	pushed
	Browser string `json:"browser"`
	Low     bool   `json:"low,omitempty"`
}

// browserID identifies a browser in the outbox.
func browserID(one webpush.Subscription) string {
	sum := sha256.Sum256([]byte(one.Endpoint))
	return hex.EncodeToString(sum[:16])
}

// pushTo stores a message to each browser of the people that told's function selects. The
// owner's browsers have no name. A second call with the same once has no effect. told is not
// called if there are no browsers.
func (a *App) pushTo(ctx context.Context, once, question string, m pushed, priority elicit.Priority, told func() (func(person string) bool, error)) error {
	subscribed, err := a.subscriptions(ctx)
	if err != nil {
		return err
	}
	browsers, err := subscribed.All(ctx)
	if err != nil || len(browsers) == 0 {
		return err
	}
	to, err := told()
	if err != nil {
		return err
	}
	box, err := a.Outbox(ctx)
	if err != nil {
		return err
	}
	m.Title, m.Body = textutil.Shorten(m.Title, 200), textutil.Shorten(m.Body, 500)
	var all []outbox.New
	for _, one := range browsers {
		if !to(one.Person) {
			continue
		}
		body, err := json.Marshal(storedPush{pushed: m, Browser: browserID(one), Low: priority == elicit.Low})
		if err != nil {
			return err
		}
		service := ""
		if u, err := url.Parse(one.Endpoint); err == nil {
			service = u.Host
		}
		all = append(all, outbox.New{Once: "browser/" + browserID(one) + "/" + once, Way: browserWay, To: service, Request: question, Reason: "push", Body: body})
	}
	_, err = box.Put(ctx, all...)
	return err
}

// browsers is the way that sends a message to one browser, and forgets a browser that has
// unsubscribed.
func (a *App) browsers(key string) outbox.Way {
	return outbox.Way{Name: browserWay, Send: func(ctx context.Context, m outbox.Message) (string, error) {
		sender, err := pushSender(key, a.pushClient)
		if err != nil {
			return "", err
		}
		return "", a.pushOne(ctx, sender, m)
	}}
}

func (a *App) pushOne(ctx context.Context, sender *webpush.Sender, m outbox.Message) error {
	var one storedPush
	if err := json.Unmarshal(m.Body, &one); err != nil {
		return outbox.Final(err)
	}
	subscribed, err := a.subscriptions(ctx)
	if err != nil {
		return err
	}
	browsers, err := subscribed.All(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(browsers, func(b webpush.Subscription) bool { return browserID(b) == one.Browser })
	if i < 0 {
		return outbox.ErrOver // it has unsubscribed
	}
	if err := a.mayPush(ctx, browsers[i].Person, m.Request, one.Low); err != nil {
		return err
	}
	data, err := json.Marshal(one.pushed)
	if err != nil {
		return err
	}
	urgency := webpush.Urgency("high")
	if one.Low {
		urgency = "normal"
	}
	err = sender.Send(ctx, browsers[i], data, urgency, pushFor)
	answer := new(webpush.AnswerError)
	switch {
	case errors.Is(err, webpush.ErrGone):
		return errors.Join(outbox.ErrOver, subscribed.Drop(ctx, browsers[i].Endpoint))
	case errors.As(err, new(*netguard.Refused)):
		return outbox.Final(err)
	case errors.As(err, &answer):
		passing := answer.Status >= 500 || answer.Status == http.StatusTooManyRequests || answer.Status == http.StatusRequestTimeout
		return &outbox.Failure{Err: err, Final: !passing, After: answer.After}
	}
	return err
}

// mayPush returns why a message must not be sent to a person's browser now, as an error for
// the outbox, or nil. question may be empty. The owner has no name.
func (a *App) mayPush(ctx context.Context, name, question string, low bool) error {
	r := elicit.Request{Priority: elicit.Normal}
	if low {
		r.Priority = elicit.Low
	}
	if question != "" {
		hub, err := a.Hub(ctx)
		if err == nil {
			r, err = hub.Get(ctx, question)
		}
		if rejected := new(elicit.Rejection); errors.As(err, &rejected) || err == nil && r.Status == elicit.Completed {
			return outbox.ErrOver
		}
		if err != nil {
			return err
		}
	}
	var p people.Person
	if name != "" {
		register, err := a.Register(ctx)
		if err != nil {
			return err
		}
		if _, p, err = register.Caller(ctx, name, ""); err != nil && fault.Of(err) == nil {
			return err
		}
		if err != nil || question != "" && !mayAnswer(p, &r) {
			return fmt.Errorf("%w: %s may not answer it any more", outbox.ErrOver, name)
		}
	}
	return a.awake(p, r.Priority)
}

// pushEnds sends push messages about ended attempts, like the other notifications, until
// ctx ends or the store is closed.
func (p *peoplePages) pushEnds(ctx context.Context, n Notices) {
	p.app.tellEnds(ctx, n, []notify.Hook{p.app.pushHook(p.in.Key)})
}
