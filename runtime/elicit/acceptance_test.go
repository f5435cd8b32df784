package elicit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/racetest"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// The comments E-nnn and I-nnn name lines of the contracts for live input requests
// and elicitation that concern only requests, not a protocol.

// refusedWith fails unless the action is rejected with the code and the request is
// unchanged. It returns the rejection.
func refusedWith(t *testing.T, h *Hub, a Action, code string) *Rejection {
	t.Helper()
	before, _ := h.Get(t.Context(), a.RequestID)
	_, err := h.Dispatch(t.Context(), a)
	f := fault.Of(err)
	if f == nil || f.Code != code {
		t.Fatalf("Dispatch(%s) = %v, want %s", a.Type, err, code)
	}
	if after, _ := h.Get(t.Context(), a.RequestID); dumped(t, after) != dumped(t, before) {
		t.Errorf("a refused %s changed the request to %s", a.Type, dumped(t, after))
	}
	rejected, _ := err.(*Rejection)
	return rejected
}

func changed(id, question string, a Answer) Action {
	return Action{Type: AnswerChanged, RequestID: id, QuestionID: question, Answer: &a}
}

func ends(id string, how Outcome) Action {
	return Action{Type: CompletedBy, RequestID: id, Response: how}
}

func opens(t *testing.T, h *Hub) []Request {
	t.Helper()
	list, err := h.List(t.Context(), Filter{Statuses: []Status{Open}, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return list.Requests
}

func TestARequestIsWhatTheContractsSay(t *testing.T) {
	h := peer(t, t.TempDir(), Options{})
	form := mustOpen(t, h, greeting())
	link := mustOpen(t, h, Request{Trigger: CredentialRequired, Message: "Sign in", URL: "https://example.org/connect/1"})
	both := greeting()
	both.URL = "https://example.org/review"
	review := mustOpen(t, h, both)
	members := func(r Request) (m map[string]json.RawMessage) {
		t.Helper()
		if err := json.Unmarshal([]byte(dumped(t, r)), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	t.Run("E-004 I-006 the id stays, and no other has it", func(t *testing.T) {
		id := form.ID
		for _, a := range []Action{changed(id, "name", *draft("A")), {Type: PresentedTo, RequestID: id, Channel: "web"}, {Type: Extended, RequestID: id, Deadline: At(time.Now().Add(time.Hour))}} {
			if c := must(t, h, a); c.Request.ID != id || c.Action.RequestID != id {
				t.Errorf("after %s the id is %s in %s", a.Type, c.Action.RequestID, c.Request.ID)
			}
		}
		if id == link.ID || id == review.ID || link.ID == review.ID {
			t.Errorf("ids %s, %s, %s", id, link.ID, review.ID)
		}
	})
	t.Run("E-005 I-008 a message", func(t *testing.T) {
		for _, r := range []Request{form, link, review} {
			if r.Message == "" {
				t.Errorf("%s has no message", r.ID)
			}
		}
	})
	t.Run("E-006 I-009 a url for those with a page alone", func(t *testing.T) {
		if _, has := members(form)["url"]; has || string(members(link)["url"]) != `"https://example.org/connect/1"` {
			t.Errorf("form %v, link %v", members(form)["url"], members(link)["url"])
		}
	})
	t.Run("I-007 a mode", func(t *testing.T) {
		if form.Mode != Form || link.Mode != URL || review.Mode != URL {
			t.Errorf("modes %s, %s, %s", form.Mode, link.Mode, review.Mode)
		}
		if _, err := h.Open(t.Context(), Request{Trigger: HTTP, Mode: "song", Message: "?"}); fault.Of(err) == nil {
			t.Errorf("mode song = %v, want a rejection", err)
		}
	})
	t.Run("E-007 questions for forms, each with an id", func(t *testing.T) {
		if len(link.Questions) != 0 || len(form.Questions) != 2 || form.Questions[0].ID != "name" || form.Questions[1].ID != "age" {
			t.Errorf("questions %+v and %+v", link.Questions, form.Questions)
		}
	})
	t.Run("E-008 answers by question", func(t *testing.T) {
		r, err := h.Get(t.Context(), form.ID)
		if err != nil || len(r.Answers) != 1 || r.Answers["name"].Value.Text != "A" {
			t.Errorf("answers %+v, %v", r.Answers, err)
		}
	})
	t.Run("E-009 a url and questions together", func(t *testing.T) {
		if review.URL == "" || len(review.Questions) != 2 {
			t.Fatalf("the review is %+v", review)
		}
		refusedWith(t, h, ends(review.ID, Accept), InvalidAnswers)
		if c := must(t, h, accept(review.ID, "Ada")); !c.Request.Accepted() {
			t.Errorf("completed %+v", c.Request.Completion)
		}
	})
	t.Run("E-034 a page may be agreed to, declined or closed", func(t *testing.T) {
		for _, how := range []Outcome{Accept, Decline, Cancel} {
			r := mustOpen(t, h, Request{Trigger: HTTP, Message: "Review", URL: "https://example.org/"})
			if c := must(t, h, ends(r.ID, how)); c.Request.Completion.Outcome != how {
				t.Errorf("%s came to %+v", how, c.Request.Completion)
			}
		}
	})
	t.Run("I-002 I-011 one kind of request for every trigger", func(t *testing.T) {
		for _, trigger := range []Trigger{CredentialRequired, MCPElicitation, A2AInputRequired, "something new"} {
			r := mustOpen(t, h, Request{Trigger: trigger, Message: "?", Context: Context{ToolName: "issues", Other: map[string]json.RawMessage{"more": []byte(`{"deep":1}`)}}})
			read, err := h.Get(t.Context(), r.ID)
			if err != nil || read.Trigger != trigger || string(read.Context.Other["more"]) != `{"deep":1}` {
				t.Errorf("%s is %+v, %v", trigger, read, err)
			}
			must(t, h, ends(r.ID, Cancel))
		}
	})
}

func TestWhatPeopleDoWithARequest(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		agent, ada, bob := peer(t, place, attended), peer(t, place, Options{}), peer(t, place, Options{})
		for _, how := range []Outcome{Accept, Decline, Cancel} {
			done := asking(t, t.Context(), agent, greeting())
			id := asked(t, ada).ID
			t.Run("E-010 I-021 what asked waits: "+string(how), func(t *testing.T) {
				must(t, ada, changed(id, "name", said("Ada")))
				waittest.Nothing(t, "the end of Ask before anybody is done", done)
			})
			t.Run("E-014 another outcome is refused I-015", func(t *testing.T) {
				for _, other := range []Outcome{"completed", "maybe", "", Timeout, Abandoned} {
					refusedWith(t, bob, ends(id, other), Malformed)
				}
			})
			t.Run("E-014 E-015 E-040 it goes on with "+string(how), func(t *testing.T) {
				must(t, bob, ends(id, how))
				if got := <-done; got.err != nil || got.r.Completion.Outcome != how || (how == Accept) != (len(got.r.Answers) == 1) {
					t.Errorf("Ask = %+v, %v; want %s", got.r, got.err, how)
				}
			})
			t.Run("E-041 I-020 and no second time", func(t *testing.T) {
				if r := refusedWith(t, ada, ends(id, Accept), AlreadyCompleted); r == nil || r.Winner.Outcome != how {
					t.Errorf("the second learns of %+v, want %s", r, how)
				}
			})
		}
	})
}

func TestAnswersAreShared(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		ada, bob := peer(t, place, Options{Principal: "ada"}), peer(t, place, Options{Principal: "bob"})
		read := func(h *Hub, id string) Request {
			t.Helper()
			r, err := h.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		t.Run("E-012 E-016 of two questions both are kept", func(t *testing.T) {
			id := mustOpen(t, ada, greeting()).ID
			must(t, ada, changed(id, "name", *draft("Ada")))
			must(t, bob, changed(id, "age", Answer{State: Draft, Value: &Value{Kind: NumberValue, Number: 36}}))
			for _, h := range []*Hub{ada, bob} {
				if r := read(h, id); r.Answers["name"].Value.Text != "Ada" || r.Answers["age"].Value.Number != 36 {
					t.Errorf("answers %+v, want both", r.Answers)
				}
			}
		})
		t.Run("E-013 E-032 draft, submitted and skipped", func(t *testing.T) {
			id := mustOpen(t, ada, greeting()).ID
			for question, a := range map[string]Answer{"name": *draft("A"), "age": {State: Skipped}} {
				must(t, ada, changed(id, question, a))
				if got := read(bob, id).Answers[question]; got.State != a.State || (got.Value == nil) != (a.State == Skipped) {
					t.Errorf("%s is %+v to the other, want %s", question, got, a.State)
				}
			}
			must(t, ada, changed(id, "name", said("Ada")))
			if got := read(bob, id).Answers["name"]; got.State != Submitted {
				t.Errorf("name is %+v to the other, want submitted", got)
			}
		})
		t.Run("E-017 the last change of a question counts", func(t *testing.T) {
			id := mustOpen(t, ada, greeting()).ID
			must(t, ada, changed(id, "name", *draft("Ada")))
			must(t, bob, changed(id, "name", *draft("Bob")))
			for _, h := range []*Hub{ada, bob} {
				if got := read(h, id).Answers["name"]; got.Value.Text != "Bob" || got.Meta.By != "bob" {
					t.Errorf("name is %+v, want bob's", got)
				}
			}
		})
		t.Run("E-018 who comes back finds the drafts", func(t *testing.T) {
			id := mustOpen(t, ada, greeting()).ID
			must(t, ada, changed(id, "name", *draft("Half a")))
			if got := read(peer(t, place, Options{}), id).Answers["name"]; got.Value.Text != "Half a" {
				t.Errorf("name is %+v, want the draft", got)
			}
		})
	})
}

// A session needs input while it has an open request; the channel chooses the word
// for this.
func TestWhatBelongsToATurnEndsWithIt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h := peer(t, place, Options{})
		ask := func(session, turn string) string {
			r := greeting()
			r.Context = Context{SessionID: session, TurnID: turn}
			return mustOpen(t, h, r).ID
		}
		needs := func(session string) bool {
			t.Helper()
			list, err := h.List(t.Context(), Filter{Statuses: []Status{Open}, SessionID: session})
			if err != nil {
				t.Fatal(err)
			}
			return len(list.Requests) > 0
		}
		one, two := ask("s1", "t1"), ask("s1", "t1")
		t.Run("E-019 input is needed while one is open", func(t *testing.T) {
			if !needs("s1") || needs("s2") {
				t.Errorf("s1 needs input: %v, s2: %v; want s1 alone", needs("s1"), needs("s2"))
			}
		})
		t.Run("E-020 until the last one is done", func(t *testing.T) {
			must(t, h, accept(one, "Ada"))
			if !needs("s1") {
				t.Error("no input is needed after the first of two")
			}
			must(t, h, ends(two, Decline))
			if needs("s1") {
				t.Error("input is needed after the last")
			}
		})
		for line, reason := range map[string]string{"E-021": "turn_completed", "E-022": "turn_cancelled", "E-023": "turn_failed", "E-024": "turn_truncated"} {
			t.Run(line+" "+reason, func(t *testing.T) {
				id := ask("s3", "t "+reason)
				must(t, h, changed(id, "name", *draft("half")))
				if n, err := h.EndTurn(t.Context(), "t "+reason, reason); n != 1 || err != nil || needs("s3") {
					t.Errorf("EndTurn = %d, %v; open still: %v", n, err, needs("s3"))
				}
				r, err := h.Get(t.Context(), id)
				if err != nil || r.Completion.Outcome != Abandoned || r.Completion.Reason != reason || len(r.Answers) != 0 {
					t.Errorf("it is %+v, %v; want it abandoned: %s", r, err, reason)
				}
				t.Run("E-025 and is not completed any more", func(t *testing.T) { refusedWith(t, h, accept(id, "Ada"), AlreadyCompleted) })
			})
		}
	})
}

