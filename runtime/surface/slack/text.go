package slack

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf16"

	api "github.com/slack-go/slack"

	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Slack's limits for texts (in characters) and for the number of elements, from its
// reference for blocks, elements and composition objects. Slack refuses a whole
// message if one limit is exceeded.
const (
	maxHeader      = 150
	maxText        = 3000 // of a section or a context
	maxButton      = 75
	maxURL         = 3000
	maxOption      = 75 // of its text and of its description
	maxOptions     = 100
	maxFewOptions  = 10 // radio buttons or check boxes
	maxPlaceholder = 150
	maxLabel       = 2000 // of an input's label and hint
	maxTyped       = 3000
	maxTitle       = 24
	maxBlocks      = 50
	maxViewBlocks  = 100
)

// clean removes characters from a text that would hide it or change its order,
// because askers are not trusted.
func clean(text string) string {
	return textutil.Plain(strings.TrimSpace(text))
}

// line returns the first line of a text, cleaned.
func line(text string) string {
	text, _, _ = strings.Cut(clean(text), "\n")
	return text
}

// flat returns a whole text on one line, cleaned.
func flat(text string) string { return textutil.OneLine(clean(text)) }

// cut truncates a text to the given number of characters. Slack does not say
// whether it counts UTF-16 units or code points. cut counts units, which are never
// fewer.
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

// plain returns a text that Slack shows unchanged, without links, mentions or emoji
// names. An empty text becomes "-", because Slack refuses empty texts.
func plain(text string, most int) *api.TextBlockObject {
	if text = cut(clean(text), most); text == "" {
		text = "-"
	}
	emoji := false
	return &api.TextBlockObject{Type: api.PlainTextType, Text: text, Emoji: &emoji}
}

// escape escapes text for fields in which Slack interprets markup.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// tag returns a short name for an ID of any length and alphabet.
func tag(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}
