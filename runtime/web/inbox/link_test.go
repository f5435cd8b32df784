package inbox

import (
	"net/url"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

var sure = elicit.Question{ID: "sure", Kind: elicit.Boolean, Message: "Sure?", Required: true}

func TestALinkAnswersOnce(t *testing.T) {
	s := open(t)
	r := s.ask(sure)
	yes := AnswerLinks([]byte("key"), &r)[0].Path
	anonymous := "Authorization: "
	for range 2 { // looking at the link answers nothing
		status, body := s.do("GET", yes, nil, anonymous)
		if now := s.get(r.ID); status != 200 || now.Status != elicit.Open || !strings.Contains(body, "Send “") {
			t.Fatalf("GET %s: %d, %s; want the page with its button", yes, status, now.Status)
		}
	}
	if status, body := s.do("POST", yes, url.Values{"note": {"after six"}}, anonymous); status != 200 || !strings.Contains(body, "answered from a notification") {
		t.Errorf("POST %s: %d\n%s", yes, status, body)
	}
	if now := s.get(r.ID); !now.Accepted() || !now.Answers["sure"].Value.Boolean || now.Completion.Note != "after six" {
		t.Errorf("the request is %+v, want yes and the note", now)
	}
	if status, body := s.do("POST", yes, nil, anonymous); status != 409 || !strings.Contains(body, "already answered") {
		t.Errorf("POST %s again: %d\n%s", yes, status, body)
	}
}

func TestLinksAreForSmallQuestionsAlone(t *testing.T) {
	s := open(t)
	big := style
	big.Options = elicit.OptionsOf("a", "b", "c", "d", "e")
	for what, c := range map[string]struct {
		questions []elicit.Question
		want      int
	}{
		"yes or no": {[]elicit.Question{sure}, 2}, "a small select": {[]elicit.Question{style}, 2},
		"a big select": {[]elicit.Question{big}, 0}, "a text": {[]elicit.Question{name}, 0}, "two questions": {[]elicit.Question{sure, style}, 0},
	} {
		r := s.ask(c.questions...)
		if got := AnswerLinks([]byte("key"), &r); len(got) != c.want {
			t.Errorf("%s: %d links, want %d", what, len(got), c.want)
		}
	}
	r := s.ask(sure)
	for _, who := range []elicit.Audience{{Principal: "ada"}, {Roles: []string{"ops"}}, {Rota: "ops"}} {
		if r.Audience = who; len(AnswerLinks([]byte("key"), &r)) > 0 {
			t.Errorf("a question for %+v has links that anyone can press", who)
		}
	}
}

func TestForgedLinksDoNothing(t *testing.T) {
	s := open(t)
	r := s.ask(sure)
	yes := AnswerLinks([]byte("another key"), &r)[0].Path
	for _, path := range []string{yes, yes[:len(yes)-2], "/answer/x"} {
		if status, _ := s.do("POST", path, nil); status != 404 || s.get(r.ID).Status != elicit.Open {
			t.Errorf("POST %s: %d, want 404", path, status)
		}
	}
}
