package ahp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	. "github.com/deskhand/deskhand/runtime/ahp"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// The bits of a status.
const (
	idle        = float64(1)
	inProgress  = float64(8)
	inputNeeded = float64(24)
)

// line shows one line of the acceptance list, E-001 to E-042, from outside: over
// a socket, with a desk of its own.
func line(t *testing.T, name string, show func(t *testing.T, d *desk)) {
	t.Run(name, func(t *testing.T) { show(t, serve(t, t.TempDir(), Options{})) })
}

var name = elicit.Question{ID: "name", Message: "Who?", Required: true}
var age = elicit.Question{ID: "age", Kind: elicit.Integer, Message: "How old?"}

// text is an answer's JSON.
func text(state, words string) string {
	return fmt.Sprintf(`{"state":%q,"value":{"kind":"text","value":%q}}`, state, words)
}

func changed(id, question, answer string) string {
	return fmt.Sprintf(`{"type":"session/inputAnswerChanged","requestId":%q,"questionId":%q,"answer":%s}`, id, question, answer)
}

func completed(id, response string) string {
	return fmt.Sprintf(`{"type":"session/inputCompleted","requestId":%q,"response":%q}`, id, response)
}

// session is the only session that there is.
func (c *raw) session() string {
	c.t.Helper()
	all := c.sessions()
	if len(all) != 1 {
		c.t.Fatalf("the root lists %v, want one session", all)
	}
	return all[0]
}

// taken wants an action that comes back without a reason.
func (c *raw) taken(channel, action string) note {
	c.t.Helper()
	n := c.dispatch(channel, action)
	if n.RejectionReason != "" {
		c.t.Errorf("%s is refused: %s", action, n.RejectionReason)
	}
	return n
}

// refused wants an action that comes back with a reason and a code.
func (c *raw) refused(channel, action, code string) {
	c.t.Helper()
	if n := c.dispatch(channel, action); n.RejectionReason == "" || n.Meta["code"] != code {
		c.t.Errorf("%s comes back as %s, want a rejection with code %s", action, dump(n), code)
	}
}

// ended waits for the request to end and wants an outcome.
func (d *desk) ended(t *testing.T, id string, want elicit.Outcome) elicit.Request {
	t.Helper()
	r := d.get(t, id)
	if r.Completion == nil || r.Completion.Outcome != want {
		t.Errorf("request ended with %+v, want %s", r.Completion, want)
	}
	return r
}

