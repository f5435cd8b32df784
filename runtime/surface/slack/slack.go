// Package slack puts questions to people in Slack: a message for each request,
// with buttons and menus where a press is an answer and a form for the rest.
// The message is kept true: it says who answered, where, or that time is up.
//
// The connection is Slack's socket mode, so that no address of ours need be
// reachable. Of all processes over a store one does this work, by a lease; when
// it dies, another carries on where it stopped. A message is noted before it is
// posted and again after: who finds only the first note looks for the message
// in Slack before posting it, so that nobody is asked twice.
//
// Who may answer is configured. Others who press a button are told so.
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

// Channel is what Slack is called where it is said who answered.
const Channel = "slack"

// Options tune a Surface. Channel, People and both tokens are required.
type Options struct {
	// Channel is Slack's id of where questions go that are not for one mapped
	// person: a channel (C...), or a person (U...) for direct messages.
	Channel string
	// People are those who may answer.
	People []Person
	// AppToken (xapp-...) opens the connection, BotToken (xoxb-...) posts.
	AppToken, BotToken string
	// API is where Slack's methods are. Zero: DefaultAPI.
	API string
	// Log takes what an operator should know, and nothing that was asked or
	// said. Nil: nothing is logged.
	Log *slog.Logger

	lease time.Duration // how long a process is believed that says nothing; zero: leaseTime
}

const (
	// leaseTime is longer than callTime, so that a call of a process that lost
	// the lease has ended when the next one has it.
	leaseTime = 15 * time.Second
	callTime  = 10 * time.Second
)

// DefaultAPI is where the methods of Slack are for most; Slack for governments
// has them at another host.
const DefaultAPI = "https://slack.com/api/"

const leaseName = "surface/slack"

// Surface is this process's way to Slack.
type Surface struct {
	db     *store.DB
	hub    *elicit.Hub
	o      Options
	holder string
}

// New checks the options; its errors are faults, code "bad_settings". The store was
// opened with [Schema].
func New(db *store.DB, hub *elicit.Hub, o Options) (*Surface, error) {
	o.API = cmp.Or(o.API, DefaultAPI)
	o.lease = cmp.Or(o.lease, leaseTime)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Surface{db, hub, o, "slack_" + rand.Text()}, o.check()
}

// Name is what the surface is called.
func (s *Surface) Name() string { return Channel }

// Run works until ctx ends, whenever no other process does, and then returns
// nil. An error is Slack's final word, such as that a token is not valid.
func (s *Surface) Run(ctx context.Context) error {
	for {
		_, held, err := s.db.Claim(ctx, s.claim(), s.o.lease)
		if err != nil && ctx.Err() == nil {
			s.o.Log.Warn("lease not claimed", "surface", Channel, "error", err)
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

// work is what the process does that has the lease, until it loses it.
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
	working.Go(func() {
		defer stop()
		failed = leading.listen(ctx)
	})
	working.Wait()
	leading.timers.Wait()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	if err := s.db.Release(end, leaseName, s.holder); err != nil {
		s.o.Log.Warn("lease not released", "surface", Channel, "error", err)
	}
	return failed
}

// holdLease renews the lease, and stops the work when it is lost.
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

// refusals are the words of Slack that end the work: trying again does not help.
var refusals = map[string]string{
	"invalid_auth":           "set DESKHAND_SLACK_BOT_TOKEN and DESKHAND_SLACK_APP_TOKEN to the tokens of one app",
	"not_authed":             "set DESKHAND_SLACK_BOT_TOKEN and DESKHAND_SLACK_APP_TOKEN to the tokens of one app",
	"token_revoked":          "install the app again and use its new tokens",
	"account_inactive":       "install the app again and use its new tokens",
	"missing_scope":          "give the app-level token the scope connections:write, and the bot chat:write",
	"not_allowed_token_type": "the app token begins with xapp-, the bot token with xoxb-",
}

// refused makes a fault of an error that is Slack's final word; nil for others.
func refused(err error) error {
	var answer api.SlackErrorResponse
	if !errors.As(err, &answer) {
		return nil
	}
	hint, final := refusals[answer.Err]
	if !final {
		return nil
	}
	return fault.New("slack_refused", fmt.Sprintf("Slack refuses: %s", answer.Err), hint)
}

// discard is the logger of the library, which writes to stderr otherwise.
type discard struct{}

// Output implements the library's logger.
func (discard) Output(int, string) error { return nil }
