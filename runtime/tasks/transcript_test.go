package tasks

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestATranscriptIsToldWithinItsBound(t *testing.T) {
	if got := transcriptPrompt(MessagePage{}); got != "" {
		t.Errorf("told of nothing = %q, want nothing", got)
	}
	got := transcriptPrompt(MessagePage{Turns: []Turn{{Prompt: "Do it\nwell", Summary: "Done."}, {Prompt: "Again"}}})
	want := "The conversation so far:\n\nThe person:\n> Do it\n> well\n\nYou:\n> Done.\n\nThe person:\n> Again\n\nNow the person says:\n\n"
	if !strings.HasSuffix(got, want) {
		t.Errorf("told = %q, want it to end with %q", got, want)
	}
	var long []Turn
	for i := range 200 {
		long = append(long, Turn{Prompt: fmt.Sprintf("turn %d ", i) + strings.Repeat("é", 20_000), Summary: strings.Repeat("x\n", 20_000)})
	}
	got = transcriptPrompt(MessagePage{Turns: long})
	if most := transcriptBytes + 1000; len(got) > most || !utf8.ValidString(got) || !strings.Contains(got, "turn 199") || strings.Contains(got, "turn 100 ") ||
		!strings.Contains(got, "left out") || !strings.Contains(got, "(truncated)") {
		t.Errorf("told of 200 long turns: %d bytes, %.300q; want the newest, at most %d bytes", len(got), got, most)
	}
}