func TestStateOfASession(t *testing.T) {
	line(t, "E-001", func(t *testing.T, d *desk) {
		r := d.ask(t, "claude", name)
		c, _ := d.client(t, "a")
		uri := c.session()
		s := c.watch(uri)
		if got := in(s.State, "inputRequests", 0, "id"); got != r.ID || s.Resource != uri {
			t.Errorf("the state has request %v, want %s: %s", got, r.ID, dump(s))
		}
		c.taken(uri, completed(r.ID, "decline"))
		if got, there := c.watch(uri).State["inputRequests"]; there {
			t.Errorf("after the end the state has inputRequests %v, want none", got)
		}
	})
	line(t, "E-002", func(t *testing.T, d *desk) {
		d.ask(t, "claude", name)
		a, _ := d.client(t, "a")
		b, _ := d.client(t, "b")
		uri := a.session()
		a.watch(uri)
		b.watch(uri)
		second := d.ask(t, "claude", age)
		for _, c := range []*raw{a, b} {
			if n := c.action(); in(n.Action, "request", "id") != second.ID || n.Channel != uri {
				t.Errorf("a subscriber is told %s, want request %s", dump(n), second.ID)
			}
		}
	})
	line(t, "E-003", func(t *testing.T, d *desk) {
		r := d.ask(t, "claude", name)
		a, _ := d.client(t, "a")
		uri := a.session()
		a.taken(uri, changed(r.ID, "name", text("draft", "Ad")))
		late, snapshots := d.client(t, "late", uri)
		defer late.socket.CloseNow()
		if len(snapshots) != 1 || in(snapshots[0].State, "inputRequests", 0, "answers", "name", "value", "value") != "Ad" {
			t.Errorf("the snapshot is %s, want the draft Ad", dump(snapshots))
		}
	})
	line(t, "E-004", func(t *testing.T, d *desk) {
		d.ask(t, "claude", age)
		c, _ := d.client(t, "a")
		uri := c.session()
		c.watch(uri)
		r := d.ask(t, "claude", name)
		asked := in(c.action().Action, "request", "id")
		draft := in(c.taken(uri, changed(r.ID, "name", text("draft", "A"))).Action, "requestId")
		done := in(c.taken(uri, completed(r.ID, "cancel")).Action, "requestId")
		if asked != r.ID || draft != r.ID || done != r.ID {
			t.Errorf("the request is called %v, %v and %v, want %s", asked, draft, done, r.ID)
		}
	})
	line(t, "E-005", func(t *testing.T, d *desk) {
		d.open(t, elicit.Request{Trigger: elicit.CLI, Message: "Which way?"})
		c, _ := d.client(t, "a")
		if s := c.watch(c.session()); in(s.State, "inputRequests", 0, "message") != "Which way?" {
			t.Errorf("the state is %s, want the message", dump(s))
		}
	})
	line(t, "E-006", func(t *testing.T, d *desk) {
		d.open(t, elicit.Request{Trigger: elicit.CLI, Message: "Review", URL: "https://example.org/review"})
		d.open(t, elicit.Request{Trigger: elicit.CLI, Message: "Go?", Questions: []elicit.Question{name}})
		c, _ := d.client(t, "a")
		s := c.watch(c.session())
		_, there := in(s.State, "inputRequests", 1).(map[string]any)["url"]
		if in(s.State, "inputRequests", 0, "url") != "https://example.org/review" || there {
			t.Errorf("the state is %s, want a url in the first alone", dump(s))
		}
	})
	line(t, "E-007", func(t *testing.T, d *desk) {
		d.open(t, elicit.Request{Trigger: elicit.CLI, Message: "Review", URL: "https://example.org/review"})
		d.open(t, elicit.Request{Trigger: elicit.CLI, Questions: []elicit.Question{name, age}})
		c, _ := d.client(t, "a")
		s := c.watch(c.session())
		_, there := in(s.State, "inputRequests", 0).(map[string]any)["questions"]
		if there || in(s.State, "inputRequests", 1, "questions", 0, "id") != "name" || in(s.State, "inputRequests", 1, "questions", 1, "id") != "age" {
			t.Errorf("the state is %s, want questions with ids in the second alone", dump(s))
		}
	})
	line(t, "E-008", func(t *testing.T, d *desk) {
		r := d.ask(t, "claude", name, age)
		c, _ := d.client(t, "a")
		uri := c.session()
		c.taken(uri, changed(r.ID, "age", `{"state":"draft","value":{"kind":"number","value":3}}`))
		answers, _ := in(c.watch(uri).State, "inputRequests", 0, "answers").(map[string]any)
		if len(answers) != 1 || in(answers, "age", "value", "value") != 3.0 {
			t.Errorf("answers are %s, want age alone", dump(answers))
		}
	})
	line(t, "E-009", func(t *testing.T, d *desk) {
		r := d.open(t, elicit.Request{Trigger: elicit.CLI, Message: "Review", URL: "https://example.org/review", Questions: []elicit.Question{name}})
		c, _ := d.client(t, "a")
		uri := c.session()
		s := c.watch(uri)
		if in(s.State, "inputRequests", 0, "url") == nil || in(s.State, "inputRequests", 0, "questions", 0, "id") != "name" {
			t.Errorf("the state is %s, want url and question", dump(s))
		}
		c.refused(uri, completed(r.ID, "accept"), elicit.InvalidAnswers)
		c.taken(uri, changed(r.ID, "name", text("submitted", "Ada")))
		c.taken(uri, completed(r.ID, "accept"))
		d.ended(t, r.ID, elicit.Accept)
	})
}

