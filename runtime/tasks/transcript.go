package tasks

import (
	"slices"
	"strings"
)

// What an agent is told of a session that it does not remember: some 8,000
// tokens, a small part of what any agent reads at once; and a quarter of that of
// one message.
const (
	transcriptBytes        = 32 << 10
	transcriptMessageBytes = transcriptBytes / 4
)

// transcriptPrompt returns a transcript as text for the beginning of a prompt:
// the newest turns, oldest first. Every line is quoted, so that the agent does
// not take it for a request. It is empty if there are no turns.
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
		left = "What was said before that is left out.\n\n"
	}
	return "This goes on with work that you began and do not remember. The files are as you left them. This was said:\n\n" +
		left + strings.Join(turns, "") + "Now the person says:\n\n"
}

// quoteMessage returns a message of a transcript, cut at the end if it is long.
func quoteMessage(who, text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	text = "> " + strings.ReplaceAll(text, "\n", "\n> ")
	if len(text) > transcriptMessageBytes {
		text = strings.ToValidUTF8(text[:transcriptMessageBytes], "") + "\n(cut here)"
	}
	return who + ":\n" + text + "\n\n"
}