func TestKindsOfAnswersAreRefusedOrComeBack(t *testing.T) {
	h := peer(t, t.TempDir(), Options{})
	r := mustOpen(t, h, Request{Trigger: HTTP, Message: "All kinds", Questions: []Question{
		{ID: "text", Message: "?"}, {ID: "number", Kind: Number, Message: "?"}, {ID: "integer", Kind: Integer, Message: "?"},
		{ID: "boolean", Kind: Boolean, Message: "?", Required: true},
		{ID: "one", Kind: SingleSelect, Message: "?", Options: OptionsOf("a", "b"), AllowFreeform: true},
		{ID: "many", Kind: MultiSelect, Message: "?", Options: OptionsOf("a", "b"), AllowFreeform: true},
	}})
	for _, c := range []struct{ line, question, value, refused string }{
		{"E-026", "text", `{"kind":"text","value":"two\nlines"}`, ""},
		{"E-027", "number", `{"kind":"number","value":1.5}`, ""},
		{"E-028", "integer", `{"kind":"number","value":3}`, ""},
		{"E-028", "integer", `{"kind":"number","value":3.5}`, "not_an_integer"},
		{"E-029", "boolean", `{"kind":"boolean","value":true}`, ""},
		{"E-029", "boolean", `{"kind":"boolean","value":false}`, ""},
		{"E-030", "one", `{"kind":"selected","value":"a"}`, ""},
		{"E-030", "one", `{"kind":"selected","value":"b","freeformValues":["nearly"]}`, ""},
		{"E-030", "one", `{"kind":"selected","value":"c"}`, "unknown_option"},
		{"E-031", "many", `{"kind":"selected-many","value":[]}`, ""},
		{"E-031", "many", `{"kind":"selected-many","value":["a","b"],"freeformValues":["and c"]}`, ""},
		{"E-037", "text", `{"kind":"number","value":5}`, "kind_mismatch"},
		{"E-037", "many", `{"kind":"selected","value":"a"}`, "kind_mismatch"},
	} {
		t.Run(c.line+" "+c.question+" "+c.value, func(t *testing.T) {
			var v Value
			if err := json.Unmarshal([]byte(c.value), &v); err != nil {
				t.Fatal(err)
			}
			a := changed(r.ID, c.question, Answer{State: Submitted, Value: &v})
			if c.refused != "" {
				if got := refusedWith(t, h, a, InvalidAnswers); got.Problems[0].Code != c.refused {
					t.Errorf("refused with %+v, want %s", got.Problems, c.refused)
				}
				return
			}
			must(t, h, a)
			read, err := h.Get(t.Context(), r.ID)
			if err != nil {
				t.Fatal(err)
			}
			if got := dumped(t, read.Answers[c.question].Value); !sameJSON(t, got, c.value) {
				t.Errorf("it came back as %s", got)
			}
		})
	}
	t.Run("E-033 a draft is no answer", func(t *testing.T) {
		must(t, h, changed(r.ID, "boolean", Answer{State: Draft, Value: &Value{Kind: BooleanValue, Boolean: true}}))
		if got := refusedWith(t, h, ends(r.ID, Accept), InvalidAnswers); got.Problems[0].Code != "not_submitted" {
			t.Errorf("refused with %+v, want not_submitted", got.Problems)
		}
		must(t, h, changed(r.ID, "text", *draft("half")))
		must(t, h, changed(r.ID, "boolean", Answer{State: Submitted, Value: &Value{Kind: BooleanValue, Boolean: true}}))
		if c := must(t, h, ends(r.ID, Accept)); len(c.Request.Answers) != 5 || c.Request.Answers["text"].Value != nil {
			t.Errorf("handed on are %+v, want all but the draft", c.Request.Answers)
		}
	})
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		t.Fatalf("%s and %s are not both JSON", a, b)
	}
	return dumped(t, x) == dumped(t, y)
}

