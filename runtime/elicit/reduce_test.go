package elicit

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
)

var noon = time.Date(2026, 2, 25, 12, 0, 0, 0, time.UTC)

func float(f float64) *float64 { return &f }

// survey returns a request with a question of every kind.
func survey(t testing.TB) *Request {
	t.Helper()
	r, err := Prepare(Request{Trigger: AskUser, Title: "Component", Questions: []Question{
		{ID: "name", Kind: Text, Message: "What is it called?", Required: true, Min: float(2), Max: float(10)},
		{ID: "mail", Kind: Text, Message: "Whom to write to?", Format: Email},
		{ID: "size", Kind: Number, Message: "How big?", Min: float(0.5), Max: float(9.5)},
		{ID: "count", Kind: Integer, Message: "How many?", Min: float(1)},
		{ID: "sure", Kind: Boolean, Message: "Sure?", Required: true},
		{ID: "style", Kind: SingleSelect, Message: "Which style?", Options: OptionsOf("CSS", "Tailwind"), AllowFreeform: true},
		{ID: "features", Kind: MultiSelect, Message: "Which features?", Options: OptionsOf("Loading", "Errors", "Animation"), Max: float(2)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return opened(t, r)
}

func opened(t testing.TB, r Request) *Request {
	t.Helper()
	next, err := Reduce(nil, Action{Type: Requested, RequestID: "elc_1", Request: &r, At: At(noon)})
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func text(s string) *Value      { return &Value{Kind: TextValue, Text: s} }
func number(f float64) *Value   { return &Value{Kind: NumberValue, Number: f} }
func boolean(b bool) *Value     { return &Value{Kind: BooleanValue, Boolean: b} }
func selected(id string) *Value { return &Value{Kind: SelectedValue, Text: id} }
func many(ids ...string) *Value { return &Value{Kind: SelectedManyValue, Options: ids} }
func words(v *Value, w ...string) *Value {
	v.Freeform = w
	return v
}

func submitted(v *Value) Answer { return Answer{State: Submitted, Value: v} }

// does applies actions that must be accepted.
func does(t testing.TB, r *Request, actions ...Action) *Request {
	t.Helper()
	for _, a := range actions {
		a.RequestID = "elc_1"
		if a.At.IsZero() {
			a.At = At(noon.Add(time.Minute))
		}
		next, err := Reduce(r, a)
		if err != nil {
			t.Fatalf("Reduce(%s) = %v", a.Type, err)
		}
		r = next
	}
	return r
}

func answer(question string, a Answer) Action {
	return Action{Type: AnswerChanged, QuestionID: question, Answer: &a, By: "ada", Channel: "web"}
}

// codes returns a rejection's codes: its own, and one for each question.
func codes(err error) []string {
	var r *Rejection
	if !errors.As(err, &r) {
		return nil
	}
	all := []string{r.Code}
	for _, p := range r.Problems {
		all = append(all, p.QuestionID+" "+p.Code)
	}
	return all
}

func TestAnAnswerFitsItsQuestionOrIsRefused(t *testing.T) {
	long := strings.Repeat("é", 11)
	for name, c := range map[string]struct {
		question string
		answer   Answer
		want     string // the problem's code; empty if the answer is accepted
	}{
		"text":                         {"name", submitted(text(" ab\n\"é🎉")), ""},
		"text too short":               {"name", submitted(text("a")), "too_short"},
		"text counted in characters":   {"name", submitted(text(long[:20])), ""},
		"text too long":                {"name", submitted(text(long)), "too_long"},
		"required text that is blank":  {"name", submitted(text(" \n ")), "required"},
		"optional text that is blank":  {"mail", submitted(text("")), ""},
		"text enormous":                {"mail", Answer{State: Draft, Value: text(strings.Repeat("x", maxTextBytes+1))}, "too_long"},
		"text not UTF-8":               {"mail", Answer{State: Draft, Value: text("\xff")}, "not_text"},
		"mail":                         {"mail", submitted(text("ada@example.org")), ""},
		"mail with a name":             {"mail", submitted(text("Ada <ada@example.org>")), "bad_format"},
		"no mail":                      {"mail", submitted(text("ada")), "bad_format"},
		"number":                       {"size", submitted(number(1.5)), ""},
		"number too small":             {"size", submitted(number(0)), "too_small"},
		"number too big":               {"size", submitted(number(10)), "too_big"},
		"integer":                      {"count", submitted(number(3)), ""},
		"integer with a fraction":      {"count", submitted(number(3.5)), "not_an_integer"},
		"integer beyond exactness":     {"count", submitted(number(1e17)), "not_an_integer"},
		"yes":                          {"sure", submitted(boolean(true)), ""},
		"no is an answer":              {"sure", submitted(boolean(false)), ""},
		"option":                       {"style", submitted(selected("CSS")), ""},
		"option and own words":         {"style", submitted(words(selected("CSS"), "but modules")), ""},
		"own words alone":              {"style", submitted(words(selected(""), "inline")), ""},
		"neither":                      {"style", submitted(selected("")), "required"},
		"blank own words":              {"style", submitted(words(selected(""), "  ")), "blank"},
		"unknown option":               {"style", submitted(selected("Sass")), "unknown_option"},
		"unknown option as a draft":    {"style", Answer{State: Draft, Value: selected("Sass")}, "unknown_option"},
		"options":                      {"features", submitted(many("Errors", "Loading")), ""},
		"no options":                   {"features", submitted(many()), ""},
		"too many options":             {"features", submitted(many("Loading", "Errors", "Animation")), "too_many"},
		"an option twice":              {"features", submitted(many("Errors", "Errors")), "duplicate_option"},
		"own words not asked for":      {"features", submitted(words(many(), "mine")), "freeform_not_allowed"},
		"draft too short":              {"name", Answer{State: Draft, Value: text("a")}, ""},
		"draft too big":                {"size", Answer{State: Draft, Value: number(99)}, ""},
		"draft too many":               {"features", Answer{State: Draft, Value: many("Loading", "Errors", "Animation")}, ""},
		"draft of another kind":        {"name", Answer{State: Draft, Value: number(1)}, "kind_mismatch"},
		"number for text":              {"name", submitted(number(1)), "kind_mismatch"},
		"text for boolean":             {"sure", submitted(text("yes")), "kind_mismatch"},
		"many for one":                 {"style", submitted(many("CSS")), "kind_mismatch"},
		"submitted without value":      {"name", Answer{State: Submitted}, "value_required"},
		"draft without value":          {"name", Answer{State: Draft}, "value_required"},
		"no state":                     {"name", Answer{Value: text("abc")}, "unknown_state"},
		"skipped":                      {"mail", Answer{State: Skipped}, ""},
		"skipped with words":           {"mail", Answer{State: Skipped, Freeform: []string{"no idea"}}, ""},
		"skipped with a value":         {"mail", Answer{State: Skipped, Value: text("x")}, "value_not_allowed"},
		"skipped though required":      {"name", Answer{State: Skipped}, "required"},
		"a question that is not there": {"colour", submitted(text("red")), "unknown_question"},
	} {
		t.Run(name, func(t *testing.T) {
			r := survey(t)
			a := answer(c.question, c.answer)
			a.RequestID = r.ID
			next, err := Reduce(r, a)
			if c.want == "" {
				if err != nil || next.Answers[c.question].Value != c.answer.Value || next.Rev != r.Rev+1 {
					t.Fatalf("Reduce = %+v, %v; want the answer taken", next, err)
				}
				return
			}
			if got := codes(err); !slices.Equal(got, []string{InvalidAnswers, c.question + " " + c.want}) {
				t.Errorf("Reduce = %v (%v), want %s", got, err, c.want)
			}
			if next != r {
				t.Error("a refused action changed the request")
			}
		})
	}
}

func TestAcceptNamesEveryQuestionThatFails(t *testing.T) {
	r := does(t, survey(t), answer("name", Answer{State: Draft, Value: text("abc")}), answer("size", submitted(number(1))))
	_, err := Reduce(r, Action{Type: CompletedBy, RequestID: r.ID, Response: Accept, Answers: map[string]Answer{
		"count": submitted(number(0.5)), "features": submitted(many("Nothing")), "colour": submitted(text("red")),
	}})
	want := []string{InvalidAnswers, "name not_submitted", "count not_an_integer", "sure required", "features unknown_option", "colour unknown_question"}
	if got := codes(err); !slices.Equal(got, want) {
		t.Errorf("Reduce(accept) = %q (%v), want %q", got, err, want)
	}
	if f := fault.Of(err); f == nil || f.Code != InvalidAnswers {
		t.Errorf("fault.Of(%v) = %v, want code %s", err, f, InvalidAnswers)
	}
}

func TestAcceptMergesChecksAndDropsDrafts(t *testing.T) {
	r := does(t, survey(t),
		answer("name", submitted(text("Card"))),
		answer("mail", Answer{State: Draft, Value: text("not sent")}),
		answer("size", Answer{State: Skipped}),
		Action{Type: CompletedBy, Response: Accept, By: "bob", Channel: "terminal", Note: "done", Answers: map[string]Answer{
			"sure": submitted(boolean(false)), "name": submitted(text("Card"))}})
	if r.Status != Completed || r.Completion.Outcome != Accept || r.Completion.By != "bob" || r.Completion.Late {
		t.Errorf("completed as %s %+v, want accepted by bob in time", r.Status, r.Completion)
	}
	if len(r.Answers) != 3 || r.Answers["sure"].Value.Boolean || r.Answers["size"].State != Skipped {
		t.Errorf("answers = %v, want name, sure and a skipped size", r.Answers)
	}
	if by := r.Answers["name"].Meta.By; by != "ada" {
		t.Errorf("name is by %s, want ada, who gave the same answer first", by)
	}
}

func TestWhatWasNotAcceptedIsForgotten(t *testing.T) {
	for _, end := range []Action{
		{Type: CompletedBy, Response: Decline}, {Type: CompletedBy, Response: Cancel}, {Type: Withdrawn, Reason: "asker_gone"},
	} {
		r := does(t, survey(t), answer("name", submitted(text("secret"))), end)
		if b, _ := json.Marshal(r); r.Status != Completed || strings.Contains(string(b), "secret") {
			t.Errorf("after %s %s: %s", end.Type, end.Response, b)
		}
	}
}

func TestTheFirstCompletionWinsAndTheSecondLearnsOfIt(t *testing.T) {
	url := opened(t, Request{Mode: URL, Trigger: CredentialRequired, URL: "https://example.org", Message: "Sign in"})
	for _, first := range []Outcome{Accept, Decline, Cancel} {
		r := does(t, url, Action{Type: CompletedBy, Response: first, By: "ada", Channel: "web"})
		for _, second := range []Action{
			{Type: CompletedBy, Response: Accept}, {Type: CompletedBy, Response: Cancel}, {Type: Withdrawn}, {Type: TimeUp, At: At(noon.Add(time.Hour))},
			{Type: AnswerChanged, QuestionID: "x"}, {Type: Extended}, {Type: Reassigned}, {Type: Requested, Request: r},
		} {
			second.RequestID = r.ID
			next, err := Reduce(r, second)
			var rejected *Rejection
			if !errors.As(err, &rejected) || rejected.Code != AlreadyCompleted || next != r {
				t.Fatalf("%s after %s = %v, %v; want already_completed", second.Type, first, next, err)
			}
			if w := rejected.Winner; w.Outcome != first || w.By != "ada" || w.Channel != "web" || !strings.Contains(err.Error(), "by ada in the browser at 2026-02-25T12:01:00.000Z") {
				t.Errorf("the second learns %+v, %q", w, err)
			}
		}
	}
}

func TestALateAnswerIsKept(t *testing.T) {
	r := survey(t)
	if want := noon.Add(5 * time.Minute); !r.Deadline.Equal(want) {
		t.Fatalf("deadline = %v, want %v", r.Deadline, want)
	}
	if _, err := Reduce(r, Action{Type: TimeUp, RequestID: r.ID, At: At(noon.Add(5*time.Minute - time.Millisecond))}); !slices.Equal(codes(err), []string{NotDue}) {
		t.Errorf("expired early = %v, want not_due", err)
	}
	late := At(noon.Add(6 * time.Minute))
	r = does(t, r, answer("name", submitted(text("Card"))), Action{Type: TimeUp, At: At(noon.Add(5 * time.Minute))})
	if r.Status != ExpiredOpen || r.Completion.Outcome != Timeout || len(r.Answers) != 1 {
		t.Fatalf("after the deadline: %s %+v with %d answers", r.Status, r.Completion, len(r.Answers))
	}
	if seen := r.ForAsker(); seen.Answers != nil {
		t.Errorf("the asker sees drafts: %v", seen.Answers)
	}
	if _, err := Reduce(r, Action{Type: Extended, RequestID: r.ID, Deadline: At(noon.Add(time.Hour)), At: late}); !slices.Equal(codes(err), []string{Expired}) {
		t.Errorf("extending after the deadline = %v, want expired", err)
	}
	r = does(t, r, Action{Type: CompletedBy, Response: Accept, At: late, Answers: map[string]Answer{"sure": submitted(boolean(true))}})
	if r.Status != Completed || r.Completion.Outcome != Accept || !r.Completion.Late || len(r.Answers) != 2 {
		t.Errorf("answered late: %s %+v with %d answers", r.Status, r.Completion, len(r.Answers))
	}
	r = does(t, r, Action{Type: Collected, At: late})
	if again := does(t, r, Action{Type: Collected, At: late}); again != r || r.CollectedAt.IsZero() {
		t.Error("collecting twice changed something")
	}
}

func TestAStaleDraftIsRefusedIfItAsksToBe(t *testing.T) {
	r := does(t, survey(t), answer("name", Answer{State: Draft, Value: text("one")}))
	seen := r.Rev
	r = does(t, r, answer("name", Answer{State: Draft, Value: text("two")}))
	stale := answer("name", Answer{State: Draft, Value: text("three")})
	stale.RequestID, stale.IfRev = r.ID, seen
	if _, err := Reduce(r, stale); !slices.Equal(codes(err), []string{Stale}) {
		t.Errorf("stale draft = %v, want stale", err)
	}
	same := stale
	same.Answer = &Answer{State: Draft, Value: text("two")}
	if again := does(t, r, same); again != r {
		t.Error("a stale draft that says the same changed something")
	}
	stale.QuestionID = "mail"
	if r = does(t, r, stale); r.Answers["mail"].Value.Text != "three" {
		t.Error("a draft of another question was held up")
	}
	stale.IfRev = 0
	stale.QuestionID = "name"
	if r = does(t, r, stale); r.Answers["name"].Value.Text != "three" {
		t.Error("the last writer did not win")
	}
	r = does(t, r, Action{Type: AnswerChanged, QuestionID: "name"})
	if _, there := r.Answers["name"]; there {
		t.Error("an absent answer did not take the draft out")
	}
}

func TestAskingAnewKeepsTheDraftsThatStillFit(t *testing.T) {
	r := does(t, survey(t), answer("name", Answer{State: Draft, Value: text("Card")}),
		answer("style", Answer{State: Draft, Value: selected("CSS")}), answer("sure", submitted(boolean(true))))
	anew := *r
	anew.Questions = slices.Clone(r.Questions[:6]) // the question without features
	anew.Questions[5].Options = OptionsOf("Tailwind")
	anew.Questions[4].Message = "Really sure?"
	anew.Answers, anew.Status = nil, Completed // an asker must not set these
	r = does(t, r, Action{Type: Requested, Request: &anew})
	if _, there := r.Answers["style"]; there || len(r.Answers) != 2 || r.Status != Open || r.Questions[4].Message != "Really sure?" {
		t.Errorf("asked anew: %s with answers %v", r.Status, r.Answers)
	}
}

func TestOnlyTheAudienceAnswers(t *testing.T) {
	r := *survey(t)
	r.Audience = Audience{Principal: "ada", Roles: []string{"lead"}}
	for name, c := range map[string]struct {
		by    string
		roles []string
		ok    bool
	}{
		"named": {"ada", nil, true}, "by role": {"bob", []string{"dev", "lead"}, true}, "stranger": {"bob", []string{"dev"}, false}, "nobody": {"", nil, false},
	} {
		for _, a := range []Action{answer("name", submitted(text("abc"))), {Type: CompletedBy, Response: Decline},
			{Type: Extended, Deadline: At(noon.Add(time.Hour))}, {Type: Reassigned, Audience: &Audience{Principal: "eve"}}} {
			a.RequestID, a.By, a.Roles, a.At = r.ID, c.by, c.roles, At(noon)
			if _, err := Reduce(&r, a); (err == nil) != c.ok || err != nil && !slices.Equal(codes(err), []string{NotYours}) {
				t.Errorf("%s by %s = %v, want taken: %v", a.Type, name, err, c.ok)
			}
		}
	}
}

func TestTheClockMayStartWhenSomebodySees(t *testing.T) {
	r, err := Prepare(Request{Trigger: CLI, Message: "Go on?", Clock: FromPresentation, WaitMS: 60_000})
	if err != nil {
		t.Fatal(err)
	}
	open := opened(t, r)
	if !open.Deadline.IsZero() {
		t.Fatalf("deadline = %v before anybody saw it", open.Deadline)
	}
	seen := does(t, open, Action{Type: PresentedTo, Channel: "web", Client: "tab 1", At: At(noon.Add(time.Hour))})
	if want := noon.Add(time.Hour + time.Minute); !seen.Deadline.Equal(want) {
		t.Errorf("deadline = %v, want %v", seen.Deadline, want)
	}
	if again := does(t, seen, Action{Type: PresentedTo, Channel: "web", Client: "tab 1", At: At(noon.Add(2 * time.Hour))}); again != seen {
		t.Error("the same client saw it twice")
	}
}

func TestActionsThatAreUnknownOrWithoutARequest(t *testing.T) {
	r := survey(t)
	if next, err := Reduce(r, Action{Type: "sung", RequestID: r.ID}); next != r || err != nil {
		t.Errorf("unknown action = %v, %v; want nothing changed", next, err)
	}
	for _, a := range []ActionType{AnswerChanged, CompletedBy, PresentedTo, TimeUp, "sung"} {
		if next, err := Reduce(nil, Action{Type: a, RequestID: "elc_x"}); next != nil || !slices.Equal(codes(err), []string{UnknownRequest}) {
			t.Errorf("%s without a request = %v, %v; want unknown_request", a, next, err)
		}
	}
	for _, response := range []Outcome{"", "yes", Timeout, Abandoned, "completed"} {
		if _, err := Reduce(r, Action{Type: CompletedBy, RequestID: r.ID, Response: response}); !slices.Equal(codes(err), []string{Malformed}) {
			t.Errorf("response %q = %v, want malformed", response, err)
		}
	}
}
