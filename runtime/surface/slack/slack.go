// Package slack asks people in Slack. Each request has one message, with
// buttons and menus for answers that take one press, and a form for other
// answers. The package keeps the message up to date: it shows who answered and
// where, or that the deadline has passed.
//
// The connection uses Slack's socket mode, so deskhand needs no reachable
// address. Of the processes that use a store, only the one with a lease does
// this work. When that process dies, another one continues. The process records
// each message before and after it posts the message. If only the first record
// exists, the process searches for the message in Slack before it posts, so
// that people are not asked twice.
//
// The settings list the people who may answer. Anybody else who presses a
// button gets an explanation.
package slack

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	api "github.com/slack-go/slack"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// Channel names Slack in the record of an answer.
const Channel = "slack"

// Options configure a Surface. Channel, People and both tokens are required.
type Options struct {
	// Channel is the Slack ID of the destination for questions that are not
	// addressed to one known person. It is a channel (C...), or a person (U...)
	// for direct messages.
	Channel string
	// People lists the people who may answer.
	People []Person
	// AppToken (xapp-...) opens the connection, and BotToken (xoxb-...) posts
	// messages.
	AppToken, BotToken string
	// API is the base URL of Slack's API methods. If empty, it is DefaultAPI.
	API string
	// Log receives messages for the operator. They do not contain questions or
	// answers. If Log is nil, they are discarded.
	Log *slog.Logger

	lease time.Duration // time without a renewal after which a process counts as dead; if zero, leaseTime
}

const (
	// leaseTime is longer than callTime. Therefore, a process's calls have
	// ended by the time another process can take the lease.
	leaseTime = 15 * time.Second
	callTime  = 10 * time.Second
)

// DefaultAPI is the base URL of Slack's API methods for most customers. Slack
// for governments uses another host.
const DefaultAPI = "https://slack.com/api/"

const leaseName = "surface/slack"

// Surface connects this process to Slack.
type Surface struct {
	db     *store.DB
	hub    *elicit.Hub
	o      Options
	holder string
}

// New checks the options and returns a Surface. Its errors are faults with code
// "bad_settings". The store must have been opened with [Schema].
func New(db *store.DB, hub *elicit.Hub, o Options) (*Surface, error) {
	o.API = cmp.Or(o.API, DefaultAPI)
	o.lease = cmp.Or(o.lease, leaseTime)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Surface{db, hub, o, "slack_" + rand.Text()}, o.check()
}

// Name returns the surface's name.
func (s *Surface) Name() string { return Channel }

// Run does the surface's work, unless another process is doing it. Run returns
// nil when ctx ends. It returns an error if Slack refuses permanently, for
// example because a token is invalid.
func (s *Surface) Run(ctx context.Context) error {
	for {
		_, held, err := s.db.Claim(ctx, s.claim(), s.o.lease)
		if err != nil && ctx.Err() == nil {
			s.o.Log.Warn("cannot claim the lease", "surface", Channel, "error", err)
		}
		if held {
			if err := s.work(ctx); err != nil {
				return err
			}
		}
		select {
		case <-time.After(s.o.lease / 4):
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *Surface) claim() store.Lease { return store.Lease{Name: leaseName, Holder: s.holder} }

// work does the work of the process that holds the lease, until it loses the
// lease.
func (s *Surface) work(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	client := api.New(s.o.BotToken, api.OptionAppLevelToken(s.o.AppToken), api.OptionAPIURL(s.o.API),
		api.OptionHTTPClient(&http.Client{Timeout: callTime}), api.OptionLog(discard{}))
	leading := &leader{Surface: s, api: client, wake: make(chan struct{}, 1), pending: map[string]bool{}, rooms: map[string]string{}}
	var working sync.WaitGroup
	var failed error
	working.Go(func() { s.holdLease(ctx, stop) })
	working.Go(func() { leading.follow(ctx) })
	working.Go(func() { leading.post(ctx) })
	working.Go(func() { leading.retry(ctx) })
	working.Go(func() {
		defer stop()
		failed = leading.listen(ctx)
	})
	working.Wait()
	leading.timers.Wait()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	if err := s.db.Release(end, leaseName, s.holder); err != nil {
		s.o.Log.Warn("cannot release the lease", "surface", Channel, "error", err)
	}
	return failed
}

// holdLease renews the lease. If the lease is lost, it stops the work.
func (s *Surface) holdLease(ctx context.Context, stop func()) {
	defer stop()
	for renewed := time.Now(); ; {
		select {
		case <-time.After(s.o.lease / 4):
		case <-ctx.Done():
			return
		}
		asked := time.Now()
		_, held, err := s.db.Claim(ctx, s.claim(), s.o.lease)
		switch {
		case err == nil && held:
			renewed = asked
		case err == nil:
			s.o.Log.Warn("another process took over", "surface", Channel)
			return
		case time.Since(renewed) > s.o.lease*3/4:
			return
		}
	}
}

// refusals maps Slack errors to hints. These errors end the work, because a
// retry does not help.
var refusals = map[string]string{
	"invalid_auth":           "set DESKHAND_SLACK_BOT_TOKEN and DESKHAND_SLACK_APP_TOKEN to tokens of the same app",
	"not_authed":             "set DESKHAND_SLACK_BOT_TOKEN and DESKHAND_SLACK_APP_TOKEN to tokens of the same app",
	"token_revoked":          "reinstall the app and use its new tokens",
	"account_inactive":       "reinstall the app and use its new tokens",
	"missing_scope":          "give the app-level token the scope connections:write, and the bot chat:write",
	"not_allowed_token_type": "the app token starts with xapp-, the bot token with xoxb-",
}

// refused converts a permanent Slack error to a fault. It returns nil for other
// errors.
func refused(err error) error {
	var answer api.SlackErrorResponse
	if !errors.As(err, &answer) {
		return nil
	}
	hint, final := refusals[answer.Err]
	if !final {
		return nil
	}
	return fault.New("slack_refused", fmt.Sprintf("Slack refused: %s", answer.Err), hint)
}

// discard is a logger for the Slack library. Without it, the library would
// write to stderr.
type discard struct{}

// Output implements the library's logger. It discards the message.
func (discard) Output(int, string) error { return nil }