func TestLifeOfARequest(t *testing.T) {
	line(t, "E-010", func(t *testing.T, d *desk) {
		r := d.ask(t, "claude", name)
		c, _ := d.client(t, "a")
		uri := c.session()
		if s := c.watch(uri); in(s.State, "activeTurn", "id") == nil {
			t.Errorf("the state is %s, want an active turn", dump(s))
		}
		c.taken(uri, changed(r.ID, "name", text("draft", "A")))
		if s := c.watch(uri); in(s.State, "activeTurn", "id") == nil || d.get(t, r.ID).Status != elicit.Open {
			t.Errorf("after a draft the state is %s, want the turn active and the request open", dump(s))
		}
	})
	line(t, "E-011", func(t *testing.T, d *desk) {
		d.ask(t, "claude", age)
		c, _ := d.client(t, "a")
		c.watch(c.session())
		r := d.ask(t, "claude", name)
		n := c.action()
		if n.Action["type"] != Requested || in(n.Action, "request", "id") != r.ID || in(n.Action, "request", "questions", 0, "id") != "name" {
			t.Errorf("subscribers are told %s, want %s with both ids", dump(n), Requested)
		}
	})
	line(t, "E-012", func(t *testing.T, d *desk) {
		r := d.ask(t, "claude", name, age)
		c, _ := d.client(t, "a")
		uri := c.session()
		c.taken(uri, changed(r.ID, "name", text("draft", "Ada")))
		c.taken(uri, changed(r.ID, "age", `{"state":"draft","value":{"kind":"number","value":3}}`))
		answers := in(c.watch(uri).State, "inputRequests", 0, "answers")
		if in(answers, "name", "value", "value") != "Ada" || in(answers, "age", "value", "value") != 3.0 {
			t.Errorf("answers are %s, want both", dump(answers))
		}
	})
	line(t, "E-013", func(t *testing.T, d *desk) {
		r := d.ask(t, "claude", name, age)
		a, _ := d.client(t, "a")
		uri := a.session()
		b, _ := d.client(t, "b", uri)
		for _, step := range [][3]string{
			{"name", text("draft", "A"), "draft"}, {"name", text("submitted", "Ada"), "submitted"}, {"age", `{"state":"skipped"}`, "skipped"},
		} {
			a.taken(uri, changed(r.ID, step[0], step[1]))
			if n := b.action(); in(n.Action, "answer", "state") != step[2] || in(n.Action, "questionId") != step[0] {
				t.Errorf("the other client is told %s, want %s %s", dump(n), step[0], step[2])
			}
		}
	})
	line(t, "E-014", func(t *testing.T, d *desk) {
		for _, response := range []string{"accept", "decline", "cancel"} {
			asked := make(chan elicit.Request, 1)
			go func() {
				r, err := d.hub.Ask(context.WithoutCancel(t.Context()), elicit.Request{Trigger: elicit.CLI, Message: response})
				if err != nil {
					t.Errorf("Ask = %v", err)
				}
				asked <- r
			}()
			c, _ := d.client(t, response)
			id := ""
			for id == "" {
				if all := c.sessions(); len(all) > 0 {
					id, _ = in(c.watch(all[0]).State, "inputRequests", 0, "id").(string)
				}
			}
			uri := c.session()
			c.refused(uri, completed(id, "maybe"), elicit.Malformed)
			c.taken(uri, completed(id, response))
			if r := <-asked; string(r.Completion.Outcome) != response {
				t.Errorf("the asker gets %s, want %s", r.Completion.Outcome, response)
			}
		}
	})
	line(t, "E-016", func(t *testing.T, d *desk) {
		r := d.ask(t, "claude", name, age)
		a, _ := d.client(t, "a")
		b, _ := d.client(t, "b")
		uri := a.session()
		a.taken(uri, changed(r.ID, "name", text("draft", "Ada")))
		b.taken(uri, changed(r.ID, "age", `{"state":"draft","value":{"kind":"number","value":36}}`))
		for _, c := range []*raw{a, b} {
			answers := in(c.watch(uri).State, "inputRequests", 0, "answers")
			if in(answers, "name", "value", "value") != "Ada" || in(answers, "age", "value", "value") != 36.0 {
				t.Errorf("answers are %s, want both", dump(answers))
			}
		}
	})
	line(t, "E-017", func(t *testing.T, d *desk) {
		r := d.ask(t, "claude", name)
		a, _ := d.client(t, "a")
		uri := a.session()
		b, _ := d.client(t, "b", uri)
		a.watch(uri)
		first := a.taken(uri, changed(r.ID, "name", text("draft", "Ada")))
		second := b.taken(uri, changed(r.ID, "name", text("draft", "Grace")))
		if second.ServerSeq <= first.ServerSeq {
			t.Errorf("the second has sequence number %d, the first %d", second.ServerSeq, first.ServerSeq)
		}
		if n := a.action(); in(n.Action, "answer", "value", "value") != "Grace" {
			t.Errorf("the first is told %s, want the second's text", dump(n))
		}
		for _, c := range []*raw{a, b} {
			if got := in(c.watch(uri).State, "inputRequests", 0, "answers", "name", "value", "value"); got != "Grace" {
				t.Errorf("a client ends on %v, want Grace", got)
			}
		}
	})
	line(t, "E-018", func(t *testing.T, d *desk) {
		r := d.ask(t, "claude", name)
		c, _ := d.client(t, "a")
		uri := c.session()
		seen := c.taken(uri, changed(r.ID, "name", text("draft", "Ada"))).ServerSeq
		c.socket.CloseNow()
		other, _ := d.client(t, "b")
		other.taken(uri, changed(r.ID, "name", text("draft", "Ada L")))
		again := d.dial(t)
		var h hello
		again.call("reconnect", map[string]any{"clientId": "a", "lastSeenServerSeq": seen, "subscriptions": []string{uri, "ahp-session:/gone"}}, &h)
		if h.Type != "replay" || len(h.Actions) != 1 || in(h.Actions[0].Action, "answer", "value", "value") != "Ada L" || len(h.Missing) != 1 {
			t.Errorf("reconnect = %s, want the one draft that was missed", dump(h))
		}
		if got := in(again.watch(uri).State, "inputRequests", 0, "answers", "name", "value", "value"); got != "Ada L" {
			t.Errorf("the draft is %v, want Ada L", got)
		}
	})
}

