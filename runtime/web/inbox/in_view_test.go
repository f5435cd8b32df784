package inbox

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// inView returns the handler of the form in a view, for a site's inbox.
func (s *site) inView() http.Handler {
	in := New(Options{Shell: page.New([]byte("key")), View: true, Hub: func(context.Context) (*elicit.Hub, error) { return s.hub, nil }})
	s.Cleanup(in.Stop)
	return in.InView()
}

func request(h http.Handler, method, path, body string) (int, string) {
	w, r := httptest.NewRecorder(), httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Deskhand-Part", "1")
	r.Header.Set("Authorization", "view")
	if strings.HasPrefix(body, "{") {
		r.Header.Set("Accept", "application/json")
	} else {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestTheFormOfAViewIsThatOfTheInboxWithoutAWayOut(t *testing.T) {
	s := open(t)
	s.ask(elicit.Question{Message: "Another?"})
	r := s.ask(elicit.Question{ID: "name", Message: "Who are you?", Required: true})
	view := s.inView()
	code, form := request(view, "GET", "/inbox/"+r.ID, "")
	if code != http.StatusOK || !strings.Contains(form, `name="a.name"`) || strings.Contains(form, `href="/`) || strings.Contains(form, "Another?") {
		t.Errorf("the form = %d, want one question without a link:\n%s", code, form)
	}
	if code, _ := request(view, "GET", "/", ""); code != http.StatusNotFound {
		t.Errorf("the list = %d, want none", code)
	}
	if code, said := request(view, "POST", "/inbox/"+r.ID+"/draft", `{"client":"v1","question":"name","fields":{"name":["An"]}}`); code != http.StatusOK {
		t.Errorf("a draft = %d %s", code, said)
	}
	if _, body := s.do("GET", "/inbox/"+r.ID, nil); !strings.Contains(body, ">An</textarea>") {
		t.Error("the inbox does not show the draft of the view")
	}
	code, form = request(view, "POST", "/inbox/"+r.ID, url.Values{actField: {"send"}, "a.name": {"Ann"}, noteField: {"soon"}}.Encode())
	if code != http.StatusOK || !strings.Contains(form, "answered in the conversation") || strings.Contains(form, "<a ") {
		t.Errorf("the answer = %d, want that it is taken, without a link:\n%s", code, form)
	}
	now, err := s.hub.Get(t.Context(), r.ID)
	if err != nil || now.Completion == nil || now.Completion.Channel != ViewChannel || now.Completion.Note != "soon" {
		t.Errorf("the request is %+v, %v; want it answered by the view with a note", now.Completion, err)
	}
}

func TestAViewLearnsOfChangesByAsking(t *testing.T) {
	s := open(t)
	r, other := s.ask(elicit.Question{ID: "name", Message: "Who are you?"}), s.ask(elicit.Question{ID: "name", Message: "And you?"})
	view := s.inView()
	changes := func(query string) (out changed) {
		t.Helper()
		code, body := request(view, "GET", "/inbox/"+r.ID+"/changes?"+query, "")
		if err := json.Unmarshal([]byte(body), &out); code != http.StatusOK || err != nil {
			t.Fatalf("changes?%s = %d %s", query, code, body)
		}
		return out
	}
	at := changes("")
	if out := changes("wait=0&after=" + strconv.FormatInt(at.Seq, 10)); len(out.Events) > 0 || out.Seq != at.Seq {
		t.Errorf("before any change: %+v, want none", out)
	}
	draft := func(id string) {
		t.Helper()
		if _, err := s.hub.Dispatch(t.Context(), elicit.Action{Type: elicit.AnswerChanged, RequestID: id, QuestionID: "name", Channel: Channel, Client: "w1",
			Answer: &elicit.Answer{State: elicit.Draft, Value: &elicit.Value{Kind: elicit.TextValue, Text: "Ann"}}}); err != nil {
			t.Fatal(err)
		}
	}
	waited := make(chan changed, 1)
	go func() { waited <- changes("wait=20000&after=" + strconv.FormatInt(at.Seq, 10)) }()
	draft(other.ID)
	draft(r.ID)
	select {
	case out := <-waited:
		if len(out.Events) != 1 || out.Events[0].ID != r.ID || out.Events[0].Fields["name"][0] != "Ann" || out.Events[0].Where != "in the browser" || out.Seq <= at.Seq {
			t.Errorf("the change = %+v, want the draft of this question only", out)
		}
	case <-time.After(15 * time.Second):
		t.Fatal("a change was not told before the wait was over")
	}
	if out := changes("wait=0&after=" + strconv.FormatInt(at.Seq+1_000_000, 10)); !out.Reset {
		t.Errorf("after a place that is not there yet: %+v, want a reset", out)
	}
}
