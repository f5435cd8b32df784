package inbox

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// evil returns markup, ways to end an attribute and a script, and a character that
// reverses the following text, with the name of the field.
func evil(field string) string {
	return `"'><script>` + field + `</script><img src=x onerror=alert(1)>` + "\u202e\u2066</textarea></title>{{.}}"
}

// evilRequest returns a request with such text in every field that an asker writes.
func evilRequest() elicit.Request {
	text := &elicit.Value{Kind: elicit.TextValue, Text: evil("default")}
	options := []elicit.Option{{ID: evil("option id"), Label: evil("label"), Description: evil("description"), Recommended: true}, {ID: "b", Label: "B"}}
	return elicit.Request{
		Trigger: elicit.CLI, Title: evil("title"), Message: evil("message"), Priority: elicit.Urgent, URL: `https://x.example/"><script>u</script>`,
		Source: elicit.Source{Kind: evil("kind"), Name: evil("name"), Version: evil("version"), Instance: evil("instance")},
		Context: elicit.Context{ProjectID: evil("project"), TaskID: evil("task"), AttemptID: evil("attempt"), SessionID: evil("session"),
			ToolName: evil("tool"), CWD: "/" + evil("folder"), Branch: evil("branch"), Upstream: evil("upstream")},
		Questions: []elicit.Question{
			{ID: evil("id"), Message: evil("question") + "\n" + evil("rest"), Title: evil("tab"), Placeholder: evil("placeholder"), Default: text},
			{ID: "one", Kind: elicit.SingleSelect, Message: evil("select"), Options: options, AllowFreeform: true},
			{ID: "any", Kind: elicit.MultiSelect, Message: evil("many"), Options: options},
			{ID: "number", Kind: elicit.Number, Message: evil("number"), Placeholder: evil("number")},
		},
	}
}

// unseen matches what no person reads, and what a person typed, which is shown
// unchanged.
var unseen = regexp.MustCompile(`(?s)(?:data-[a-z]+|name|value)="[^"]*"|<textarea[^>]*>.*?</textarea>`)

// inert fails if a page contains an asker's text as anything but text.
func inert(t *testing.T, what, body string) {
	t.Helper()
	body = strings.ReplaceAll(body, "<script src=", "") // the page's own script
	body = unseen.ReplaceAllStringFunc(body, func(s string) string { return strings.NewReplacer("\u202e", "", "\u2066", "").Replace(s) })
	for _, bad := range []string{"<script", "<img", "onerror=alert(1)>", "\u202e", "\u2066", "</textarea></title>"} {
		if i := strings.Index(body, bad); i >= 0 {
			t.Errorf("%s has %q: ...%q...", what, bad, body[max(0, i-200):min(len(body), i+100)])
		}
	}
}

func TestAttackApprovalsNoFieldOfAQuestionIsMarkup(t *testing.T) {
	s := open(t)
	r, err := s.hub.Open(t.Context(), evilRequest())
	if err != nil {
		t.Fatal(err)
	}
	sure := sure
	sure.Message = evil("sure")
	small := s.ask(sure)
	events := s.follow(t.Context(), 0)
	q := r.Questions[0].ID
	fields := url.Values{"do.rev": {"1"}, "a." + q: {evil("draft")}, "a.one": {evil("option id")}, "a.one__other": {evil("own words")}, "do.note": {evil("note")}}
	act := func(name string) url.Values {
		form := url.Values{"do.act": {name}}
		for k, v := range fields {
			form[k] = v
		}
		return form
	}
	pages := []struct {
		method, path string
		form         url.Values
	}{
		{"GET", "/", nil}, {"GET", "/inbox/list", nil}, {"GET", "/inbox/" + r.ID, nil}, {"GET", "/inbox/" + r.ID + "/card", nil},
		{"GET", AnswerLinks([]byte("key"), &small)[0].Path, nil},
		{"POST", "/inbox/" + r.ID, act(evil("act"))}, {"POST", "/inbox/" + r.ID, act("save")}, {"POST", "/inbox/" + r.ID, act("review")},
		{"POST", "/inbox/" + r.ID, act("send")}, {"GET", "/inbox/" + r.ID, nil}, {"POST", "/inbox/" + r.ID, act("send")}, {"POST", "/inbox/" + r.ID, act("decline")},
		{"GET", "/history?" + url.Values{"q": {evil("")}}.Encode(), nil}, {"GET", "/history", nil},
		{"GET", "/inbox/" + url.PathEscape(evil("path")), nil}, {"GET", "/answer/" + url.PathEscape(evil("code")), nil},
	}
	for _, p := range pages {
		status, body := s.do(p.method, p.path, p.form)
		what := fmt.Sprintf("%s %.60s %q: %d", p.method, p.path, p.form.Get("do.act"), status)
		if status >= 500 {
			t.Error(what)
		}
		inert(t, what, body)
	}
	if got := s.get(r.ID); !got.Accepted() || got.Answers[q].Value.Text != evil("draft") {
		t.Errorf("the answer is %+v, want it as it was typed", got.Answers[q].Value)
	}
	for range 2 {
		if e := <-events; strings.ContainsAny(e, "<>") {
			t.Errorf("an event has markup: %s", e)
		}
	}
}

// A request of the maximum size is shown quickly.
func TestBigQuestionsAreShown(t *testing.T) {
	var labels []string
	for i := range 200 {
		labels = append(labels, fmt.Sprint("option ", i))
	}
	deep := strings.Repeat("*", 1000)
	for name, q := range map[string]elicit.Question{
		"options": {ID: "q", Kind: elicit.MultiSelect, Message: "Which?", Options: elicit.OptionsOf(labels...)},
		"marks":   {ID: "q", Message: deep},
		"lists":   {ID: "q", Message: strings.Repeat("- ", 500)},
		"fences":  {ID: "q", Message: strings.Repeat("```\n", 250)},
		"code":    {ID: "q", Message: strings.Repeat("`", 999)},
		"word":    {ID: "q", Message: strings.Repeat("x", 1000)},
		"accents": {ID: "q", Message: "a" + strings.Repeat("\u0301", 999)},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			id := s.ask(q).ID
			began := time.Now()
			status, body := s.do("GET", "/inbox/"+id, nil)
			if took := time.Since(began); status != 200 || took > waittest.Soon || !strings.Contains(body, `value="send"`) {
				t.Errorf("GET: %d with %d bytes after %v, want the form", status, len(body), took)
			}
		})
	}
}
