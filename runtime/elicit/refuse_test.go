package elicit_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

func TestSecretsAreForOtherWaysUnlessTheHubTakesThem(t *testing.T) {
	r := Request{Trigger: MCPElicitation, Message: "Set up", Questions: []Question{
		{ID: "user", Message: "User name"}, {ID: "pass", Message: "Password"}, {ID: "card", Kind: Integer, Message: "What is your credit card number?"},
	}}
	h := peer(t, t.TempDir(), attended)
	for name, ask := range map[string]func() error{
		"Open": func() error { _, err := h.Open(t.Context(), r); return err },
		"Ask":  func() error { _, err := h.Ask(t.Context(), r); return err },
	} {
		err := ask()
		var rejected *Rejection
		if !errors.As(err, &rejected) || rejected.Code != InvalidRequest || len(rejected.Problems) != 2 ||
			rejected.Problems[0].QuestionID != "pass" || rejected.Problems[1].Code != AsksForSecret || rejected.Hint == "" {
			t.Errorf("%s = %v, want a refusal that names pass and card", name, err)
		}
	}
	if list := opens(t, h); len(list) != 0 {
		t.Errorf("open are %+v, want nothing", list)
	}
	mustOpen(t, peer(t, t.TempDir(), Options{AllowSecrets: true}), r)
}

func TestWhatAnAskerSendsIsBounded(t *testing.T) {
	long := strings.Repeat("漢", MaxLabel)
	for name, c := range map[string]struct {
		change func(*Request)
		code   string // empty if it is accepted
	}{
		"a long option":                 {func(r *Request) { r.Questions[0].Options[0] = Option{ID: "a", Label: long} }, ""},
		"a longer option":               {func(r *Request) { r.Questions[0].Options[0] = Option{ID: "a", Label: long + "x"} }, "option_too_long"},
		"a long description":            {func(r *Request) { r.Questions[0].Options[0].Description = strings.Repeat("x", MaxMessage+1) }, "option_too_long"},
		"a long placeholder":            {func(r *Request) { r.Questions[0].Placeholder = long }, ""},
		"a longer placeholder":          {func(r *Request) { r.Questions[0].Placeholder = long + "x" }, "placeholder_too_long"},
		"a link that hides its host":    {func(r *Request) { r.URL = "https://bank.example@evil.example/" }, "bad_url"},
		"a link that is a program":      {func(r *Request) { r.URL = "javascript:alert(1)" }, "bad_url"},
		"a key that no database takes":  {func(r *Request) { r.Key = "a\x00b" }, "bad_id"},
		"a session with an escape":      {func(r *Request) { r.Context.SessionID = "\x1b[2J" }, "bad_id"},
		"a quarter of a megabyte":       {func(r *Request) { r.Schema = []byte(`"` + strings.Repeat("x", 256<<10) + `"`) }, "too_big"},
		"a page of options":             {func(r *Request) { r.Questions[0].Options = OptionsOf(make([]string, MaxOptions+1)...) }, "too_many_options"},
		"a question id with an escape":  {func(r *Request) { r.Questions[0].ID = "a\x1b" }, "bad_id"},
		"a text that is not valid UTF8": {func(r *Request) { r.Message = "a\xffb" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := Request{Trigger: MCPElicitation, Message: "Which?", Questions: []Question{{ID: "q", Kind: SingleSelect, Message: "Which?", Options: OptionsOf("a", "b")}}}
			c.change(&r)
			_, err := Prepare(r)
			var rejected *Rejection
			if !errors.As(err, &rejected) && (err != nil || c.code != "") {
				t.Fatalf("Prepare = %v, want %q", err, c.code)
			}
			if c.code != "" && rejected.Problems[0].Code != c.code {
				t.Errorf("Prepare = %+v, want %s", rejected.Problems, c.code)
			}
		})
	}
	t.Run("a thousand problems", func(t *testing.T) {
		r := Request{Trigger: HTTP}
		for range MaxQuestions {
			r.Questions = append(r.Questions, Question{Kind: SingleSelect, Message: "?", Options: OptionsOf(make([]string, MaxOptions)...)})
		}
		_, err := Prepare(r)
		if rejected := new(Rejection); !errors.As(err, &rejected) || len(rejected.Problems) < 1000 || len(rejected.Message) > 4000 || !strings.HasSuffix(rejected.Message, " more") {
			t.Errorf("Prepare = %.200s, want a short sentence", err)
		}
	})
}

