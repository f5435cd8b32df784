package slack

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf16"

	api "github.com/slack-go/slack"

	textutil "github.com/deskhand/deskhand/runtime/text"
)

// What Slack takes at most: characters of texts, and pieces of a message. From
// its reference of blocks, elements and composition objects. A message with one
// thing more is refused as a whole.
const (
	maxHeader      = 150
	maxText        = 3000 // of a section or a context
	maxButton      = 75
	maxURL         = 3000
	maxOption      = 75 // its text, and its description
	maxOptions     = 100
	maxFewOptions  = 10 // of radio buttons and check boxes
	maxPlaceholder = 150
	maxLabel       = 2000 // of an input, and its hint
	maxTyped       = 3000
	maxTitle       = 24
	maxBlocks      = 50
	maxViewBlocks  = 100
)

// clean takes out of text what would show it in an order that it does not have,
// or not at all: askers may be anybody.
func clean(text string) string {
	return textutil.Plain(strings.TrimSpace(text))
}

// line is the first line of a text, clean.
func line(text string) string {
	text, _, _ = strings.Cut(clean(text), "\n")
	return text
}

// flat is all of a text on one line, clean.
func flat(text string) string { return textutil.OneLine(clean(text)) }

// cut shortens a text to so many characters. Slack counts UTF-16 units or code
// points, which it does not say; units are never fewer.
func cut(text string, most int) string {
	if units(text) <= most {
		return text
	}
	n := 0
	for i, r := range text {
		if n += utf16.RuneLen(r); n > most-1 {
			return text[:i] + "…"
		}
	}
	return text
}

func units(text string) (n int) {
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// plain is a text that Slack shows as it is: no links, no mentions, no emoji by
// name. Slack refuses empty ones.
func plain(text string, most int) *api.TextBlockObject {
	if text = cut(clean(text), most); text == "" {
		text = "-"
	}
	emoji := false
	return &api.TextBlockObject{Type: api.PlainTextType, Text: text, Emoji: &emoji}
}

// escape makes a text safe where Slack reads marks.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// tag is a short name for an id of any length and alphabet.
func tag(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}
