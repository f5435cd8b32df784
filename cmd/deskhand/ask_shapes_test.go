package main

import (
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// The shape that Claude Code's and Codex's own tools have: the person sees all
// that the agent says of an option, and the agent gets its label back.
func TestOptionsWithDescriptionsAreShownAndAnsweredByLabel(t *testing.T) {
	t.Setenv("CI", "")
	d := askingDoor(t)
	const args = `{"questions":[{"question":"Which one?","header":"Database","options":[{"label":"Postgres (15)","description":"runs already","recommended":true},{"label":"MySQL"}]}]}`
	out := d.asks(t, args, func(r elicit.Request) {
		shown := done(t, t.TempDir(), "ask", "show", r.ID, "--state", d.state())
		for _, want := range []string{"Database: Which one?", "Postgres (15): runs already [recommended]", "- MySQL"} {
			if !strings.Contains(shown, want) {
				t.Errorf("ask show lacks %q:\n%s", want, shown)
			}
		}
		got := deskhand(t, t.TempDir(), "ask", "answer", r.ID, "--state", d.state())
		if got.code == 0 {
			t.Errorf("what is recommended was taken for an answer: %s", got.stdout)
		}
		d.accept(t, r, map[string][]string{"#1": {"Postgres (15)"}})
	}).output(t)
	equal(t, first(t, out), "Postgres (15)")
}

// The call of the review: its options were dropped, and a text was asked for.
func TestOptionsWithoutATypeAreAChoice(t *testing.T) {
	t.Setenv("CI", "")
	d := askingDoor(t)
	for args, kind := range map[string]elicit.Kind{
		`{"questions":[{"question":"Pick?","options":["a","b"]}]}`:                    elicit.SingleSelect,
		`{"question":"Pick?","options":["a","b"]}`:                                    elicit.SingleSelect,
		`{"questions":[{"question":"Pick?","options":["a","b"],"multiSelect":true}]}`: elicit.MultiSelect,
	} {
		q := d.taken(t, args).Questions[0]
		if q.Kind != kind || len(q.Options) != 2 || !q.AllowFreeform {
			t.Errorf("%s is asked as %+v, want a %s of two options", args, q, kind)
		}
	}
	d.refused(t, `{"questions":[{"question":"a?"}],"timeout":300}`, "for 300 seconds write 300000")
}
