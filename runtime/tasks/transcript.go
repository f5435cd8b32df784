package tasks

import (
	"slices"
	"strings"
)

// transcriptBytes is the maximum size, in bytes, of the transcript given to an
// agent that does not remember the session. It is about 8,000 tokens, a small
// part of what any agent can read. transcriptMessageBytes is the maximum for
// one message.
const (
	transcriptBytes        = 32 << 10
	transcriptMessageBytes = transcriptBytes / 4
)

// transcriptPrompt returns a transcript to put at the start of a prompt. It
// contains the newest turns, oldest first. Every line is quoted, so that the
// agent does not mistake it for a request. The result is empty if there are no
// turns.
func transcriptPrompt(page MessagePage) string {
	var turns []string
	size, more := 0, page.More
	for _, t := range slices.Backward(page.Turns) {
		turn := quoteMessage("The person", t.Prompt) + quoteMessage("You", t.Summary)
		if size += len(turn); size > transcriptBytes {
			more = true
			break
		}
		turns = append(turns, turn)
	}
	if len(turns) == 0 {
		return ""
	}
	slices.Reverse(turns)
	left := ""
	if more {
		left = "Earlier messages are left out.\n\n"
	}
	return "This continues work that you began but do not remember. The files are as you left them. The conversation so far:\n\n" +
		left + strings.Join(turns, "") + "Now the person says:\n\n"
}

// quoteMessage returns a quoted message of a transcript, truncated if it is long.
func quoteMessage(who, text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	text = "> " + strings.ReplaceAll(text, "\n", "\n> ")
	if len(text) > transcriptMessageBytes {
		text = strings.ToValidUTF8(text[:transcriptMessageBytes], "") + "\n(truncated)"
	}
	return who + ":\n" + text + "\n\n"
}
