package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/deskhand/deskhand/runtime/outbox"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// toTeams posts Adaptive Cards to a webhook of Microsoft Teams' Workflows, with the template
// "Send webhook alerts to a channel" or "... to a chat". Such a webhook returns no ID, so a
// card cannot be edited.
var toTeams = kind{name: "teams", outside: true, follows: true, send: teams,
	parse: func(h *Hook, rest string) error {
		return h.address(rest, "https://example.api.powerplatform.com/...")
	}}

// Limits of a card. Teams documents 28 KB for a message; others have measured 21 KB.
const (
	maxCard       = 20_000 // bytes of JSON
	maxCardTitle  = 200
	maxCardAction = 40 // characters of a button
	maxCardURL    = 2000
)

// textRun is a piece of text of an Adaptive Card. Unlike in a TextBlock, no character in it
// is markup, and it cannot mention anyone.
type textRun struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Weight string `json:"weight,omitempty"`
	Size   string `json:"size,omitempty"`
	Color  string `json:"color,omitempty"`
	Subtle bool   `json:"isSubtle,omitempty"`
}

type richText struct {
	Type    string    `json:"type"`
	Inlines []textRun `json:"inlines"`
}

type openURL struct {
	Type  string `json:"type"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

type card struct {
	Schema  string            `json:"$schema"`
	Type    string            `json:"type"`
	Version string            `json:"version"`
	Body    []richText        `json:"body"`
	Actions []openURL         `json:"actions,omitempty"`
	Teams   map[string]string `json:"msteams,omitempty"`
}

type attachment struct {
	ContentType string  `json:"contentType"`
	ContentURL  *string `json:"contentUrl"`
	Content     card    `json:"content"`
}

type teamsMessage struct {
	Type        string       `json:"type"`
	Attachments []attachment `json:"attachments"`
}

func teams(ctx context.Context, h Hook, m Message) (string, error) {
	body, err := teamsJSON(m)
	if err != nil {
		return "", err
	}
	_, err = h.do(ctx, http.MethodPost, h.target.String(), body, nil)
	return "", err
}

// teamsJSON returns the request for a message.
func teamsJSON(m Message) ([]byte, error) {
	text := m.Body
	for {
		body, err := json.Marshal(cardOf(m, text))
		if err != nil {
			return nil, fmt.Errorf("encode notification: %w", err)
		}
		switch {
		case len(body) <= maxCard:
			return body, nil
		case text == "":
			return nil, outbox.Final(fmt.Errorf("the card has %d bytes; the maximum is %d", len(body), maxCard))
		}
		// A card that does not say all has no buttons that answer. A byte of text takes at
		// most 6 bytes of JSON.
		m.Answers = nil
		text = cutBytes(text, max(len(text)-max((len(body)-maxCard)/6, 100), 0))
	}
}

// cutBytes returns the beginning of text with at most n bytes, and "…".
func cutBytes(text string, n int) string {
	if n <= 3 {
		return ""
	}
	return strings.ToValidUTF8(text[:min(n-3, len(text))], "") + "…"
}

func cardOf(m Message, text string) teamsMessage {
	run := func(s string) textRun { return textRun{Type: "TextRun", Text: s} }
	title := run(textutil.Shorten(textutil.OneLine(m.Title), maxCardTitle))
	title.Weight, title.Size = "Bolder", "Medium"
	c := card{Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.4", Teams: map[string]string{"width": "Full"},
		Body: []richText{{"RichTextBlock", []textRun{title}}}}
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" { // line ends have no effect within a text
			c.Body = append(c.Body, richText{"RichTextBlock", []textRun{run(line)}})
		}
	}
	button := func(label, url string) {
		if url != "" && len(url) <= maxCardURL {
			c.Actions = append(c.Actions, openURL{"Action.OpenUrl", textutil.Shorten(textutil.OneLine(label), maxCardAction), url})
		}
	}
	for _, a := range m.Answers {
		button(a.Label, a.URL)
	}
	button("Open", m.URL)
	return teamsMessage{"message", []attachment{{ContentType: "application/vnd.microsoft.card.adaptive", Content: c}}}
}
