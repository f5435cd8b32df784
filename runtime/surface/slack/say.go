package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	api "github.com/slack-go/slack"

	"github.com/deskhand/deskhand/runtime/outbox"
)

// Say posts a text to the channel of the options, for people to read only. Marks of
// Slack in the text have no effect. Any process may call it.
func Say(ctx context.Context, o Options, text string) error {
	client := api.New(o.BotToken, api.OptionAPIURL(cmp.Or(o.API, DefaultAPI)), api.OptionHTTPClient(&http.Client{Timeout: callTime}), api.OptionLog(discard{}))
	room := o.Channel
	if room[0] == 'U' || room[0] == 'W' {
		c, _, _, err := client.OpenConversationContext(ctx, &api.OpenConversationParameters{Users: []string{room}})
		if err != nil {
			return repeated(fmt.Errorf("open direct message: %w", err))
		}
		room = c.ID
	}
	text = cut(clean(text), maxSaid)
	_, _, err := client.PostMessageContext(ctx, room, api.MsgOptionText(text, true), api.MsgOptionDisableLinkUnfurl(), api.MsgOptionDisableMarkdown())
	if err != nil {
		return repeated(fmt.Errorf("post to Slack: %w", err))
	}
	return nil
}

// passing lists Slack's errors after which a retry may succeed.
var passing = []string{"fatal_error", "internal_error", "service_unavailable", "request_timeout", "ratelimited", "team_added_to_org"}

// repeated says how to repeat a call after an error, for the outbox.
func repeated(err error) error {
	if limited := new(api.RateLimitedError); errors.As(err, &limited) {
		return &outbox.Failure{Err: err, After: limited.RetryAfter}
	}
	if answer := (api.SlackErrorResponse{}); errors.As(err, &answer) && !slices.Contains(passing, answer.Err) {
		return outbox.Final(err)
	}
	return err
}

// maxSaid is the maximum length of such a text.
const maxSaid = 3000
