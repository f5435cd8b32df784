package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	asktools "github.com/deskhand/deskhand/runtime/tools/ask"
)

// askDoor is a server that asks, spoken to by hand, and a person at another
// process over the same store.
type askDoor struct {
	*pipe
	hub *elicit.Hub
}

func askingDoor(t *testing.T) *askDoor {
	t.Helper()
	state := filepath.Join(t.TempDir(), "state")
	return &askDoor{overPipe(t, "--tools", "ask", "--state", state), inboxOf(t, state)}
}

// toolResult is a result of tools/call as it came.
type toolResult struct {
	Content []struct{ Type, Text string }
	// StructuredContent has the fields of the first text, and more.
	StructuredContent json.RawMessage
	IsError           bool
	Meta              map[string]any `json:"_meta"`
	// of 2026-07-28
	ResultType    string
	RequestState  string
	InputRequests map[string]struct {
		Method string
		Params struct {
			Mode, Message   string
			RequestedSchema json.RawMessage
		}
	}
}

// output is the answer, which everything that was not refused has.
func (r toolResult) output(t *testing.T) (out asktools.Output) {
	t.Helper()
	if r.IsError || len(r.Content) == 0 || r.Content[0].Type != "text" {
		t.Fatalf("ask_user = %+v, want an answer", r)
	}
	if err := json.Unmarshal([]byte(r.Content[0].Text), &out); err != nil {
		t.Fatalf("ask_user = %q: %v", r.Content[0].Text, err)
	}
	return out
}

// call makes one call and reads its result; it may be used beside the test.
func (d *askDoor) call(params string) (r toolResult) {
	m, err := d.pipe.ask("tools/call", params)
	if err == nil && m.Error != nil {
		err = fmt.Errorf("error %d: %s", m.Error.Code, m.Error.Message)
	}
	if err == nil {
		err = json.Unmarshal(m.Result, &r)
	}
	if err != nil {
		d.t.Errorf("tools/call %.200s: %v", params, err)
	}
	return r
}

// asks calls ask_user and does what the person does, as soon as there is the
// question.
func (d *askDoor) asks(t *testing.T, args string, does func(elicit.Request)) toolResult {
	t.Helper()
	results := make(chan toolResult, 1)
	go func() { results <- d.call(`{"name":"ask_user","arguments":` + args + `}`) }()
	does(oneOpen(t, d.hub))
	select {
	case r := <-results:
		return r
	case <-time.After(patience):
		t.Fatalf("ask_user %.200s does not end", args)
		return toolResult{}
	}
}

// answered is what an agent gets for an answer; fields are named as in forms,
// "#1" for the first question.
func (d *askDoor) answered(t *testing.T, args string, fields map[string][]string) asktools.Output {
	t.Helper()
	return d.asks(t, args, func(r elicit.Request) { d.accept(t, r, fields) }).output(t)
}

func (d *askDoor) accept(t *testing.T, r elicit.Request, fields map[string][]string) {
	t.Helper()
	byID := map[string][]string{}
	for name, texts := range fields {
		for i, q := range r.Questions {
			name = strings.Replace(name, fmt.Sprintf("#%d", i+1), q.ID, 1)
		}
		byID[name] = texts
	}
	answers, err := r.Fields(byID)
	if err != nil {
		t.Fatal(err)
	}
	d.ends(t, r, elicit.Accept, answers)
}

func (d *askDoor) ends(t *testing.T, r elicit.Request, how elicit.Outcome, answers map[string]elicit.Answer) {
	t.Helper()
	if _, err := d.hub.Dispatch(t.Context(), elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: how, Answers: answers}); err != nil {
		t.Fatal(err)
	}
}

// taken wants a call to be asked, and returns what is asked.
func (d *askDoor) taken(t *testing.T, args string) (asked elicit.Request) {
	t.Helper()
	d.asks(t, args, func(r elicit.Request) {
		asked = r
		d.ends(t, r, elicit.Cancel, nil)
	})
	return asked
}