func TestStatusAndCleanup(t *testing.T) {
	line(t, "E-019", func(t *testing.T, d *desk) {
		d.ask(t, "claude", name)
		c, _ := d.client(t, "a")
		if s := c.watch(c.session()); in(s.State, "summary", "status") != inputNeeded {
			t.Errorf("the state is %s, want status InputNeeded", dump(s))
		}
	})
	line(t, "E-020", func(t *testing.T, d *desk) {
		first, second := d.ask(t, "claude", name), d.ask(t, "claude", age)
		c, _ := d.client(t, "a", RootURI)
		uri := c.session()
		c.taken(uri, completed(first.ID, "decline"))
		if s := c.watch(uri); in(s.State, "summary", "status") != inputNeeded {
			t.Errorf("with one of two open the state is %s, want InputNeeded", dump(s))
		}
		c.taken(uri, completed(second.ID, "decline"))
		if s := c.watch(uri); in(s.State, "summary", "status") != inProgress {
			t.Errorf("with none open the state is %s, want InProgress", dump(s))
		}
	})
	for id, c := range map[string]struct {
		reason, action string
		status         float64
	}{
		"E-021": {"complete", TurnComplete, idle},
		"E-022": {"cancelled", TurnCancelled, idle},
		"E-023": {"error", TurnFailed, 2},
		"E-024": {"truncated", TurnCancelled, idle},
	} {
		line(t, id, func(t *testing.T, d *desk) {
			for range 2 {
				d.open(t, elicit.Request{Trigger: elicit.AskUser, Context: elicit.Context{SessionID: "s1", TurnID: "t1"}, Questions: []elicit.Question{name}})
			}
			a, _ := d.client(t, "a", "ahp-session:/s1")
			if n, err := d.hub.EndTurn(t.Context(), "t1", c.reason); err != nil || n != 2 {
				t.Fatalf("EndTurn = %d, %v; want 2", n, err)
			}
			if n := a.action(); n.Action["type"] != Completed || n.Action["response"] != "cancel" || in(n.Action, "_meta", "outcome") != "abandoned" {
				t.Errorf("first comes %s, want one request abandoned", dump(n))
			}
			if n := a.action(); n.Action["type"] != c.action {
				t.Errorf("then comes %s, want %s", dump(n), c.action)
			}
			for _, who := range []string{"a", "new"} {
				s := a
				if who == "new" {
					s, _ = d.client(t, who)
				}
				state := s.watch("ahp-session:/s1").State
				_, there := state["inputRequests"]
				if there || in(state, "summary", "status") != c.status {
					t.Errorf("%s sees %s, want no request and status %v", who, dump(state), c.status)
				}
			}
		})
	}
	line(t, "E-025", func(t *testing.T, d *desk) {
		r := d.open(t, elicit.Request{Trigger: elicit.AskUser, Context: elicit.Context{SessionID: "s1", TurnID: "t1"}, Questions: []elicit.Question{name}})
		c, _ := d.client(t, "a", "ahp-session:/s1")
		if _, err := d.hub.EndTurn(t.Context(), "t1", "complete"); err != nil {
			t.Fatal(err)
		}
		c.refused("ahp-session:/s1", completed(r.ID, "decline"), elicit.AlreadyCompleted)
	})
}

