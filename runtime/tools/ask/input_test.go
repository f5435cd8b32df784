package ask

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract/contracttest"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

func TestToolsAreAsClientsWantThem(t *testing.T) {
	for _, prefix := range []string{"", "acme"} {
		for _, one := range New(Options{Prefix: prefix}).Tools() {
			if err := contracttest.Check(one); err != nil {
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
	// The specification's own schema has a reference, and says nothing of it.
	if err := contracttest.Check(New(Options{RefSchema: true}).askUser()); err == nil || err.Error() != "ask_user: input.questions/items: $ref" {
		t.Errorf("the specification's schema: %v, want its reference and nothing else", err)
	}
}

// asks is the arguments of one question, with these members.
func asks(members string) string { return `{"questions":[{"question":"Which?"` + members + `}]}` }

func TestEveryProblemOfACallIsNamed(t *testing.T) {
	const bounds = "timeout must be between 10000 and 1800000 milliseconds"
	const seconds = bounds + ": 300 milliseconds are too short for a question; for 300 seconds write 300000"
	for args, want := range map[string]string{
		`{"questions":[{"question":""}],"timeout":5}`:    bounds + "; question text is required",
		`{"questions":[{"question":"a"}],"timeout":300}`: seconds,
		`{"questions":[],"timeout":5}`:                   bounds + "; questions array must have at least 1 item",
	} {
		if _, err := read(json.RawMessage(args), elicit.Request{WaitMS: 300}); err == nil || err.Error() != "Validation error: "+want {
			t.Errorf("read(%s) = %v, want %s", args, err, want)
		}
	}
	if r, err := read(json.RawMessage(asks(``)), elicit.Request{WaitMS: 300}); err != nil || r.WaitMS != 300 {
		t.Errorf("a call without a timeout waits %d ms, %v; want what the desk was made with, 300", r.WaitMS, err)
	}
}

// What either published schema allows is taken, save for what a schema cannot
// say. What the specification refuses, both schemas and the tool refuse. Beside
// that the tool takes what can only mean one thing: the schemas allow some of it.
func TestThePublishedSchemaSaysWhatIsTaken(t *testing.T) {
	ours, theirs := resolved(t, askUserSchema), resolved(t, askUserRefSchema)
	ten := strings.TrimSuffix(strings.Repeat(`{"question":"a"},`, 10), ",")
	cjk := strings.Repeat("漢", 100)
	const (
		unsaid = "the schemas do not say so"
		more   = "our schema allows it, theirs does not"
		also   = "neither schema allows it"
	)
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
		`{"questions":[{"question":"a"}],"timeout":null}`:                  also,
		`{"questions":[{"question":"a"}],"unknown":{"deep":[1]}}`:          "",
		asks(`,"unknown":1`):                                          "",
		asks(`,"type":"text","options":["a"]`):                        "",
		asks(`,"type":"confirm","options":[]`):                        "",
		asks(`,"type":"select","options":["a"]`):                      "",
		asks(`,"options":["{\"label\"","[1]","{\"a\":1}"]`):           "", // texts that hold JSON
		asks(`,"type":"select"`):                                      unsaid,
		asks(`,"type":"multi-select","options":[]`):                   unsaid,
		asks(`,"type":"select","options":["a","a"]`):                  unsaid,
		asks(`,"type":"select","options":"a"`):                        "array",
		asks(`,"type":"select","options":[null]`):                     "string",
		asks(`,"type":"select","options":[{"label":"a"}]`):            more,
		asks(`,"options":["a",{"label":"b","recommended":true}]`):     more,
		asks(`,"type":"select","options":[{"labels":"a"}]`):           "label",
		asks(`,"type":"single-select","options":["a"]`):               also,
		asks(`,"type":"number"`):                                      "one of",
		asks(`,"type":"multiple-choice","options":["a"]`):             "multi-select for several",
		asks(`,"type":null`):                                          also,
		asks(`,"type":["text"]`):                                      "one of",
		asks(`,"required":1`):                                         also,
		asks(`,"required":"maybe"`):                                   "true or false",
		asks(`,"required":false`):                                     "",
		asks(`,"id":""`):                                              "",
		asks(`,"id":5`):                                               also,
		asks(`,"id":[5]`):                                             "string",
		asks(`,"placeholder":[]`):                                     "string",
		`{"questions":[[]]}`:                                          "object",
		`{"questions":null}`:                                          "questions is required",
		asks(`,"options":[` + strings.Repeat("null,", 999) + `null]`): "and more",
		`{"Questions":[{"question":"a"}]}`:                            also,
	} {
		r, err := read(json.RawMessage(args), elicit.Request{})
		refused := fault.Of(err)
		var value any
		if json.Unmarshal([]byte(args), &value) != nil {
			value = nil // which both refuse
		}
		taken, allowed, specified := err == nil, ours.Validate(value) == nil, theirs.Validate(value) == nil
		if !taken && (refused == nil || !strings.HasPrefix(refused.Message, "Validation error: ")) || taken && len(r.Questions) == 0 {
			t.Errorf("%.200s: %v, want questions or a validation error", args, err)
			continue
		}
		want := map[string][3]bool{"": {true, true, true}, unsaid: {false, true, true}, more: {true, true, false}, also: {true, false, false}}[why]
		if got := [3]bool{taken, allowed, specified}; got != want {
			t.Errorf("%.200s: taken, allowed by our schema, by theirs: %v, want %v (%v)", args, got, want, err)
		}
		if want == [3]bool{} && refused != nil && !strings.Contains(refused.Message, why) {
			t.Errorf("%.200s: %v, want %q", args, err, why)
		}
	}
}

func resolved(t *testing.T, raw []byte) *jsonschema.Resolved {
	t.Helper()
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	published, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return published
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