// refused wants a validation error that contains a text, and nobody asked.
func (d *askDoor) refused(t *testing.T, args, want string) {
	t.Helper()
	r := d.call(`{"name":"ask_user","arguments":` + args + `}`)
	if !r.IsError || len(r.Content) != 1 || !strings.HasPrefix(r.Content[0].Text, "Validation error: ") || !strings.Contains(r.Content[0].Text, want) {
		t.Errorf("ask_user %.200s = %+v, want a validation error with %q", args, r, want)
	}
	if list, err := d.hub.List(t.Context(), elicit.Filter{}); err != nil || len(list.Requests) > 0 {
		t.Errorf("ask_user %.200s was refused, and open are %v, %v", args, list.Requests, err)
	}
}

// one is a call of one question with further members.
func one(members string) string { return `{"questions":[{"question":"Which?"` + members + `}]}` }

func sized(n int) string {
	return `{"questions":[` + strings.TrimSuffix(strings.Repeat(`{"question":"a?"},`, n), ",") + `]}`
}

// first are the values of the only answer.
func first(t *testing.T, out asktools.Output) []string {
	t.Helper()
	if !out.Answered || len(out.Answers) != 1 {
		t.Fatalf("ask_user = %+v, want one answer", out)
	}
	return out.Answers[0].Values
}

func equal(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("values %q, want %q", got, want)
	}
}

