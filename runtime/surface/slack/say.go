package slack

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	api "github.com/slack-go/slack"
)

// Say posts a text to the channel of the options, for people to read only. Marks of
// Slack in the text have no effect. Any process may call it.
func Say(ctx context.Context, o Options, text string) error {
	client := api.New(o.BotToken, api.OptionAPIURL(cmp.Or(o.API, DefaultAPI)), api.OptionHTTPClient(&http.Client{Timeout: callTime}), api.OptionLog(discard{}))
	room := o.Channel
	if room[0] == 'U' || room[0] == 'W' {
		c, _, _, err := client.OpenConversationContext(ctx, &api.OpenConversationParameters{Users: []string{room}})
		if err != nil {
			return fmt.Errorf("open direct message: %w", err)
		}
		room = c.ID
	}
	text = cut(clean(text), maxSaid)
	_, _, err := client.PostMessageContext(ctx, room, api.MsgOptionText(text, true), api.MsgOptionDisableLinkUnfurl(), api.MsgOptionDisableMarkdown())
	if err != nil {
		return fmt.Errorf("post to Slack: %w", err)
	}
	return nil
}

// maxSaid is the maximum length of such a text.
const maxSaid = 3000
