package tasks

import (
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

func TestCommitMessages(t *testing.T) {
	whole := CommitMessage{Title: "Round prices", Summary: "Rounded.\n\n\n\nDone.", Agent: "codex", Branch: "deskhand/1-round", AttemptID: "id"}
	const coauthor = "Co-authored-by: codex <codex@agents.deskhand.invalid>"
	for _, c := range []struct{ name, template, want string }{
		{"usual", "", "Round prices\n\nRounded.\n\nDone.\n\n" + coauthor},
		{"own", "feat: {title}\n\n{summary}\n\nBranch: {branch}\nAttempt: {attempt}\n{coauthor}", "feat: Round prices\n\nRounded.\n\nDone.\n\nBranch: deskhand/1-round\nAttempt: id\n" + coauthor},
		{"title alone", "{title}", "Round prices"},
	} {
		m := whole
		m.Template = c.template
		if got := m.String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := (CommitMessage{Title: "a {summary} b", Summary: "s"}).String(); got != "a {summary} b\n\ns" {
		t.Errorf("braces of a title are filled in: %q", got)
	}
	if got := (CommitMessage{Title: "t", Summary: "t"}).String(); got != "t" {
		t.Errorf("a summary that is the title is said twice: %q", got)
	}
}

func TestMessagesOfRuns(t *testing.T) {
	const coauthor = "Co-authored-by: codex <codex@agents.deskhand.invalid>"
	for want, m := range map[string]CommitMessage{
		"Rounded.\n\n" + coauthor:             {Title: "Round prices", Summary: " Rounded.\n\n\n\nDone.", Agent: "codex"},
		"Round prices\n\n" + coauthor:         {Title: "Round prices", Agent: "codex", Template: "x {coauthor}"},
		"Rounded":                             {Title: "Round prices", Summary: "Rounded", Agent: "codex", Template: "{title}"},
		"Cleanup":                             {Title: "Round prices", Summary: "Cleanup"},
		"I did it too.\n\n" + coauthor + "\n": {Summary: "I did it too.\n\n" + coauthor, Agent: "codex"},
	} {
		if got := m.ofRun(); got != strings.TrimSpace(want) {
			t.Errorf("ofRun of %+v = %q, want %q", m, got, want)
		}
	}
}

func TestTemplatesAreChecked(t *testing.T) {
	for template, says := range map[string]string{"": "", "{title}": "", "x {coauthor}": "", "{who}": "{who}", "{summary}": "empty", "\x00": "UTF-8"} {
		err := checkTemplate(template)
		if f := fault.Of(err); (err == nil) != (says == "") || f != nil && (!strings.Contains(f.Message, says) || f.Hint == "") {
			t.Errorf("checkTemplate(%q) = %v, want %q", template, err, says)
		}
	}
}
