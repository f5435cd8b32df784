package inbox

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/routing"
)

// crewed is a site of an installation with ada, who has the role ops, and bob.
func crewed(t *testing.T) *site {
	t.Helper()
	return openWith(t, elicit.Options{World: func(context.Context, string) (routing.World, error) {
		return routing.World{People: []routing.Person{{Name: "ada", Roles: []string{"ops"}}, {Name: "bob"}}}, nil
	}, Policy: func(elicit.Context) string { return "30m role:ops" }})
}

// Alone, there is nobody else whom a question could be with.
func TestAloneThereIsNoRouting(t *testing.T) {
	s := open(t)
	r := s.ask(elicit.Question{ID: "q", Message: "Who?"})
	if _, body := s.do(http.MethodGet, "/inbox/"+r.ID, nil); strings.Contains(body, `id="routing"`) || strings.Contains(body, "Hand over") {
		t.Errorf("the page of an installation without people offers to hand over:\n%s", body)
	}
}

func TestAQuestionIsTakenReleasedAndHandedOver(t *testing.T) {
	s := crewed(t)
	id := s.ask(elicit.Question{ID: "q", Message: "Who?"}).ID
	does := func(status int, form url.Values, want ...string) {
		t.Helper()
		got, body := s.do(http.MethodPost, "/inbox/"+id, form)
		for _, text := range want {
			if got != status || !strings.Contains(body, text) {
				t.Errorf("%v: %d, want %d and %q in\n%s", form, got, status, text, body)
			}
		}
	}
	_, body := s.do(http.MethodGet, "/inbox/"+id, nil)
	for _, want := range []string{`With <strong dir="auto">everyone</strong> since`, "Next: <bdi>the role ops</bdi> at", `value="take"`, `<option value="ada">ada</option>`, `<option value="role:ops">the role ops</option>`, `<option value="everyone">everyone</option>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s:\n%s", want, body)
		}
	}
	does(200, url.Values{"do.act": {"take"}}, "Taken by", ">you<", `value="release"`)
	if r := s.get(id); r.Routing.Taken == nil || r.Routing.Taken.By != elicit.Local {
		t.Errorf("taken: %+v", r.Routing)
	}
	does(200, url.Values{"do.act": {"release"}}, `value="take"`)
	does(422, url.Values{"do.act": {"hand"}}, "Choose to whom")
	does(200, url.Values{"do.act": {"hand"}, "do.to": {"bob"}}, `With <strong dir="auto">bob</strong> since`)
	if r := s.get(id); r.Audience.Principal != "bob" || r.Status != elicit.Open {
		t.Errorf("handed over: %+v", r.Audience)
	}
	// The owner may hand over what others are asked, and may not take it.
	if _, body := s.do(http.MethodGet, "/inbox/"+id, nil); strings.Contains(body, `value="take"`) || !strings.Contains(body, `value="hand"`) {
		t.Errorf("the page of another's question:\n%s", body)
	}
	does(409, url.Values{"do.act": {"take"}}, "This question is for someone else")
	if status, _ := s.do(http.MethodPost, "/inbox/"+id, url.Values{"do.act": {"hand"}, "do.to": {"ada"}, "token": {"wrong"}}, "Authorization: "); status != http.StatusForbidden || s.get(id).Audience.Principal != "bob" {
		t.Errorf("handing over without the page's token: %d", status)
	}
}

// A question that somebody else has taken says so to whoever is too late.
func TestATakenQuestionSaysByWhom(t *testing.T) {
	s := crewed(t)
	id := s.ask(elicit.Question{ID: "q", Message: "Who?"}).ID
	if _, err := s.hub.Dispatch(t.Context(), elicit.Action{Type: elicit.Claimed, RequestID: id, By: "ada"}); err != nil {
		t.Fatal(err)
	}
	if _, body := s.do(http.MethodGet, "/inbox/"+id, nil); !strings.Contains(body, "others may still answer") || strings.Contains(body, `value="take"`) {
		t.Errorf("the page of a taken question:\n%s", body)
	}
	if status, body := s.do(http.MethodPost, "/inbox/"+id, url.Values{"do.act": {"take"}}); status != http.StatusConflict || !strings.Contains(body, "Ada has taken this question until") || !strings.Contains(body, "Answer it anyway") {
		t.Errorf("taking it as well: %d\n%s", status, body)
	}
}

// What others are asked can be read here, with whom it is, and has no form that would be refused.
func TestAQuestionForSomebodyElseIsOnlyRead(t *testing.T) {
	s := crewed(t)
	id := s.ask(elicit.Question{ID: "q", Message: "Which way?", Kind: elicit.SingleSelect, Options: []elicit.Option{{ID: "l", Label: "Left"}, {ID: "r", Label: "Right"}}}).ID
	if _, body := s.do(http.MethodGet, "/inbox/"+id, nil); !strings.Contains(body, `id="form"`) || strings.Contains(body, "data-reading") {
		t.Fatalf("the page of a question for everyone: %s", body)
	}
	if status, body := s.do(http.MethodPost, "/inbox/"+id, url.Values{"do.act": {"hand"}, "do.to": {"bob"}}); status != http.StatusOK {
		t.Fatalf("hand over: %d %s", status, body)
	}
	_, body := s.do(http.MethodGet, "/inbox/"+id, nil)
	for _, want := range []string{`This question is for <strong dir="auto">bob</strong>`, "Which way?", "Left, Right", `value="hand"`, "Where this comes from"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s:\n%s", want, body)
		}
	}
	for _, never := range []string{`id="form"`, `name="a.q"`, `value="send"`, `value="decline"`, `value="cancel"`} {
		if strings.Contains(body, never) {
			t.Errorf("the page has %s, which would be refused", never)
		}
	}
	// Who sends the form of an older page is told.
	if status, body := s.do(http.MethodPost, "/inbox/"+id, url.Values{"do.act": {"send"}, "a.q": {"l"}}); status < 400 || s.get(id).Status != elicit.Open || !strings.Contains(body, "data-reading") {
		t.Errorf("an answer: %d %s", status, body)
	}
}
