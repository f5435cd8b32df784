package inbox

import (
	"net/url"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

func TestOnePressAnswersAndCanBeTakenBack(t *testing.T) {
	s := open(t)
	sure := elicit.Question{ID: "sure", Kind: elicit.Boolean, Message: "Sure?", Required: true}
	id := s.ask(sure).ID
	if _, body := s.do("GET", "/inbox/"+id, nil); !strings.Contains(body, `name="do.one" value="=yes"`) || strings.Contains(body, `value="send"`) {
		t.Errorf("the form has no button for Yes, or one to send:\n%s", body)
	}
	for _, c := range []struct {
		form   url.Values
		status int
		says   string
		held   elicit.Outcome
	}{
		{url.Values{"do.one": {"=yes"}, "do.note": {"by noon"}}, 200, "Your answer is “Yes”", elicit.Accept},
		{url.Values{"do.act": {"undo"}}, 200, `value="=yes"`, ""},
		{url.Values{"do.act": {"decline"}, "do.undo": {"1"}}, 200, "You decline to answer", elicit.Decline},
		{url.Values{"do.act": {"undo"}}, 200, `value="=yes"`, ""},
		{url.Values{"do.one": {"=maybe"}}, 409, "The question has changed", ""},
		{url.Values{"do.one": {skipOne}}, 409, "The question has changed", ""}, // an answer is required
	} {
		status, body := s.do("POST", "/inbox/"+id, c.form)
		now, outcome := s.get(id), elicit.Outcome("")
		if now.Held != nil {
			outcome = now.Held.Response
		}
		if status != c.status || !strings.Contains(body, c.says) || outcome != c.held || now.Status != elicit.Open {
			t.Errorf("POST %v: %d, held %q, %s; want %d, %q and %q in\n%s", c.form, status, outcome, now.Status, c.status, c.held, c.says, body)
		}
	}
}

func TestWhatOnePressCannotSayHasAForm(t *testing.T) {
	options := []elicit.Option{{ID: "a", Label: "A"}, {ID: "b", Label: "B"}}
	choice := elicit.Question{ID: "q", Kind: elicit.SingleSelect, Message: "Which?", Options: options}
	own := choice
	own.AllowFreeform = true
	allowed := &elicit.Proposal{Action: "command", Text: "ls"}
	for name, c := range map[string]struct {
		r    elicit.Request
		want int
	}{
		"yes or no":                   {elicit.Request{Questions: []elicit.Question{{Kind: elicit.Boolean, Required: true}}}, 2},
		"yes, no or skip":             {elicit.Request{Questions: []elicit.Question{{Kind: elicit.Boolean}}}, 3},
		"a permission":                {elicit.Request{Proposal: allowed, Questions: []elicit.Question{choice}}, 3},
		"a permission with own words": {elicit.Request{Proposal: allowed, Questions: []elicit.Question{own}}, 0},
		"a choice":                    {elicit.Request{Questions: []elicit.Question{choice}}, 0},
		"two questions":               {elicit.Request{Questions: []elicit.Question{{Kind: elicit.Boolean}, {Kind: elicit.Boolean}}}, 0},
		"a page to open":              {elicit.Request{URL: "https://a.example", Questions: []elicit.Question{{Kind: elicit.Boolean}}}, 0},
	} {
		if got := buttonsOf(&c.r); len(got) != c.want {
			t.Errorf("%s: buttons %v; want %d", name, got, c.want)
		}
	}
}

func TestTheListIsFiltered(t *testing.T) {
	s := open(t)
	for _, text := range []string{"Which *colour* of the header?", "Which size of the header?", "When?"} {
		s.ask(elicit.Question{ID: "q", Message: text})
	}
	for query, want := range map[string][]string{
		"q=header+COLOUR":  {"Which *colour* of the header?"},
		"q=header":         {"Which *colour* of the header?", "Which size of the header?"},
		"q=nothing+here":   nil,
		"kind=text&q=when": {"When?"},
		"kind=permission":  nil,
		"asker=tester":     {"Which *colour* of the header?", "Which size of the header?", "When?"},
		"place=nowhere":    nil,
	} {
		_, body := s.do("GET", "/inbox/list?"+query, nil)
		if n := strings.Count(body, `<li class="card`); n != len(want) {
			t.Errorf("%s: %d cards; want %v in\n%s", query, n, want, body)
		}
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%s: no %q in\n%s", query, text, body)
			}
		}
	}
}
