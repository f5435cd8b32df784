package elicit

import (
	"slices"
	"testing"
)

func TestFieldsAreReadByTheKindOfTheirQuestion(t *testing.T) {
	r := survey(t)
	r.Questions[5].Options = []Option{{ID: "css", Label: "CSS Modules"}, {ID: "tw", Label: "Tailwind"}}
	answers, err := r.Fields(map[string][]string{
		"name": {" Card\n"}, "mail": {}, "size": {" 1.5 "}, "count": {""}, "sure": {"No"}, "style": {"CSS Modules"}, "style__other": {"but short", " "},
		"features": {"Errors", "Loading"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*Value{"name": text(" Card\n"), "size": number(1.5), "sure": boolean(false), "style": words(selected("css"), "but short"),
		"features": many("Errors", "Loading")}
	if len(answers) != len(want) {
		t.Errorf("%d answers, want %d: %v", len(answers), len(want), answers)
	}
	for id, v := range want {
		if a := answers[id]; a.State != Submitted || !a.Value.Equal(v) {
			t.Errorf("%s = %s %+v, want submitted %+v", id, a.State, a.Value, v)
		}
	}
	does(t, r, Action{Type: CompletedBy, Response: Accept, Answers: answers})
}

func TestOwnWordsAloneAndNothingChosen(t *testing.T) {
	r := survey(t)
	answers, err := r.Fields(map[string][]string{"style__other": {"inline"}, "features": {}})
	if err != nil || !answers["style"].Value.Equal(words(selected(""), "inline")) || !answers["features"].Value.Equal(many()) {
		t.Errorf("Fields = %v, %v", answers, err)
	}
}

func TestFieldsThatCannotBeReadAreAllNamed(t *testing.T) {
	_, err := survey(t).Fields(map[string][]string{
		"name": {"a", "b"}, "size": {"big"}, "sure": {"perhaps"}, "features__other": {"mine"}, "colour": {"red"},
	})
	want := []string{InvalidAnswers, "name too_many", "size not_a_number", "sure not_yes_or_no", "colour unknown_question", "features__other unknown_question"}
	if got := codes(err); !slices.Equal(got, want) {
		t.Errorf("Fields = %q (%v), want %q", got, err, want)
	}
}

// FuzzFields passes arbitrary texts to every kind of question. What Fields returns
// must be accepted or refused by Reduce.
func FuzzFields(f *testing.F) {
	f.Add("name", "Card", "sure", "yes")
	f.Add("style", "CSS", "style__other", "mine")
	f.Add("size", "NaN", "count", "1e400")
	f.Add("features", "Errors", "features", "Errors")
	r := survey(f)
	f.Fuzz(func(t *testing.T, name1, text1, name2, text2 string) {
		fields := map[string][]string{name1: {text1}}
		fields[name2] = append(fields[name2], text2)
		answers, err := r.Fields(fields)
		if err != nil {
			return
		}
		for id, a := range answers {
			next, err := Reduce(r, Action{Type: AnswerChanged, RequestID: r.ID, QuestionID: id, Answer: &a})
			if err == nil {
				dump(t, next) // fails if the request cannot be encoded
			}
		}
	})
}