func TestAskUserIsPublishedAsItsContractSays(t *testing.T) {
	t.Setenv("CI", "")
	d := askingDoor(t)
	var list struct{ Tools []tool }
	if err := json.Unmarshal(d.rpc("tools/list", `{}`), &list); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list.Tools, func(one tool) bool { return one.Name == "ask_user" })
	type questionInfo struct {
		Required   []string
		Properties map[string]struct {
			Type    string
			Enum    []string
			Default any
		}
	}
	var schema struct {
		Required   []string
		Properties struct {
			Questions struct {
				MinItems, MaxItems int
				Items              questionInfo
			}
			Title   struct{ MaxLength int }
			Timeout struct{ Minimum, Maximum, Default int }
		}
		Definitions map[string]questionInfo
	}
	t.Run("A-001 name", func(t *testing.T) {
		if i < 0 {
			t.Fatalf("the tools are %v", list.Tools)
		}
		if err := json.Unmarshal(list.Tools[i].InputSchema, &schema); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("A-002 description", func(t *testing.T) {
		for _, phrase := range []string{"user input, clarification, or confirmation", "blocks until the user responds", "deskhand"} {
			if !strings.Contains(list.Tools[i].Description, phrase) {
				t.Errorf("the description does not say %q: %s", phrase, list.Tools[i].Description)
			}
		}
	})
	t.Run("A-006 at least one question", func(t *testing.T) { same(t, schema.Properties.Questions.MinItems, 1) })
	t.Run("A-007 at most ten", func(t *testing.T) { same(t, schema.Properties.Questions.MaxItems, 10) })
	t.Run("A-016 the shape of a question", func(t *testing.T) {
		// What the schema takes and refuses is compared with the tool, and with the
		// specification's schema, in the tests of the tool.
		same(t, schema.Required, []string{"questions"})
		same(t, schema.Properties.Title.MaxLength, 100)
		q := schema.Properties.Questions.Items
		same(t, q.Required, []string{"question"})
		same(t, q.Properties["type"].Enum, []string{"text", "select", "multi-select", "confirm"})
		same(t, q.Properties["required"].Default, any(true))
		t.Setenv("DESKHAND_ELICITATION_SCHEMA", "ref")
		if err := json.Unmarshal(askingDoor(t).rpc("tools/list", `{}`), &list); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(list.Tools[i].InputSchema, &schema); err != nil {
			t.Fatal(err)
		}
		q = schema.Definitions["QuestionInfo"]
		same(t, q.Required, []string{"question"})
		same(t, len(q.Properties), 6)
		same(t, q.Properties["type"].Enum, []string{"text", "select", "multi-select", "confirm"})
		same(t, q.Properties["type"].Default, any("text"))
		same(t, q.Properties["required"].Default, any(true))
	})
	t.Run("A-015 five minutes by default", func(t *testing.T) {
		same(t, schema.Properties.Timeout, struct{ Minimum, Maximum, Default int }{10_000, 1_800_000, 300_000})
		r := d.taken(t, one(``))
		same(t, r.Deadline.Sub(r.CreatedAt.Time), 300*time.Second)
	})
	t.Run("A-065 how to ask well", func(t *testing.T) {
		for _, phrase := range []string{"1-3 short questions", "select or multi-select", "likely answers as options", "confirm for yes or no", "a title that names the subject", `"cancelled"`, `"timedOut"`} {
			if !strings.Contains(list.Tools[i].Description, phrase) {
				t.Errorf("the description does not say %q", phrase)
			}
		}
		stated(t, "guides/ask-a-person.md", "1 to 3 short questions", "pick the type", "cancelled:", "timedOut:", "a title that names the subject")
	})
	t.Run("A-066 a text for the instructions of an agent", func(t *testing.T) {
		stated(t, "guides/ask-a-person.md", "When you need input from a person, call ask_user.", "answered: go on with it", "offer to ask again")
	})
}

func same[T any](t *testing.T, got, want T) {
	t.Helper()
	if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
}

func TestWhatAskUserTakes(t *testing.T) {
	t.Setenv("CI", "")
	d := askingDoor(t)
	t.Run("A-004 questions are required", func(t *testing.T) { d.refused(t, `{}`, "questions is required") })
	t.Run("A-005 questions are a list of objects", func(t *testing.T) {
		d.refused(t, `{"questions":"x"}`, "array")
		d.refused(t, `{"questions":{}}`, "array")
		d.refused(t, `{"questions":[1]}`, "object")
	})
	t.Run("A-008 ten questions", func(t *testing.T) { same(t, len(d.taken(t, sized(10)).Questions), 10) })
	t.Run("A-009 eleven questions", func(t *testing.T) { d.refused(t, sized(11), "questions array exceeds maximum of 10") })
	t.Run("A-010 the title has 100 characters", func(t *testing.T) {
		for _, letter := range []string{"x", "漢"} {
			title := strings.Repeat(letter, 100)
			same(t, d.taken(t, `{"title":"`+title+`","questions":[{"question":"a?"}]}`).Title, title)
			d.refused(t, `{"title":"`+title+letter+`","questions":[{"question":"a?"}]}`, "title exceeds maximum of 100")
		}
	})
	timeout := func(v string) string { return `{"questions":[{"question":"a?"}],"timeout":` + v + `}` }
	waits := func(t *testing.T, v string, want time.Duration) {
		t.Helper()
		r := d.taken(t, timeout(v))
		same(t, r.Deadline.Sub(r.CreatedAt.Time), want)
	}
	t.Run("A-012 the timeout is whole milliseconds", func(t *testing.T) {
		d.refused(t, timeout(`10000.5`), "integer")
		d.refused(t, timeout(`"10000"`), "integer")
	})
	t.Run("A-013 ten seconds at least", func(t *testing.T) {
		d.refused(t, timeout(`9999`), "between 10000 and 1800000")
		waits(t, `10000`, 10*time.Second)
	})
	t.Run("A-014 half an hour at most", func(t *testing.T) {
		d.refused(t, timeout(`1800001`), "between 10000 and 1800000")
		waits(t, `1800000`, 30*time.Minute)
	})
	t.Run("A-017 a text is required", func(t *testing.T) {
		d.refused(t, `{"questions":[{}]}`, "question text is required")
		same(t, d.taken(t, one(``)).Questions[0].Message, "Which?")
	})
	t.Run("A-018 and not empty", func(t *testing.T) { d.refused(t, `{"questions":[{"question":""}]}`, "question text is required") })
	t.Run("A-019 and has 1000 characters at most", func(t *testing.T) {
		for _, letter := range []string{"x", "漢"} {
			long := strings.Repeat(letter, 1000)
			same(t, d.taken(t, `{"questions":[{"question":"`+long+`"}]}`).Questions[0].Message, long)
			d.refused(t, `{"questions":[{"question":"`+long+letter+`"}]}`, "maximum of 1000")
		}
	})
	t.Run("A-020 markdown reaches the inbox as it was written", func(t *testing.T) {
		const text = "Delete **all** of `build/`? <script>alert(1)</script>"
		same(t, d.taken(t, `{"questions":[{"question":`+encoded(t, text)+`}]}`).Questions[0].Message, text)
	})
	t.Run("A-021 an id is kept, two equal ones are refused", func(t *testing.T) {
		out := d.answered(t, one(`,"id":"port"`), map[string][]string{"port": {"80"}})
		same(t, out.Answers[0].QuestionID, "port")
		d.refused(t, `{"questions":[{"id":"x","question":"a"},{"id":"x","question":"b"}]}`, `question id "x" is used twice`)
		stated(t, "reference/tools/ask_user.md", "two equal ids in a call are refused")
	})
	t.Run("A-022 an id is made", func(t *testing.T) {
		var ids []string
		out := d.asks(t, sized(2), func(r elicit.Request) {
			ids = []string{r.Questions[0].ID, r.Questions[1].ID}
			d.accept(t, r, map[string][]string{"#1": {"x"}, "#2": {"y"}})
		}).output(t)
		same(t, []string{out.Answers[0].QuestionID, out.Answers[1].QuestionID}, ids)
		if ids[0] == ids[1] || !strings.HasPrefix(ids[0], "q_") {
			t.Errorf("ids %q, want two like q_123abc", ids)
		}
	})
	t.Run("A-023 four types", func(t *testing.T) {
		d.refused(t, one(`,"type":"x"`), "type must be one of text, select, multi-select, confirm")
		for name, kind := range map[string]elicit.Kind{"text": elicit.Text, "select": elicit.SingleSelect, "multi-select": elicit.MultiSelect, "confirm": elicit.Boolean} {
			same(t, d.taken(t, one(`,"type":"`+name+`","options":["a"]`)).Questions[0].Kind, kind)
		}
	})
	t.Run("A-024 text by default", func(t *testing.T) { same(t, d.taken(t, one(``)).Questions[0].Kind, elicit.Text) })
	t.Run("A-025 options of a select, in order", func(t *testing.T) {
		for _, kind := range []string{"select", "multi-select"} {
			d.refused(t, one(`,"type":"`+kind+`"`), "Options required for select/multi-select")
			d.refused(t, one(`,"type":"`+kind+`","options":[]`), "Options required for select/multi-select")
			same(t, d.taken(t, one(`,"type":"`+kind+`","options":["z","a","m"]`)).Questions[0].Options, elicit.OptionsOf("z", "a", "m"))
		}
	})
	t.Run("A-026 options of anything else are ignored", func(t *testing.T) {
		equal(t, first(t, d.answered(t, one(`,"type":"text","options":["a"]`), map[string][]string{"#1": {"b"}})), "b")
		equal(t, first(t, d.answered(t, one(`,"type":"confirm","options":["a"]`), map[string][]string{"#1": {"yes"}})), "yes")
	})
	t.Run("A-029 a placeholder", func(t *testing.T) {
		same(t, d.taken(t, one(`,"placeholder":"e.g., 8080"`)).Questions[0].Placeholder, "e.g., 8080")
	})
	t.Run("A-030 unknown fields are ignored", func(t *testing.T) {
		d.taken(t, `{"questions":[{"question":"a?","colour":"red"}],"mood":{"deep":[1]}}`)
		stated(t, "reference/tools/ask_user.md", "Fields that are not listed here are ignored")
	})
}

func TestAnswersOfAskUser(t *testing.T) {
	t.Setenv("CI", "")
	d := askingDoor(t)
	t.Run("A-003 the call blocks", func(t *testing.T) {
		const slow = 250 * time.Millisecond
		since := time.Now()
		d.asks(t, one(``), func(r elicit.Request) {
			time.Sleep(slow)
			d.accept(t, r, map[string][]string{"#1": {"x"}})
		})
		if took := time.Since(since); took < slow || took > slow+10*time.Second {
			t.Errorf("the answer came after %v, want %v", took, slow)
		}
	})
	t.Run("A-011 the title heads the dialog", func(t *testing.T) {
		const args = `{"title":"Naming","questions":[{"question":"What is it called?"}]}`
		d.asks(t, args, func(r elicit.Request) {
			shown := done(t, t.TempDir(), "ask", "show", r.ID, "--state", d.state())
			if title, text := strings.Index(shown, "Naming"), strings.Index(shown, "What is it called?"); title < 0 || text < title {
				t.Errorf("ask show = %s, want the title first", shown)
			}
			d.ends(t, r, elicit.Cancel, nil)
		})
	})
	t.Run("A-027 an answer is required by default", func(t *testing.T) {
		d.asks(t, one(``), func(r elicit.Request) {
			got := deskhand(t, t.TempDir(), "ask", "answer", r.ID, "--state", d.state())
			if got.code == 0 || !strings.Contains(got.stderr, "an answer is required") {
				t.Errorf("ask answer without an answer: exit %d, %s", got.code, got.stderr)
			}
			same(t, oneOpen(t, d.hub).ID, r.ID)
			d.ends(t, r, elicit.Cancel, nil)
		})
	})
	t.Run("A-028 unless it may be skipped", func(t *testing.T) {
		out := d.answered(t, one(`,"required":false`), nil)
		equal(t, first(t, out))
	})
	t.Run("A-031 answered", func(t *testing.T) {
		same(t, d.answered(t, one(``), map[string][]string{"#1": {"x"}}).Answered, true)
	})
	for _, how := range []elicit.Outcome{elicit.Cancel, elicit.Decline} {
		r := d.asks(t, one(``), func(r elicit.Request) { d.ends(t, r, how, nil) })
		t.Run("A-032 cancelled: "+string(how), func(t *testing.T) { same(t, r.output(t).Cancelled, true) })
		t.Run("A-036 no answers then", func(t *testing.T) {
			if !strings.Contains(r.Content[0].Text, `"answers":[]`) {
				t.Errorf("ask_user = %s, want an empty list", r.Content[0].Text)
			}
		})
	}
	t.Run("A-034 one of the three", func(t *testing.T) { // and of a timeout in TestTimeIsUp
		for how, answers := range map[elicit.Outcome]map[string][]string{elicit.Accept: {"#1": {"x"}}, elicit.Decline: nil, elicit.Cancel: nil} {
			out := d.asks(t, one(``), func(r elicit.Request) {
				if how == elicit.Accept {
					d.accept(t, r, answers)
				} else {
					d.ends(t, r, how, nil)
				}
			}).output(t)
			if n := trues(out.Answered, out.Cancelled, out.TimedOut); n != 1 {
				t.Errorf("%s: %+v, want one that is true", how, out)
			}
		}
	})
	t.Run("A-035 an answer for each question, in order", func(t *testing.T) {
		out := d.answered(t, `{"questions":[{"id":"c","question":"1"},{"id":"a","question":"2","required":false},{"id":"b","question":"3","type":"confirm"}]}`,
			map[string][]string{"b": {"yes"}, "c": {"x"}})
		same(t, out.Answers, []asktools.Answer{{QuestionID: "c", Values: []string{"x"}}, {QuestionID: "a", Values: []string{}}, {QuestionID: "b", Values: []string{"yes"}}})
	})
	t.Run("A-038 named after its question", func(t *testing.T) {
		same(t, d.answered(t, one(`,"id":"the id"`), map[string][]string{"the id": {"x"}}).Answers[0].QuestionID, "the id")
	})
	t.Run("A-039 a text", func(t *testing.T) {
		equal(t, first(t, d.answered(t, one(``), map[string][]string{"#1": {"some text"}})), "some text")
	})
	t.Run("A-040 one option", func(t *testing.T) {
		equal(t, first(t, d.answered(t, one(`,"type":"select","options":["Vue","Solid"]`), map[string][]string{"#1": {"Solid"}})), "Solid")
	})
	t.Run("A-041 several, in the order of the options", func(t *testing.T) {
		const args = `,"type":"multi-select","options":["a","b","c"],"required":false`
		equal(t, first(t, d.answered(t, one(args), map[string][]string{"#1": {"c", "a"}})), "a", "c")
		equal(t, first(t, d.answered(t, one(args), map[string][]string{"#1": {}})))
	})
	t.Run("A-042 yes or no", func(t *testing.T) {
		for _, word := range []string{"yes", "no"} {
			equal(t, first(t, d.answered(t, one(`,"type":"confirm"`), map[string][]string{"#1": {word}})), word)
		}
	})
	t.Run("A-043 own words", func(t *testing.T) {
		const args = `,"type":"select","options":["Vue","Solid"]`
		out := d.answered(t, one(args), map[string][]string{"#1__other": {"none of them"}})
		same(t, out.Answers[0], asktools.Answer{QuestionID: out.Answers[0].QuestionID, Values: []string{}, CustomText: "none of them"})
		r := d.asks(t, one(args), func(r elicit.Request) { d.accept(t, r, map[string][]string{"#1": {"Vue"}}) })
		if strings.Contains(r.Content[0].Text, "customText") {
			t.Errorf("ask_user = %s, want no customText", r.Content[0].Text)
		}
	})
	t.Run("A-044 no option that is not there", func(t *testing.T) {
		d.asks(t, one(`,"type":"select","options":["Vue","Solid"]`), func(r elicit.Request) {
			got := deskhand(t, t.TempDir(), "ask", "answer", r.ID, "#1=Purple", "--state", d.state())
			if got.code == 0 || !strings.Contains(got.stderr, `there is no option "Purple"`) {
				t.Errorf("ask answer Purple: exit %d, %s", got.code, got.stderr)
			}
			same(t, oneOpen(t, d.hub).ID, r.ID)
			d.ends(t, r, elicit.Cancel, nil)
		})
	})
	answer := d.asks(t, one(`,"id":"q"`), func(r elicit.Request) { d.accept(t, r, map[string][]string{"q": {"<b> & ünï"}}) })
	t.Run("A-045 one text, of four keys", func(t *testing.T) {
		var keys map[string]json.RawMessage
		if len(answer.Content) != 1 || answer.Content[0].Type != "text" || json.Unmarshal([]byte(answer.Content[0].Text), &keys) != nil || len(keys) != 4 {
			t.Errorf("ask_user = %+v, want one text of four keys", answer)
		}
	})
	t.Run("A-046 the same, structured, with what a model needs that sees only that", func(t *testing.T) {
		var text, structured map[string]any
		if json.Unmarshal([]byte(answer.Content[0].Text), &text) != nil || json.Unmarshal(answer.StructuredContent, &structured) != nil {
			t.Fatalf("ask_user = %+v, want JSON twice", answer)
		}
		if id, _ := structured["request_id"].(string); !strings.HasPrefix(id, "elc_") || structured["outcome"] != "accept" {
			t.Errorf("structured content %s, want a request_id and the outcome accept", answer.StructuredContent)
		}
		maps.DeleteFunc(structured, func(field string, _ any) bool { return field == "request_id" || field == "outcome" })
		same(t, structured, text)
	})
	t.Run("A-047 in the same call", func(t *testing.T) { equal(t, first(t, answer.output(t)), "<b> & ünï") })
	t.Run("A-048 a text as it was written", func(t *testing.T) {
		for _, text := range []string{"  leading\nand \"quoted\" \\ ", "🙂👩‍👩‍👧 \u2028", "مرحبا \u200fabc", strings.Repeat("ten KB ", 1500)} {
			equal(t, first(t, d.answered(t, one(``), map[string][]string{"#1": {text}})), text)
		}
	})
}

// state is the folder that the server was started with.
func (d *askDoor) state() string { return d.cmd.Args[slices.Index(d.cmd.Args, "--state")+1] }

func trues(all ...bool) (n int) {
	for _, one := range all {
		if one {
			n++
		}
	}
	return n
}

func TestExamplesOfAskUser(t *testing.T) {
	t.Setenv("CI", "")
	d := askingDoor(t)
	for _, c := range []struct {
		name   string
		args   string
		fields map[string][]string // nil: the person cancels
		want   string              // ids that are made are q
	}{
		{"A-049 text with placeholder", `{"questions":[{"question":"What would you like to name this function?","type":"text","placeholder":"e.g., processUserData"}]}`,
			map[string][]string{"#1": {"handleUserSubmission"}},
			`{"answered":true,"cancelled":false,"timedOut":false,"answers":[{"questionId":"q","values":["handleUserSubmission"]}]}`},
		{"A-050 select with title", `{"questions":[{"question":"Which framework would you prefer?","type":"select","options":["React","Vue","Svelte","Solid"]}],"title":"Framework Selection"}`,
			map[string][]string{"#1": {"Solid"}},
			`{"answered":true,"cancelled":false,"timedOut":false,"answers":[{"questionId":"q","values":["Solid"]}]}`},
		{"A-051 confirm: yes", `{"questions":[{"question":"This will delete 15 files. Are you sure?","type":"confirm"}],"title":"Confirm Deletion"}`,
			map[string][]string{"#1": {"yes"}},
			`{"answered":true,"cancelled":false,"timedOut":false,"answers":[{"questionId":"q","values":["yes"]}]}`},
		{"A-051 confirm: no", `{"questions":[{"question":"This will delete 15 files. Are you sure?","type":"confirm"}],"title":"Confirm Deletion"}`,
			map[string][]string{"#1": {"no"}},
			`{"answered":true,"cancelled":false,"timedOut":false,"answers":[{"questionId":"q","values":["no"]}]}`},
		{"A-052 three questions", `{"questions":[{"id":"name","question":"What should the component be called?","type":"text"},{"id":"style","question":"Which styling approach?","type":"select","options":["CSS Modules","Styled Components","Tailwind","Plain CSS"]},{"id":"features","question":"Which features should be included?","type":"multi-select","options":["Loading state","Error handling","Animation","Accessibility"]}],"title":"Component Configuration"}`,
			map[string][]string{"name": {"UserProfileCard"}, "style": {"Tailwind"}, "features": {"Accessibility", "Loading state", "Error handling"}},
			`{"answered":true,"cancelled":false,"timedOut":false,"answers":[{"questionId":"name","values":["UserProfileCard"]},{"questionId":"style","values":["Tailwind"]},{"questionId":"features","values":["Loading state","Error handling","Accessibility"]}]}`},
		{"A-053 cancel", `{"questions":[{"question":"Any additional requirements?"}]}`, nil,
			`{"answered":false,"cancelled":true,"timedOut":false,"answers":[]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var id string
			got := d.asks(t, c.args, func(r elicit.Request) {
				id = r.Questions[0].ID
				if c.fields == nil {
					d.ends(t, r, elicit.Cancel, nil)
				} else {
					d.accept(t, r, c.fields)
				}
			})
			text := got.Content[0].Text
			if strings.HasPrefix(id, "q_") {
				text = strings.Replace(text, id, "q", 1)
			}
			same(t, text, c.want)
		})
	}
}

func TestErrorsOfAskUser(t *testing.T) {
	t.Setenv("CI", "")
	d := askingDoor(t)
	t.Run("A-055 a result that is an error", func(t *testing.T) { d.refused(t, `{"questions":5}`, "") })
	t.Run("A-056 no question", func(t *testing.T) {
		d.refused(t, `{"questions":[]}`, "questions array must have at least 1 item")
	})
	t.Run("A-057 to the letter", func(t *testing.T) {
		r := d.call(`{"name":"ask_user","arguments":{"questions":[]}}`)
		same(t, r.Content[0].Text, "Validation error: questions array must have at least 1 item")
	})
	t.Run("A-058 too many", func(t *testing.T) { d.refused(t, sized(11), "questions array exceeds maximum of 10") })
	t.Run("A-059 no options", func(t *testing.T) {
		d.refused(t, one(`,"type":"select"`), "Options required for select/multi-select")
		d.refused(t, one(`,"type":"multi-select","options":[]`), "Options required for select/multi-select")
	})
	t.Run("A-060 no text", func(t *testing.T) {
		d.refused(t, `{"questions":[{"question":""}]}`, "question text is required")
		d.refused(t, `{"questions":[{}]}`, "question text is required")
	})
	t.Run("A-061 nothing is asked then", func(t *testing.T) {
		list, err := d.hub.List(t.Context(), elicit.Filter{Statuses: []elicit.Status{elicit.Open, elicit.ExpiredOpen, elicit.Completed}})
		if err != nil || len(list.Requests) > 0 {
			t.Errorf("the history has %v, %v; want nothing of what was refused", list.Requests, err)
		}
	})
}

// The contract would have a late answer refused. We keep it, as decided: the
// result of the call stays what it was, and the person is told that it is late.
func TestTimeIsUp(t *testing.T) {
	t.Setenv("CI", "")
	d := askingDoor(t)
	var id string
	since := time.Now()
	r := d.asks(t, `{"questions":[{"question":"Please confirm within 30 seconds","type":"confirm"}],"timeout":10000}`,
		func(r elicit.Request) { id = r.ID })
	took := time.Since(since)
	t.Run("A-054 at its time", func(t *testing.T) {
		same(t, r.Content[0].Text, `{"answered":false,"cancelled":false,"timedOut":true,"answers":[]}`)
		asked, err := d.hub.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		// The rest of the way is as long as this machine is slow.
		if ended := asked.Completion.At.Sub(asked.CreatedAt.Time); ended < 10*time.Second || ended > 11*time.Second || took < ended {
			t.Errorf("it ended after %v and came after %v, want 10 s", ended, took)
		}
	})
	t.Run("A-033 timed out", func(t *testing.T) { same(t, r.output(t).TimedOut, true) })
	t.Run("A-034 and nothing else", func(t *testing.T) {
		out := r.output(t)
		same(t, trues(out.Answered, out.Cancelled, out.TimedOut), 1)
	})
	t.Run("A-037 no answers then", func(t *testing.T) {
		if !strings.Contains(r.Content[0].Text, `"answers":[]`) {
			t.Errorf("ask_user = %s, want an empty list", r.Content[0].Text)
		}
	})
	t.Run("A-062 a late answer is late", func(t *testing.T) {
		if shown := done(t, t.TempDir(), "ask", "list", "--state", d.state()); !strings.Contains(shown, id+"  expired") {
			t.Errorf("ask list = %s, want %s expired", shown, id)
		}
		got := deskhand(t, t.TempDir(), "ask", "answer", id, "#1=yes", "--state", d.state())
		if got.code != 0 || !strings.Contains(got.stderr, "after the deadline") {
			t.Errorf("ask answer: exit %d, %s; want that it is late", got.code, got.stderr)
		}
		stated(t, "guides/ask-a-person.md", "After the deadline, deskhand tells the agent that nobody answered.")
	})
}

// The contract would have a question leave the inbox with its client. Ours
// stays, last and marked, until its deadline: see the page of the tool.
func TestAClientThatGoesAway(t *testing.T) {
	t.Setenv("CI", "")
	t.Run("A-063 a call that is cancelled", func(t *testing.T) {
		d := askingDoor(t)
		r := d.leave(t, func(id string) {
			d.line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
		})
		d.ends(t, r, elicit.Cancel, nil)
	})
	t.Run("A-063 a client that disconnects", func(t *testing.T) {
		d := askingDoor(t)
		d.leave(t, func(string) { d.in.Close() })
	})
	stated(t, "reference/tools/ask_user.md", "leaves the question open, marked and sorted last, until its deadline")
}

// leave makes a call and goes away as leaves does; the question is then marked.
func (d *askDoor) leave(t *testing.T, leaves func(id string)) (r elicit.Request) {
	t.Helper()
	d.line(`{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"ask_user","arguments":` + one(``) + `}}`)
	r = oneOpen(t, d.hub)
	if r.AskerGone {
		t.Fatal("nobody waits from the beginning")
	}
	leaves("99")
	eventually(t, "the question is marked", func() error {
		var err error
		if r, err = d.hub.Get(t.Context(), r.ID); err == nil && !r.AskerGone {
			err = fmt.Errorf("%s is waited for", r.ID)
		}
		return err
	})
	return r
}

func TestCallsAtOnceAreNotMixedUp(t *testing.T) {
	t.Setenv("CI", "")
	d := askingDoor(t)
	t.Run("A-064 two calls, two questions", func(t *testing.T) {
		results := map[string]chan toolResult{"Left?": make(chan toolResult, 1), "Right?": make(chan toolResult, 1)}
		for text, result := range results {
			go func() {
				result <- d.call(`{"name":"ask_user","arguments":{"questions":[{"question":"` + text + `"}]}}`)
			}()
		}
		for text := range results {
			d.accept(t, newest(t, d.hub, text), map[string][]string{"#1": {"to " + text}})
		}
		for text, result := range results {
			equal(t, first(t, (<-result).output(t)), "to "+text)
		}
	})
}