func TestQuestionsAndAnswers(t *testing.T) {
	number := func(n string) string {
		return `{"state":"submitted","value":{"kind":"number","value":` + n + `}}`
	}
	options := elicit.OptionsOf("Red", "Green", "Blue")
	for id, c := range map[string]struct {
		question elicit.Question
		answers  []string // each is taken and comes back as it is
		refused  []string
	}{
		"E-026": {elicit.Question{Kind: elicit.Text}, []string{text("submitted", "Zoë"), text("draft", "")}, nil},
		"E-027": {elicit.Question{Kind: elicit.Number}, []string{number("1.5")}, nil},
		"E-028": {elicit.Question{Kind: elicit.Integer}, []string{number("3")}, []string{number("3.5")}},
		"E-029": {elicit.Question{Kind: elicit.Boolean}, []string{`{"state":"submitted","value":{"kind":"boolean","value":true}}`,
			`{"state":"submitted","value":{"kind":"boolean","value":false}}`}, nil},
		"E-030": {elicit.Question{Kind: elicit.SingleSelect, Options: options, AllowFreeform: true}, []string{
			`{"state":"submitted","value":{"kind":"selected","value":"Red"}}`,
			`{"state":"submitted","value":{"kind":"selected","value":"","freeformValues":["mauve"]}}`},
			[]string{`{"state":"submitted","value":{"kind":"selected","value":"Mauve"}}`}},
		"E-031": {elicit.Question{Kind: elicit.MultiSelect, Options: options, AllowFreeform: true}, []string{
			`{"state":"submitted","value":{"kind":"selected-many","value":[]}}`,
			`{"state":"submitted","value":{"kind":"selected-many","value":["Red","Blue"]}}`,
			`{"state":"submitted","value":{"kind":"selected-many","value":["Red"],"freeformValues":["mauve"]}}`},
			[]string{`{"state":"submitted","value":{"kind":"selected-many","value":["Mauve"]}}`}},
		"E-032": {elicit.Question{Kind: elicit.Text}, []string{`{"state":"skipped"}`, `{"state":"skipped","freeformValues":["not now"]}`},
			[]string{`{"state":"forgotten"}`}},
	} {
		line(t, id, func(t *testing.T, d *desk) {
			c.question.ID, c.question.Message = "q", "?"
			r := d.ask(t, "claude", c.question)
			a, _ := d.client(t, "a")
			uri := a.session()
			for _, answer := range c.answers {
				n := a.taken(uri, changed(r.ID, "q", answer))
				back, _ := in(n.Action, "answer").(map[string]any)
				delete(back, "_meta")
				shown, _ := in(a.watch(uri).State, "inputRequests", 0, "answers", "q").(map[string]any)
				delete(shown, "_meta")
				if want := reorder(t, answer); dump(back) != want || dump(shown) != want {
					t.Errorf("%s comes back as %s and is shown as %s", answer, dump(back), dump(shown))
				}
			}
			for _, answer := range c.refused {
				if n := a.dispatch(uri, changed(r.ID, "q", answer)); n.RejectionReason == "" {
					t.Errorf("%s is taken, want a rejection", answer)
				}
			}
		})
	}
	line(t, "E-033", func(t *testing.T, d *desk) {
		r := d.ask(t, "claude", name)
		c, _ := d.client(t, "a")
		uri := c.session()
		c.taken(uri, changed(r.ID, "name", text("draft", "Ada")))
		c.refused(uri, completed(r.ID, "accept"), elicit.InvalidAnswers)
		c.taken(uri, changed(r.ID, "name", text("submitted", "Ada")))
		c.taken(uri, completed(r.ID, "accept"))
		if r := d.ended(t, r.ID, elicit.Accept); r.Answers["name"].Value.Text != "Ada" {
			t.Errorf("the answers are %+v, want Ada", r.Answers)
		}
	})
}

// reorder is JSON with the order of keys that dump writes.
func reorder(t *testing.T, s string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatal(err)
	}
	return dump(v)
}