func TestActionsThatDoNotFitAreRefused(t *testing.T) {
	h := peer(t, t.TempDir(), Options{})
	id := mustOpen(t, h, greeting()).ID
	for _, c := range []struct {
		line   string
		action Action
		code   string
	}{
		{"E-035 an answer to no request", changed("elc_none", "name", said("x")), UnknownRequest},
		{"E-036 submitted without a value", changed(id, "name", Answer{State: Submitted}), InvalidAnswers},
		{"E-036 a draft without a value", changed(id, "name", Answer{State: Draft}), InvalidAnswers},
		{"E-038 the end of no request I-014", ends("elc_none", Accept), UnknownRequest},
		{"E-039 accepted without what is required", ends(id, Accept), InvalidAnswers},
		{"E-042 an answer to no question", changed(id, "nobody", said("x")), InvalidAnswers},
		{"I-016 what does not fit its question", Action{Type: CompletedBy, RequestID: id, Response: Accept, Answers: map[string]Answer{
			"name": said("Ada"), "age": {State: Submitted, Value: &Value{Kind: NumberValue, Number: 1.5}}}}, InvalidAnswers},
	} {
		t.Run(c.line, func(t *testing.T) { refusedWith(t, h, c.action, c.code) })
	}
	if got := opens(t, h); len(got) != 1 || len(got[0].Answers) != 0 {
		t.Errorf("open are %+v, want the one as it was", got)
	}
}

