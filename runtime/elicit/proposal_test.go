package elicit

import (
	"strings"
	"testing"
)

func TestVisibleWritesOutWhatAReaderDoesNotSee(t *testing.T) {
	for text, want := range map[string]string{
		"rm -rf \u202etxt.exe":          `rm -rf \u{202e}txt.exe`,
		"a\u200bb\u00adc\ufeffd\u2066e": `a\u{200b}b\u{ad}c\u{feff}d\u{2066}e`,
		"\x1b[2Kls\rrm x":               `\u{1b}[2Kls\u{d}rm x`,
		"one\n\ttwo é 漢 🙂":              "one\n\ttwo é 漢 🙂",
		"bad \xff":                      "bad \ufffd",
	} {
		if got := Visible(text); got != want {
			t.Errorf("Visible(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestALongProposalSaysWhatIsMissing(t *testing.T) {
	r, err := Prepare(Request{Trigger: ACPPermission, Title: "Allow?", Proposal: &Proposal{Action: "command", Text: strings.Repeat("é", 50<<10), Marks: []string{"force\n"}}})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Proposal.Text); n > MaxProposal || !strings.Contains(r.Proposal.Text, "more bytes are not shown") || r.Proposal.Marks[0] != "force" {
		t.Errorf("a proposal of %d bytes that ends %q, marks %q", n, r.Proposal.Text[n-80:], r.Proposal.Marks)
	}
	again, err := Prepare(r)
	if err != nil || again.Proposal.Text != r.Proposal.Text {
		t.Errorf("prepared twice it changes, %v", err)
	}
}
