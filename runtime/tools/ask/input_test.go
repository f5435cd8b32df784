package ask

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/contract/contracttest"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

func TestToolsAreAsClientsWantThem(t *testing.T) {
	for _, prefix := range []string{"", "acme"} {
		for _, one := range New(Options{Prefix: prefix}).Tools() {
			// The specification's own schema has a reference, and says nothing of it.
			if err := contracttest.Check(one); err != nil && err.Error() != one.Name+": input.questions/items: $ref" {
				t.Error(err)
			}
			if prefix != "" && !strings.HasPrefix(one.Name, "acme_") {
				t.Errorf("%s has no prefix", one.Name)
			}
			if prefix != "" && strings.Contains(one.Description, " await_answer") {
				t.Errorf("%s speaks of a tool by another name: %s", one.Name, one.Description)
			}
		}
	}
	if err := contracttest.Check(New(Options{InlineSchema: true}).askUser()); err != nil {
		t.Errorf("inline: %v", err)
	}
}

// asks is the arguments of one question, with these members.
func asks(members string) string { return `{"questions":[{"question":"Which?"` + members + `}]}` }

func TestEveryProblemOfACallIsNamed(t *testing.T) {
	const bounds = "timeout must be between 10000 and 1800000 milliseconds"
	for args, want := range map[string]string{
		`{"questions":[{"question":""}],"timeout":5}`: bounds + "; question text is required",
		`{"questions":[],"timeout":5}`:                bounds + "; questions array must have at least 1 item",
	} {
		if _, err := read(json.RawMessage(args), elicit.Request{WaitMS: 300}); err == nil || err.Error() != "Validation error: "+want {
			t.Errorf("read(%s) = %v, want %s", args, err, want)
		}
	}
	if r, err := read(json.RawMessage(asks(``)), elicit.Request{WaitMS: 300}); err != nil || r.WaitMS != 300 {
		t.Errorf("a call without a timeout waits %d ms, %v; want what the desk was made with, 300", r.WaitMS, err)
	}
}

// The published schema and what the tool takes agree; what it cannot say is
// marked: it lets through what the tool refuses.
func TestThePublishedSchemaSaysWhatIsTaken(t *testing.T) {
	for name, inline := range map[string]bool{"with a reference": false, "inline": true} {
		t.Run(name, func(t *testing.T) { takes(t, New(Options{InlineSchema: inline}).askUser()) })
	}
}