func TestWhatIsAskedEndsByItself(t *testing.T) {
	t.Run("I-022 a sign-in waits ten minutes", func(t *testing.T) {
		bubble(t, func(t *testing.T, open func(Options) *Hub) {
			h, since := open(attended), time.Now()
			r, err := h.Ask(t.Context(), Request{Trigger: CredentialRequired, Message: "Sign in", URL: "https://example.org/"})
			if waited := time.Since(since); err != nil || r.Completion.Outcome != Timeout || waited < 10*time.Minute || waited > 10*time.Minute+time.Second {
				t.Errorf("Ask = %+v, %v after %v; want a timeout after 10m", r.Completion, err, waited)
			}
		})
	})
	t.Run("I-023 I-066 what nobody waits for any more leaves the list", func(t *testing.T) {
		bubble(t, func(t *testing.T, open func(Options) *Hub) {
			many := 1000
			if racetest.On {
				many = 100 // the benchmark takes half a minute otherwise
			}
			h, person := open(attended), open(Options{})
			ctx, leave := context.WithCancel(t.Context())
			var asked []<-chan outcome
			for range many {
				asked = append(asked, beside(func() (Request, error) { return h.Ask(ctx, greeting()) }))
			}
			for len(opens(t, person)) < many {
				time.Sleep(time.Second)
			}
			leave()
			for _, one := range asked {
				<-one
			}
			time.Sleep(5*time.Minute + 2*time.Minute)
			list, err := person.List(t.Context(), Filter{Limit: 1})
			if err != nil || len(list.Requests) > 0 {
				t.Errorf("%+v, %v wait for a person, want none", list.Requests, err)
			}
			// A request whose asker may come back stays and can be answered.
			r, err := h.Ask(t.Context(), greeting())
			if list, e := person.List(t.Context(), Filter{}); err != nil || e != nil || len(list.Requests) != 1 || list.Requests[0].ID != r.ID {
				t.Errorf("%+v, %v wait for a person, want %s alone", list.Requests, e, r.ID)
			}
		})
	})
	t.Run("I-066 a turn takes all of its own along", func(t *testing.T) {
		h := peer(t, t.TempDir(), Options{})
		for range 100 {
			r := greeting()
			r.Context.TurnID = "t1"
			mustOpen(t, h, r)
		}
		if n, err := h.EndTurn(t.Context(), "t1", "stream_closed"); n != 100 || err != nil || len(opens(t, h)) != 0 {
			t.Errorf("EndTurn = %d, %v; open are %d", n, err, len(opens(t, h)))
		}
	})
	t.Run("I-003 a restart changes nothing", func(t *testing.T) {
		storetest.Each(t, func(t *testing.T, place string) {
			first := peer(t, place, attended)
			done := asking(t, t.Context(), first, greeting())
			id := asked(t, first).ID
			first.Close()
			<-done
			must(t, peer(t, place, Options{}), accept(id, "Ada"))
			if r, err := peer(t, place, Options{}).Wait(t.Context(), id); err != nil || r.Answers["name"].Value.Text != "Ada" {
				t.Errorf("Wait(%s) = %+v, %v", id, r, err)
			}
		})
	})
	t.Run("I-051 sessions do not mix", func(t *testing.T) {
		h := peer(t, t.TempDir(), Options{})
		for _, session := range []string{"s1", "s2"} {
			r := greeting()
			r.Context.SessionID = session
			mustOpen(t, h, r)
		}
		list, err := h.List(t.Context(), Filter{SessionID: "s1"})
		if err != nil || len(list.Requests) != 1 || list.Requests[0].Context.SessionID != "s1" {
			t.Errorf("s1 has %+v, %v; want its own", list.Requests, err)
		}
	})
}

