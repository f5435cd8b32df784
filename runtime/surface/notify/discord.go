package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf16"

	"github.com/deskhand/deskhand/runtime/outbox"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// toDiscord posts embeds to a Discord webhook, and edits them when their question ends.
var toDiscord = kind{name: "discord", outside: true, send: discord, edit: editDiscord, parse: func(h *Hook, rest string) error {
	if err := h.address(rest, "https://discord.com/api/webhooks/ID/TOKEN"); err != nil {
		return err
	}
	if len(strings.Split(strings.Trim(h.target.Path, "/"), "/")) < 2 {
		return errors.New("discord needs the address of a webhook, for example discord:https://discord.com/api/webhooks/ID/TOKEN")
	}
	return nil
}}

// Limits of Discord, in UTF-16 units: of an embed's title and description, of all text of a
// message's embeds, and of link buttons.
const (
	maxEmbedTitle  = 256
	maxEmbed       = 4096
	maxEmbeds      = 6000
	maxButtons     = 5
	maxButtonLabel = 80
	maxButtonURL   = 512
)

type embed struct {
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	URL         string `json:"url,omitempty"`
	Color       int    `json:"color"`
}

type component struct {
	Type       int         `json:"type"` // 1: row, 2: button
	Components []component `json:"components,omitempty"`
	Style      int         `json:"style,omitempty"` // 5: link
	Label      string      `json:"label,omitempty"`
	URL        string      `json:"url,omitempty"`
}

type discordMessage struct {
	Embeds     []embed     `json:"embeds"`
	Components []component `json:"components"` // empty when editing: removes the buttons
	// AllowedMentions is empty: no text can ping anyone.
	AllowedMentions struct {
		Parse []string `json:"parse"`
	} `json:"allowed_mentions"`
}

// Colours of embeds: an open question, and one that has ended.
const (
	colourOpen  = 0xd97706
	colourEnded = 0x6b7280
)

func discordOf(m Message) discordMessage {
	title := escapeDiscord(textutil.OneLine(m.Title), maxEmbedTitle)
	text := escapeDiscord(m.Body, min(maxEmbed, maxEmbeds-units(title)))
	out := discordMessage{Components: []component{}, Embeds: []embed{{Title: title, Description: text, URL: m.URL, Color: colourOpen}}}
	out.AllowedMentions.Parse = []string{}
	if m.Event == OverEvent {
		out.Embeds[0].Color = colourEnded
		return out
	}
	var buttons []component
	button := func(label, to string) {
		u, err := url.Parse(to)
		if err == nil && (u.Scheme == "http" || u.Scheme == "https") && units(to) <= maxButtonURL && len(buttons) < maxButtons {
			buttons = append(buttons, component{Type: 2, Style: 5, Label: cutUnits(textutil.OneLine(label), maxButtonLabel), URL: to})
		}
	}
	for _, a := range m.Answers {
		button(a.Label, a.URL)
	}
	button("Open", m.URL)
	if len(buttons) > 0 {
		out.Components = []component{{Type: 1, Components: buttons}}
	}
	return out
}

// at returns the webhook's address with a path below it, and the parameters that let a
// webhook without an app send link buttons.
func (h Hook) at(path, wait string) string {
	u := *h.target
	u.Path = strings.TrimSuffix(u.Path, "/") + path
	q := u.Query() // thread_id, if the owner set one
	q.Set("with_components", "true")
	if wait != "" {
		q.Set("wait", wait)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

func discord(ctx context.Context, h Hook, m Message) (string, error) {
	data, err := h.toDiscord(ctx, http.MethodPost, h.at("", "true"), discordOf(m))
	if err != nil {
		return "", err
	}
	var sent struct {
		ID string `json:"id"`
	}
	// A message that was sent without a readable ID is not sent again. It is only not edited.
	if json.Unmarshal(data, &sent) != nil || !isSnowflake(sent.ID) {
		return "", nil
	}
	return sent.ID, nil
}

// isSnowflake reports whether an ID, which becomes part of an address, is one of Discord's.
func isSnowflake(id string) bool {
	return id != "" && len(id) <= 20 && strings.Trim(id, "0123456789") == ""
}

func editDiscord(ctx context.Context, h Hook, remote string, m Message) error {
	_, err := h.toDiscord(ctx, http.MethodPatch, h.at("/messages/"+remote, ""), discordOf(m))
	if gone := (answerError{}); errors.As(err, &gone) && gone.code == http.StatusNotFound {
		return outbox.ErrOver // somebody deleted the message
	}
	return err
}

// toDiscord sends a message. Discord writes how long to wait into the body.
func (h Hook) toDiscord(ctx context.Context, method, to string, m discordMessage) ([]byte, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode notification: %w", err)
	}
	data, err := h.do(ctx, method, to, body, nil)
	var limited struct {
		After float64 `json:"retry_after"`
	}
	if f := new(outbox.Failure); errors.As(err, &f) && !f.Final && json.Unmarshal(data, &limited) == nil {
		f.After = max(f.After, inSeconds(limited.After))
	}
	return data, err
}

// marks are the characters that Discord's Markdown gives a meaning, at least at the beginning
// of a line. "<" begins mentions, emojis and times, and ":" emojis and the addresses that
// Discord would turn into links.
const marks = "\\*_~`|>#-+[](){}<@:.!"

// escapeDiscord returns text that Discord shows unchanged, with at most n UTF-16 units.
func escapeDiscord(text string, n int) string {
	var b strings.Builder
	length := 0
	text = strings.ToValidUTF8(text, "\ufffd")
	for i, r := range text {
		size := utf16.RuneLen(r)
		mark := r < 0x80 && strings.ContainsRune(marks, r)
		if mark {
			size++
		}
		if rest := text[i+len(string(r)):]; length+size > n || rest != "" && length+size > n-1 {
			return b.String() + "…"
		}
		if mark {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		length += size
	}
	return b.String()
}

func units(text string) (n int) {
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

func cutUnits(text string, n int) string {
	if units(text) <= n {
		return text
	}
	length := 0
	for i, r := range text {
		if length += utf16.RuneLen(r); length > n-1 {
			return text[:i] + "…"
		}
	}
	return text
}
