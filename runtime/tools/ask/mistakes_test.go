package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/contract/contracttest"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/goldentest"
)

var errOpened = errors.New("the arguments were taken")

// Each typical mistake is understood, or refused in one line that names the
// field. The golden file has every call and what became of it.
func TestMistakesAreUnderstoodOrCorrected(t *testing.T) {
	desk := New(Options{Open: func(context.Context) (*elicit.Hub, func(), error) { return nil, nil, errOpened }})
	right := map[string]string{
		"ask_user":       `{"questions":[{"question":"Which?","type":"select","options":["a","b"]}],"title":"T","timeout":60000}`,
		"await_answer":   `{"request_id":"elc_1","timeout":60000}`,
		"list_questions": `{}`,
	}
	also := map[string]string{"questions": "question", "title": "header", "timeout": "timeout_ms", "request_id": "id"}
	var b strings.Builder
	for _, tool := range desk.Tools() {
		all := contracttest.Mistakes(tool, right[tool.Name], also)
		b.WriteString(contracttest.TellMistakes(t, tool, all, func(err error) bool { return errors.Is(err, errOpened) }))
	}
	goldentest.Compare(t, filepath.Join("testdata", "mistakes.golden"), b.String())
}

// What models know from the asking tools of other programs, and what they make
// of ours: each is asked as it was meant.
func TestEveryShapeThatModelsKnowIsAskedAsMeant(t *testing.T) {
	const (
		single = "single-select Which? [a b]"
		multi  = "multi-select Which? [a b]"
	)
	for args, want := range map[string]string{
		// The call that was asked as a text, its options dropped.
		`{"questions":[{"question":"Which?","options":["a","b"]}]}`: single,
		// Claude's AskUserQuestion and Codex's request_user_input.
		`{"questions":[{"question":"Which?","header":"Pick","multiSelect":false,"options":[{"label":"a","description":"first"},{"label":"b","description":"second"}]}]}`: single + " header Pick about first,second",
		`{"questions":[{"question":"Which?","header":"Pick","multiSelect":true,"options":[{"label":"a"},{"label":"b"}]}]}`:                                               multi + " header Pick",
		`{"questions":[{"id":"x","header":"Pick","question":"Which?","options":[{"label":"a (Recommended)","description":"first"},{"label":"b"}]}]}`:                     "single-select Which? [a (Recommended) b] header Pick about first,",
		// VS Code's and Gemini's.
		`{"questions":[{"header":"Pick","question":"Which?","multiSelect":true,"options":[{"label":"a","recommended":true},{"label":"b"}]}]}`: multi + " header Pick recommended a",
		`{"questions":[{"question":"Which?","type":"choice","options":[{"label":"a","description":"x"},{"label":"b","description":"y"}]}]}`:   single + " about x,y",
		`{"questions":[{"question":"Sure?","type":"yesno"}]}`:                                                                                 "boolean Sure? []",
		// OpenCode's question.
		`{"questions":[{"question":"Which?","header":"Pick","multiple":true,"options":[{"label":"a","description":""},{"label":"b","description":""}]}]}`: multi + " header Pick",
		// One question, spread over the call.
		`{"question":"Which?","options":["a","b"]}`:                             single,
		`{"question":"Which?","options":["a","b"],"title":"T","multiple":true}`: multi + " title T",
		`{"prompt":"Sure?","type":"boolean"}`:                                   "boolean Sure? []",
		`{"message":"Who?"}`:                                                    "text Who? []",
		`{"text":"Who?","placeholder":"Ann"}`:                                   "text Who? []",
		`{"question":{"question":"Which?","choices":["a","b"]}}`:                single,
		`{"question":[{"question":"Which?","choices":["a","b"]}]}`:              single,
		// Containers that are not as they should be.
		`{"questions":{"question":"Which?","options":["a","b"]}}`:                single,
		`{"questions":"[{\"question\":\"Which?\",\"options\":[\"a\",\"b\"]}]"}`:  single,
		"{\"questions\":\"```json\\n[{\\\"question\\\": \\\"Who?\\\"}]\\n```\"}": "text Who? []",
		`{"questions":["{\"question\":\"Which?\",\"options\":[\"a\",\"b\"]}"]}`:  single,
		`{"questions":["Who?"]}`: "text Who? []",
		`{"questions":[{"question":"Which?","options":"[\"a\",\"b\"]"}]}`:                     single,
		`{"questions":[{"question":"Which?","options":{"a":"first","b":"second"}}]}`:          single + " about first,second",
		`{"questions":[{"question":"Which?","options":[1,true]}]}`:                            "single-select Which? [1 true]",
		`{"questions":[{"question":"Which?","options":["{\"label\":\"a\"}",{"value":"b"}]}]}`: single,
		`{"questions":["Which?"],"options":["a","b"]}`:                                        single,
		`{"questions":[{"question":"Which?"}],"choices":["a","b"],"multiple":true}`:           multi,
		`{"questions":[{"question":"Which?","options":["a","b"],"default":"b"}]}`:             single + " recommended b",
		`{"questions":[{"question":"Who?","default":"Ann"}]}`:                                 "text Who? []",
		// Other names for members.
		`{"questions":[{"text":"Which?","choices":[{"name":"a"},{"title":"b"}]}]}`:                             single,
		`{"questions":[{"prompt":"Which?","options":[{"id":"1","label":"a"},{"id":"2","label":"b"}]}]}`:        single,
		`{"questions":[{"Question":"Which?","Options":["a","b"],"MultiSelect":"true"}]}`:                       multi,
		`{"questions":[{"question":"Which?","type":"radio","options":["a","b"]}]}`:                             single,
		`{"questions":[{"question":"Which?","type":"Single Select","options":["a","b"],"multi_select":true}]}`: multi,
		`{"questions":[{"question":"Which?","type":"checkbox","options":["a","b"]}]}`:                          multi,
		`{"questions":[{"question":"Which?","options":["a","b"],"recommended":"b"}]}`:                          single + " recommended b",
		`{"questions":[{"question":"Who?","type":"string","required":"false"}]}`:                               "text Who? [] optional",
		`{"questions":[{"question":"Who?","optional":true}]}`:                                                  "text Who? [] optional",
		`{"questions":[{"title":"Who?"}]}`:                                                                     "text Who? []",
		`{"questions":[{"question":"Who?","header":null,"options":null,"type":null,"id":null}],"title":null}`:  "text Who? []",
		`{"questions":[{"question":"Who?"}],"header":"H","description":"why"}`:                                 "text Who? [] title H message why",
		`{"questions":[{"question":"Who?"}],"context":{"deep":1}}`:                                             "text Who? []",
		`{"questions":[{"question":"Who?"}],"timeout_ms":60000}`:                                               "text Who? [] waits 60000",
		`{"questions":[{"question":"Who?"}],"timeoutSeconds":60}`:                                              "text Who? [] waits 60000",
		// A field of another meaning under a name that could be ours is no reason to refuse.
		`{"questions":[{"question":"Who?","kind":"technical","items":5,"values":{"x":1},"multi":{"deep":1},"label":["x"],"name":{}}]}`: "text Who? []",
		// What a person said so far stays: a text beside options is a text.
		`{"questions":[{"question":"Which?","type":"text","options":["a"]}]}`: "text Which? []",
	} {
		r, err := read(json.RawMessage(args), elicit.Request{})
		if err != nil || len(r.Questions) != 1 {
			t.Errorf("%s: %v, %d questions; want %s", args, err, len(r.Questions), want)
			continue
		}
		if got := told(&r); got != want {
			t.Errorf("%s is asked as\n%s, want\n%s", args, got, want)
		}
	}
}

// told is all of a request that its call says.
func told(r *elicit.Request) string {
	q := r.Questions[0]
	var labels, about, recommended []string
	for _, o := range q.Options {
		labels, about = append(labels, o.Label), append(about, o.Description)
		if o.Recommended {
			recommended = append(recommended, o.Label)
		}
	}
	said := fmt.Sprint(q.Kind, " ", q.Message, " ", labels)
	for _, part := range []struct{ name, text string }{
		{"title", r.Title}, {"header", q.Title}, {"about", strings.Join(about, ",")}, {"recommended", strings.Join(recommended, ",")},
	} {
		if strings.Trim(part.text, ",") != "" {
			said += " " + part.name + " " + part.text
		}
	}
	if !q.Required {
		said += " optional"
	}
	if r.Message != q.Message && r.Message != r.Title {
		said += " message " + r.Message
	}
	if r.WaitMS != 300000 {
		said += fmt.Sprint(" waits ", r.WaitMS)
	}
	return said
}

func TestLimitsStandInWords(t *testing.T) {
	for _, tool := range New(Options{}).Tools() {
		for _, unsaid := range contracttest.Limits(tool) {
			t.Errorf("the description does not say %s", unsaid)
		}
	}
}
