package inbox

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// askedBy opens a question of an attempt.
func (s *site) askedBy(attempt, text string) elicit.Request {
	s.Helper()
	r, err := s.hub.Open(s.Context(), elicit.Request{Trigger: elicit.CLI, Source: elicit.Source{Name: "fake"}, Context: elicit.Context{AttemptID: attempt},
		Questions: []elicit.Question{{ID: "name", Message: text, Required: true}}})
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// beside returns the forms on an attempt's page.
func (s *site) beside(attempt string) string {
	s.Helper()
	r := httptest.NewRequestWithContext(s.Context(), http.MethodGet, "/work/"+attempt, nil)
	html, err := s.inbox.OfAttempt(httptest.NewRecorder(), r, attempt)
	if err != nil {
		s.Fatal(err)
	}
	return string(html)
}

func TestAQuestionIsAnsweredOnThePageOfItsAttempt(t *testing.T) {
	s := open(t)
	s.inbox.options.Attempt = func(id string) string { return "/work/" + id }
	if got := s.beside("a1"); strings.Contains(got, "<form") || !strings.Contains(got, `data-attempt="a1"`) {
		t.Errorf("OfAttempt without a question = %s, want a place for one", got)
	}
	first, other := s.askedBy("a1", "Which name?"), s.askedBy("a2", "Another?")
	s.askedBy("a1", "Which size?")
	got := s.beside("a1")
	for _, want := range []string{"Which name?", `name="do.at" value="attempt"`, `action="/inbox/` + first.ID, `href="/work/a1"`, "has 1 more open question."} {
		if !strings.Contains(got, want) {
			t.Errorf("OfAttempt has no %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, other.ID) || s.get(first.ID).Presented == nil {
		t.Errorf("OfAttempt shows a question of another attempt, or does not say that it shows one")
	}
	follow := http.DefaultClient.CheckRedirect
	http.DefaultClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	defer func() { http.DefaultClient.CheckRedirect = follow }()
	for _, c := range []struct {
		name   string
		id     string
		form   url.Values
		status int
	}{
		{"an answer that is needed", first.ID, url.Values{"do.act": {"send"}, "do.at": {"attempt"}}, http.StatusUnprocessableEntity},
		{"a draft", first.ID, url.Values{"do.act": {"save"}, "do.at": {"attempt"}, "a.name": {"hal"}}, http.StatusSeeOther},
		{"a review", first.ID, url.Values{"do.act": {"review"}, "do.at": {"attempt"}, "a.name": {"hal"}}, http.StatusOK},
		{"an answer", first.ID, url.Values{"do.act": {"send"}, "do.at": {"attempt"}, "a.name": {"hal"}}, http.StatusSeeOther},
		{"an answer too late", first.ID, url.Values{"do.act": {"send"}, "do.at": {"attempt"}, "a.name": {"eve"}}, http.StatusConflict},
		{"from the inbox", other.ID, url.Values{"do.act": {"send"}, "a.name": {"x"}}, http.StatusOK},
		{"from elsewhere", other.ID, url.Values{"do.act": {"decline"}, "do.at": {"https://evil.example"}}, http.StatusConflict},
	} {
		status, body := s.do("POST", "/inbox/"+c.id, c.form)
		if status != c.status {
			t.Errorf("%s: POST %v = %d, want %d\n%s", c.name, c.form, status, c.status, body)
		}
		if lead := strings.Contains(body, `href="/work/a1">`); status != http.StatusSeeOther && lead != c.form.Has("do.at") && c.id == first.ID {
			t.Errorf("%s: the page leads to the attempt: %v\n%s", c.name, lead, body)
		}
	}
	if got := s.get(first.ID); !got.Accepted() || got.Answers["name"].Value.Text != "hal" {
		t.Errorf("the request = %+v, want it answered", got)
	}
	if got := s.beside("a1"); !strings.Contains(got, "Which size?") {
		t.Errorf("OfAttempt after the first = %s, want the second", got)
	}
}

func TestWithoutPagesOfAttemptsNothingLeadsThere(t *testing.T) {
	s := open(t)
	id := s.askedBy("a1", "Which name?").ID
	if _, body := s.do("GET", "/inbox/"+id+"?do.at=attempt", nil); strings.Contains(body, "do.at") || !strings.Contains(body, "<bdi>a1</bdi>") {
		t.Errorf("the page = %s, want the attempt named without a link", body)
	}
}