func TestWhatIsRefused(t *testing.T) {
	line(t, "E-034", func(t *testing.T, d *desk) {
		for _, response := range []string{"decline", "accept"} {
			r := d.open(t, elicit.Request{Trigger: elicit.CLI, Message: "Review", URL: "https://example.org/review"})
			c, _ := d.client(t, response)
			c.taken(c.session(), completed(r.ID, response))
			d.ended(t, r.ID, elicit.Outcome(response))
		}
	})
	for id, c := range map[string]struct {
		action func(id string) string
		code   string
		says   string
	}{
		"E-035": {func(string) string { return changed("elc_nobody", "name", text("draft", "A")) }, elicit.UnknownRequest, "no request"},
		"E-036": {func(id string) string { return changed(id, "name", `{"state":"submitted"}`) }, elicit.InvalidAnswers, "needs a value"},
		"E-037": {func(id string) string {
			return changed(id, "name", `{"state":"submitted","value":{"kind":"number","value":3}}`)
		}, elicit.InvalidAnswers, "takes a value of kind text"},
		"E-038": {func(string) string { return completed("elc_nobody", "decline") }, elicit.UnknownRequest, "no request"},
		"E-039": {func(id string) string { return completed(id, "accept") }, elicit.InvalidAnswers, "an answer is required"},
		"E-042": {func(id string) string { return changed(id, "nothing", text("draft", "A")) }, elicit.InvalidAnswers, "no question"},
	} {
		line(t, id, func(t *testing.T, d *desk) {
			r := d.ask(t, "claude", name)
			a, _ := d.client(t, "a")
			uri := a.session()
			before := dump(a.watch(uri).State)
			n := a.dispatch(uri, c.action(r.ID))
			if n.Meta["code"] != c.code || !strings.Contains(n.RejectionReason, c.says) {
				t.Errorf("%s comes back as %s, want code %s and %q", c.action(r.ID), dump(n), c.code, c.says)
			}
			if after := dump(a.watch(uri).State); after != before {
				t.Errorf("the state was\n%s\nand is\n%s", before, after)
			}
		})
	}
	line(t, "E-040", func(t *testing.T, d *desk) {
		for _, response := range []string{"decline", "cancel"} {
			r := d.ask(t, "claude", name)
			c, _ := d.client(t, response)
			c.taken(c.session(), completed(r.ID, response))
			d.ended(t, r.ID, elicit.Outcome(response))
		}
	})
	line(t, "a note goes with an answer, to who asked and to who looks", func(t *testing.T, d *desk) {
		r := d.ask(t, "claude", name)
		a, _ := d.client(t, "a")
		n := a.taken(a.session(), strings.TrimSuffix(completed(r.ID, "decline"), "}")+`,"_meta":{"note":"after six"}}`)
		if now := d.get(t, r.ID); now.Completion.Note != "after six" {
			t.Errorf("the completion is %+v, want the note", now.Completion)
		}
		if !strings.Contains(dump(n), `"note":"after six"`) {
			t.Errorf("told as %s, want the note", dump(n))
		}
	})
	line(t, "E-041", func(t *testing.T, d *desk) {
		r := d.ask(t, "claude", name)
		a, _ := d.client(t, "a")
		b, _ := d.client(t, "b")
		uri := a.session()
		a.taken(uri, completed(r.ID, "decline"))
		n := b.dispatch(uri, completed(r.ID, "cancel"))
		if n.Meta["code"] != elicit.AlreadyCompleted || in(n.Meta, "winner", "outcome") != "decline" {
			t.Errorf("the second comes back as %s, want a rejection that names the winner", dump(n))
		}
	})
	t.Run("unknown actions", func(t *testing.T) {
		d := serve(t, t.TempDir(), Options{})
		r := d.ask(t, "claude", name)
		c, _ := d.client(t, "a")
		uri := c.session()
		for _, action := range []string{`{"type":"session/sing"}`, `{"type":"session/inputRequested","request":{"id":"x","message":"y"}}`} {
			c.refused(uri, action, "unknown_action")
		}
		for _, action := range []string{`{}`, changed(r.ID, "name", `{"state":"draft","value":{"kind":"text","value":5}}`),
			changed(r.ID, "name", `{"state":"draft","value":{"kind":"song","value":"x"}}`), changed(r.ID, "name", `"x"`)} {
			c.refused(uri, action, elicit.Malformed)
		}
		c.refused("ahp-session:/another", completed(r.ID, "decline"), elicit.UnknownRequest)
	})
}