func takes(t *testing.T, tool contract.Tool) {
	t.Helper()
	var schema jsonschema.Schema
	if err := json.Unmarshal(tool.Input, &schema); err != nil {
		t.Fatal(err)
	}
	published, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	ten := strings.TrimSuffix(strings.Repeat(`{"question":"a"},`, 10), ",")
	cjk := strings.Repeat("漢", 100)
	const unsaid = "the schema does not say so"
	for args, why := range map[string]string{
		asks(``):                         "",
		`{"questions":[` + ten + `]}`:    "",
		`{"questions":[` + ten + `,{}]}`: "exceeds maximum of 10",
		`{"questions":[{"question":"` + strings.Repeat("漢", 1000) + `"}]}`: "",
		`{"questions":[{"question":"` + strings.Repeat("漢", 1001) + `"}]}`: unsaid,
		`{"questions":[{"question":""}]}`:                                  unsaid,
		`{"questions":[],"title":"x"}`:                                     "at least 1 item",
		`{"questions":[{"question":"a"}],"title":"` + cjk + `"}`:           "",
		`{"questions":[{"question":"a"}],"title":"` + cjk + `漢"}`:          "maximum of 100",
		`{"questions":[{"question":"a"}],"timeout":10000}`:                 "",
		`{"questions":[{"question":"a"}],"timeout":1800000}`:               "",
		`{"questions":[{"question":"a"}],"timeout":3e5}`:                   "",
		`{"questions":[{"question":"a"}],"timeout":1e400}`:                 "integer",
		`{"questions":[{"question":"a"}],"timeout":-1}`:                    "between",
		`{"questions":[{"question":"a"}],"timeout":null}`:                  "integer",
		`{"questions":[{"question":"a"}],"unknown":{"deep":[1]}}`:          "",
		asks(`,"unknown":1`):                                    "",
		asks(`,"type":"text","options":["a"]`):                  "",
		asks(`,"type":"confirm","options":[]`):                  "",
		asks(`,"type":"select","options":["a"]`):                "",
		asks(`,"type":"select"`):                                unsaid,
		asks(`,"type":"multi-select","options":[]`):             unsaid,
		asks(`,"type":"select","options":["a","a"]`):            unsaid,
		asks(`,"type":"select","options":"a"`):                  "array",
		asks(`,"type":"select","options":[null]`):               "string",
		asks(`,"type":"single-select","options":["a"]`):         "one of",
		asks(`,"type":"number"`):                                "one of",
		asks(`,"type":null`):                                    "string",
		asks(`,"required":1`):                                   "true or false",
		asks(`,"required":false`):                               "",
		asks(`,"id":""`):                                        "",
		asks(`,"id":5`):                                         "string",
		asks(`,"placeholder":[]`):                               "string",
		`{"questions":[[]]}`:                                    "object",
		`{"questions":null}`:                                    "array",
		asks(`,"options":[` + strings.Repeat("1,", 999) + `1]`): "and more",
		`{"Questions":[{"question":"a"}]}`:                      "questions is required",
	} {
		r, err := read(json.RawMessage(args), elicit.Request{})
		refused := fault.Of(err)
		var value any
		said := json.Unmarshal([]byte(args), &value)
		if said == nil {
			said = published.Validate(value)
		}
		switch {
		case why == "" && (err != nil || said != nil):
			t.Errorf("%.200s: refused with %v, by the schema with %v; want it taken", args, err, said)
		case why != "" && (refused == nil || !strings.HasPrefix(refused.Message, "Validation error: ")):
			t.Errorf("%.200s: %v, want a validation error", args, err)
		case why == unsaid && said != nil:
			t.Errorf("%.200s: the schema does say so: %v", args, said)
		case why != "" && why != unsaid && (said == nil || !strings.Contains(refused.Message, why)):
			t.Errorf("%.200s: %v, by the schema %v; want %q of both", args, err, said, why)
		case why == "" && len(r.Questions) == 0:
			t.Errorf("%.200s: no questions", args)
		}
	}
}

func TestWhatIsAsked(t *testing.T) {
	r, err := read(json.RawMessage(`{"title":"T","questions":[{"question":"a"},{"question":"b","type":"select","options":["x","y"],"required":false,"id":"b"},{"question":"c","type":"confirm","options":["z"],"placeholder":"p"}]}`), elicit.Request{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, q := range r.Questions {
		got = append(got, fmt.Sprint(q.Message, " ", q.Kind, " ", q.Required, " ", len(q.Options), " ", q.AllowFreeform))
	}
	want := []string{"a text true 0 false", "b single-select false 2 true", "c boolean true 0 false"}
	if fmt.Sprint(got) != fmt.Sprint(want) || r.WaitMS != 300000 || r.Title != "T" || r.Questions[1].ID != "b" || r.Questions[0].ID == r.Questions[2].ID {
		t.Errorf("asked %q for %d ms, want %q for 300000", got, r.WaitMS, want)
	}
}

// Arguments are taken or refused in words, whatever they are.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{}`, asks(`,"type":"select","options":["a"]`), `{"questions":[[],{"question":1}]}`, `{"questions":[{}],"timeout":1e999,"title":"\ud800"}`, "{\"questions\":\"\xff\"}", `[`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		r, err := read(args, elicit.Request{})
		if err != nil {
			if refused := fault.Of(err); refused == nil || !strings.HasPrefix(refused.Message, "Validation error: ") || len(refused.Message) > 64<<10 {
				t.Errorf("read(%q) = %v", args, err)
			}
			return
		}
		if len(r.Questions) == 0 || len(r.Questions) > 10 {
			t.Errorf("read(%q) asks %d questions", args, len(r.Questions))
		}
	})
}