func TestNamesAreOnOneLineAndShort(t *testing.T) {
	for name, want := range map[string]string{
		"claude-code":             "claude-code",
		"a\nelc_1  open\x1b[31m":  "a elc_1 open [31m",
		strings.Repeat("漢", 1000): strings.Repeat("漢", 100),
		"\xff":                    "\ufffd",
		" \t ":                    "",
	} {
		got := CleanName(name)
		if got != want || CleanName(got) != got {
			t.Errorf("CleanName(%.40q) = %.40q, want %.40q", name, got, want)
		}
		r := greeting()
		r.Source.Name = name
		if r, err := Prepare(r); err != nil || r.Source.Name != want {
			t.Errorf("a request of %.40q has the name %.40q, %v", name, r.Source.Name, err)
		}
	}
}

func TestASourceThatAsksWithoutEndIsStopped(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h, other := peer(t, place, Options{Rate: 3}), peer(t, place, Options{Rate: 3})
		r := greeting()
		r.Key = "first"
		for _, one := range []*Hub{h, other, h} {
			mustOpen(t, one, r)
			r.Key += "+"
		}
		_, err := other.Open(t.Context(), r)
		if f := fault.Of(err); f == nil || f.Code != TooMany || !f.Retryable || !strings.Contains(f.Message, "claude") {
			t.Errorf("the fourth = %v, want too_many_requests of claude", err)
		}
		r.Key = "first"
		if _, err := h.Open(t.Context(), r); err != nil {
			t.Errorf("a question that is there = %v, want it found", err)
		}
		r.Key, r.Source.Name = "", "another"
		mustOpen(t, h, r)
	})
	t.Run("for a while", func(t *testing.T) {
		bubble(t, func(t *testing.T, open func(Options) *Hub) {
			h := open(Options{Rate: 1})
			mustOpen(t, h, greeting())
			time.Sleep(9 * time.Minute)
			if _, err := h.Open(t.Context(), greeting()); fault.Of(err) == nil {
				t.Errorf("after nine minutes = %v, want a refusal", err)
			}
			time.Sleep(2 * time.Minute)
			mustOpen(t, h, greeting())
		})
	})
}

func TestWhatAPersonSendsIsBounded(t *testing.T) {
	h := peer(t, t.TempDir(), Options{})
	id := mustOpen(t, h, greeting()).ID
	crowd := make([]string, 10_000)
	for name, a := range map[string]Action{
		"a note":          {Type: CompletedBy, Response: Decline, Note: strings.Repeat("x", MaxMessage+1)},
		"an audience":     {Type: Reassigned, Audience: &Audience{Roles: crowd}},
		"a text":          {Type: AnswerChanged, QuestionID: "name", Answer: draft(strings.Repeat("x", 65<<10))},
		"answers to none": {Type: CompletedBy, Response: Accept, Answers: map[string]Answer{strings.Repeat("x", 1<<20): said("x")}},
	} {
		a.RequestID = id
		_, err := h.Dispatch(t.Context(), a)
		if f := fault.Of(err); f == nil || len(f.Message) > 1000 {
			t.Errorf("%s that is too long = %.200v, want a short refusal", name, err)
		}
	}
	c := must(t, h, Action{Type: PresentedTo, RequestID: id, Channel: "web\n", Client: strings.Repeat("x", 1<<20)})
	if p := c.Request.Presented[0]; p.Channel != "web" || len(p.Client) > 100 {
		t.Errorf("presented on %q to %.120q..., want both cut", p.Channel, p.Client)
	}
}