func TestWhoMayAnswerAndWhatIsLogged(t *testing.T) {
	var log bytes.Buffer
	h := peer(t, t.TempDir(), Options{Principal: "ada", Log: slog.New(slog.NewJSONHandler(&log, nil))})
	t.Run("I-057 a page is for whom it was asked", func(t *testing.T) {
		r := mustOpen(t, h, Request{Trigger: CredentialRequired, Message: "Sign in", URL: "https://example.org/"})
		if r.Audience.Principal != "ada" {
			t.Fatalf("it is for %+v, want ada", r.Audience)
		}
		other := ends(r.ID, Accept)
		other.By = "eve"
		refusedWith(t, h, other, NotYours)
		if c := must(t, h, ends(r.ID, Accept)); c.Request.Completion.By != "ada" {
			t.Errorf("completed %+v", c.Request.Completion)
		}
	})
	t.Run("I-060 I-061 a line for each event", func(t *testing.T) {
		for _, how := range []Outcome{Accept, Decline, Cancel} {
			log.Reset()
			r := mustOpen(t, h, Request{Trigger: CredentialRequired, Message: "private", URL: "https://example.org/?code=private", Context: Context{ToolName: "issues", ToolCallID: "c1"}})
			must(t, h, ends(r.ID, how))
			var events []string
			for line := range strings.Lines(log.String()) {
				var e struct {
					Msg, ElicitationID, Trigger, ToolName, ToolID, UserID, Outcome, Level string
					Duration                                                              int64
				}
				if err := json.Unmarshal([]byte(line), &e); err != nil {
					t.Fatal(err)
				}
				if e.ElicitationID != r.ID || e.Trigger != "credential_required" || e.ToolName != "issues" || e.ToolID != "c1" || e.UserID != "ada" || e.Level != "INFO" {
					t.Errorf("the log has %s", line)
				}
				if events = append(events, e.Msg+" "+e.Outcome); e.Outcome != "" && e.Duration < 0 {
					t.Errorf("it took %d", e.Duration)
				}
			}
			word := map[Outcome]string{Accept: "completed", Decline: "declined", Cancel: "cancelled"}[how]
			if want := fmt.Sprint([]string{"elicitation.requested ", "elicitation." + word + " " + string(how)}); fmt.Sprint(events) != want {
				t.Errorf("logged %q, want %q", events, want)
			}
			if strings.Contains(log.String(), "private") {
				t.Errorf("the log tells what was asked: %s", log.String())
			}
		}
	})
}
