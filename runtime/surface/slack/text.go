package slack

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf16"

	api "github.com/slack-go/slack"

	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Slack's limits for the length of text in characters and for the number of
// elements. They are from Slack's reference for blocks, elements and
// composition objects. Slack refuses a whole message if it exceeds one limit.
const (
	maxHeader      = 150
	maxText        = 3000 // text of a section or a context
	maxButton      = 75
	maxURL         = 3000
	maxOption      = 75 // text and description of an option
	maxOptions     = 100
	maxFewOptions  = 10 // number of radio buttons or check boxes
	maxPlaceholder = 150
	maxLabel       = 2000 // label and hint of an input
	maxTyped       = 3000
	maxTitle       = 24
	maxBlocks      = 50
	maxViewBlocks  = 100
)

// clean removes characters from text that would hide it or change its order.
// Such characters are removed because askers are not trusted.
func clean(text string) string {
	return textutil.Plain(strings.TrimSpace(text))
}

// line returns the first line of text, cleaned.
func line(text string) string {
	text, _, _ = strings.Cut(clean(text), "\n")
	return text
}

// flat returns all of text, cleaned and on one line.
func flat(text string) string { return textutil.OneLine(clean(text)) }

// cut truncates text to the given number of characters. Slack does not document
// whether it counts UTF-16 units or code points. The limit here counts UTF-16
// units, because their number is never smaller.
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

// plain returns text in a form that Slack shows unchanged, without links,
// mentions or emoji names. Empty text becomes "-", because Slack refuses empty
// text.
func plain(text string, most int) *api.TextBlockObject {
	if text = cut(clean(text), most); text == "" {
		text = "-"
	}
	emoji := false
	return &api.TextBlockObject{Type: api.PlainTextType, Text: text, Emoji: &emoji}
}

// escape escapes text for fields in which Slack interprets markup.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// tag returns a short name for an ID. The ID may have any length and any
// characters.
func tag(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}
