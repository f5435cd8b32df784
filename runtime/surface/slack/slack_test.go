package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/outbox"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/surface/slack/slacktest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

const (
	patience = 15 * time.Second
	ann      = "U0ANN"
	bob      = "U0BOB"
	eve      = "U0EVE" // may not answer
)

// testLease is so short that processes soon consider each other dead.
const testLease = 2 * time.Second

func people() []Person {
	return []Person{{User: ann, Principal: "ann"}, {User: bob, Principal: "bob", Roles: []string{"ops"}}}
}

// peer returns a hub over the store at a place.
func peer(t *testing.T, place string) (*store.DB, *elicit.Hub) {
	t.Helper()
	return peerWith(t, place, elicit.Options{})
}

func peerWith(t *testing.T, place string, o elicit.Options) (*store.DB, *elicit.Hub) {
	t.Helper()
	db, err := store.Open(context.Background(), place, elicit.Schema(), outbox.Schema(), Schema())
	if err != nil {
		t.Fatal(err)
	}
	hub := elicit.New(db, o)
	t.Cleanup(func() { hub.Close(); db.Close() })
	return db, hub
}

// at starts a surface over the store at a place. stop ends it and waits.
func at(t *testing.T, place string, s *slacktest.Slack) (hub *elicit.Hub, stop func()) {
	t.Helper()
	return atWith(t, place, s, elicit.Options{})
}

func atWith(t *testing.T, place string, s *slacktest.Slack, o elicit.Options) (hub *elicit.Hub, stop func()) {
	t.Helper()
	db, hub := peerWith(t, place, o)
	surface, err := New(db, hub, Options{Channel: slacktest.Channel, People: people(), AppToken: slacktest.AppToken,
		BotToken: slacktest.BotToken, API: s.API(), Log: slog.New(slog.NewTextHandler(t.Output(), nil)), lease: testLease})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- surface.Run(ctx) }()
	stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		ended <- nil
	}
	t.Cleanup(stop)
	return hub, stop
}

func open(t *testing.T, hub *elicit.Hub, r elicit.Request) elicit.Request {
	t.Helper()
	if r.Trigger == "" {
		r.Trigger = elicit.CLI
	}
	r.Source = elicit.Source{Kind: "cli", Name: "deploy"}
	r, err := hub.Open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func confirm(text string) elicit.Request {
	return elicit.Request{Questions: []elicit.Question{{ID: "go", Kind: elicit.Boolean, Message: text, Required: true}}}
}

// shown waits for a request's message, and for the words in it if they are not
// empty.
func shown(t *testing.T, s *slacktest.Slack, r elicit.Request, words string) (found slacktest.Message) {
	t.Helper()
	s.Until(t, fmt.Sprintf("a message of %s that says %q", r.ID, words), patience, func() bool {
		for _, m := range s.Messages() {
			if m.Metadata.EventPayload["id"] == r.ID && strings.Contains(all(m), words) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

func all(m slacktest.Message) string {
	b, err := json.Marshal(m.Blocks)
	if err != nil {
		return err.Error()
	}
	return m.Text + "\n" + string(b)
}

func count(s *slacktest.Slack, r elicit.Request) (n int) {
	for _, m := range s.Messages() {
		if m.Metadata.EventPayload["id"] == r.ID {
			n++
		}
	}
	return n
}

func now(t *testing.T, hub *elicit.Hub, r elicit.Request) elicit.Request {
	t.Helper()
	r, err := hub.Get(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func answered(t *testing.T, hub *elicit.Hub, r elicit.Request) elicit.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := hub.WaitLate(ctx, r.ID)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	return r
}

func TestAPressIsAnAnswerAndSaysWhoGaveIt(t *testing.T) {
	s := slacktest.New(t)
	hub, _ := at(t, t.TempDir(), s)
	r := open(t, hub, confirm("Ship it?"))
	m := shown(t, s, r, "Ship it?")
	if !strings.Contains(all(m), "deploy asks") {
		t.Errorf("the message does not say who asks: %s", all(m))
	}
	s.Until(t, "the request says that it is in slack", patience, func() bool {
		now, err := hub.Get(t.Context(), r.ID)
		return err == nil && len(now.Presented) == 1 && now.Presented[0].Channel == "slack"
	})
	s.Press(t, ann, m, opYes, "")
	got := answered(t, hub, r)
	if c := got.Completion; !got.Answers["go"].Value.Boolean || c.By != "ann" || c.Channel != "slack" {
		t.Errorf("answered %+v by %+v, want yes by ann in Slack", got.Answers, c)
	}
	m = shown(t, s, r, "Answered by ann in Slack: Yes")
	if strings.Contains(all(m), `"actions"`) {
		t.Errorf("what is answered can still be pressed: %s", all(m))
	}
}

func TestWhoMayNotAnswerIsToldSo(t *testing.T) {
	s := slacktest.New(t)
	hub, _ := at(t, t.TempDir(), s)
	for name, one := range map[string]struct {
		request elicit.Request
		user    string
		says    string
	}{
		"not configured":     {confirm("One?"), eve, "add U0EVE to slack.people"},
		"for somebody else":  {elicit.Request{Audience: elicit.Audience{Principal: "carl"}, Questions: confirm("Two?").Questions}, ann, "for someone else"},
		"without the role":   {elicit.Request{Audience: elicit.Audience{Roles: []string{"ops"}}, Questions: confirm("Three?").Questions}, ann, "for someone else"},
		"after somebody did": {confirm("Four?"), ann, "already answered by bob in Slack"},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, hub, one.request)
			m := shown(t, s, r, "")
			if name == "after somebody did" {
				s.Press(t, bob, m, opNo, "")
				answered(t, hub, r)
			}
			s.Press(t, one.user, m, opYes, "")
			s.Until(t, "a word to "+one.user+" of "+one.says, patience, func() bool {
				for _, w := range s.Whispers() {
					if w.User == one.user && strings.Contains(w.Text, one.says) {
						return true
					}
				}
				return false
			})
			if got := now(t, hub, r); got.Accepted() && got.Completion.By != "bob" {
				t.Errorf("answered by %+v", got.Completion)
			}
		})
	}
}

// The settings still name a person who may not answer any more, or has lost the project since
// the message was posted.
func TestAttackDoorsSlackOfWhoLostRights(t *testing.T) {
	s := slacktest.New(t)
	var may atomic.Pointer[access.Caller]
	may.Store(&access.Caller{Name: "ann", Scopes: []access.Scope{access.Answer}})
	hub, _ := atWith(t, t.TempDir(), s, elicit.Options{Caller: func(context.Context, string) (access.Caller, error) { return *may.Load(), nil }})
	for name, now := range map[string]access.Caller{
		"the scope":   {Name: "ann", Scopes: []access.Scope{access.Docs}},
		"the project": {Name: "ann", Scopes: []access.Scope{access.Answer}, Boundary: access.Boundary{Projects: []string{"p"}}},
		"everything":  {Name: "ann", Boundary: access.Boundary{Confined: true}},
	} {
		t.Run(name, func(t *testing.T) {
			may.Store(&access.Caller{Name: "ann", Scopes: []access.Scope{access.Answer}})
			r := confirm("Before " + name + "?")
			r.Context.ProjectID = "p"
			r = open(t, hub, r)
			m, views, told := shown(t, s, r, "Before"), len(s.Views()), len(s.Whispers())
			may.Store(&now)
			for _, press := range [][2]string{{opYes, ""}, {opDecline, ""}, {opMore, opCancel}} {
				s.Press(t, ann, m, press[0], press[1])
				told++
				s.Until(t, "a refusal of "+press[0], patience, func() bool { return len(s.Whispers()) == told })
			}
			if name != "the scope" { // whoever sees the project may read the form
				s.Press(t, ann, m, opForm, "")
				told++
				s.Until(t, "a refusal of the form", patience, func() bool { return len(s.Whispers()) == told })
				if got := len(s.Views()); got != views {
					t.Errorf("the form was opened")
				}
			}
			got, err := hub.Get(t.Context(), r.ID)
			if err != nil || got.Status != elicit.Open || !got.Deadline.Equal(r.Deadline.Time) {
				t.Errorf("the question is %+v, %v", got, err)
			}
		})
	}
}

func TestRolesMayAnswer(t *testing.T) {
	s := slacktest.New(t)
	hub, _ := at(t, t.TempDir(), s)
	r := open(t, hub, elicit.Request{Audience: elicit.Audience{Roles: []string{"ops"}}, Questions: confirm("Go?").Questions})
	s.Press(t, bob, shown(t, s, r, ""), opYes, "")
	if got := answered(t, hub, r); got.Completion.By != "bob" {
		t.Errorf("answered by %q, want bob", got.Completion.By)
	}
}

// I-053: a request with a link is a message with a link button, only for the person
// it is for.
func TestALinkIsAButtonInADirectMessage(t *testing.T) {
	s := slacktest.New(t)
	hub, _ := at(t, t.TempDir(), s)
	r := open(t, hub, elicit.Request{Trigger: elicit.CredentialRequired, URL: "https://desk.example/connect/1", Message: "Linear requires authentication.",
		Audience: elicit.Audience{Principal: "ann"}})
	m := shown(t, s, r, `"url":"https://desk.example/connect/1"`)
	if m.Channel != "D0ANN" || !strings.Contains(all(m), "Connect your account") || !strings.Contains(all(m), "desk.example") {
		t.Errorf("in %s: %s, want ann's direct message with the button and where it leads", m.Channel, all(m))
	}
	s.Press(t, ann, m, opLink, "")
	if got := now(t, hub, r); got.Ended() {
		t.Errorf("pressing the link ended the request: %+v", got.Completion)
	}
	s.Press(t, ann, m, opDecline, "")
	if got := answered(t, hub, r); got.Completion.Outcome != elicit.Decline {
		t.Errorf("outcome %s, want decline", got.Completion.Outcome)
	}
	shown(t, s, r, "Declined by ann in Slack")
}

// I-054: at the deadline the message says Expired. A late answer still counts.
func TestAtTheDeadlineTheMessageSaysExpired(t *testing.T) {
	s := slacktest.New(t)
	hub, _ := at(t, t.TempDir(), s)
	r := confirm("Ship it?")
	r.WaitMS = 1500
	r = open(t, hub, r)
	shown(t, s, r, "Answer by")
	m := shown(t, s, r, "Expired")
	s.Press(t, ann, m, opNo, "")
	if got := answered(t, hub, r); !got.Completion.Late || got.Answers["go"].Value.Boolean {
		t.Errorf("%+v, want a late no", got)
	}
	shown(t, s, r, "Answered by ann in Slack: No, late")
}

func TestMoreTimeAndClosing(t *testing.T) {
	s := slacktest.New(t)
	hub, _ := at(t, t.TempDir(), s)
	r := confirm("Ship it?")
	r.WaitMS = 60_000
	r = open(t, hub, r)
	m := shown(t, s, r, "")
	s.Press(t, ann, m, opMore, opLonger)
	s.Until(t, "ten more minutes", patience, func() bool {
		return now(t, hub, r).Deadline.Sub(r.Deadline.Time) == 10*time.Minute && count(s, r) == 1 && shown(t, s, r, "").Updates > 0
	})
	s.Press(t, ann, m, opMore, opCancel)
	if got := answered(t, hub, r); got.Completion.Outcome != elicit.Cancel {
		t.Errorf("outcome %s, want cancel", got.Completion.Outcome)
	}
	shown(t, s, r, "Cancelled by ann")
}

func TestAnAnswerElsewhereIsShown(t *testing.T) {
	s := slacktest.New(t)
	hub, _ := at(t, t.TempDir(), s)
	r, gone := open(t, hub, confirm("Ship it?")), open(t, hub, confirm("And this?"))
	shown(t, s, r, "")
	shown(t, s, gone, "")
	answers, err := r.Fields(map[string][]string{"go": {"yes"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hub.Dispatch(t.Context(), elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Accept, Answers: answers, By: "carl", Channel: "web"}); err != nil {
		t.Fatal(err)
	}
	if _, err := hub.Dispatch(t.Context(), elicit.Action{Type: elicit.Withdrawn, RequestID: gone.ID}); err != nil {
		t.Fatal(err)
	}
	shown(t, s, r, "Answered by carl in the browser: Yes")
	shown(t, s, gone, "Withdrawn")
}

func TestAMenuForManyOptions(t *testing.T) {
	for _, n := range []int{3, 6, 100, 101, 200} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := slacktest.New(t)
			hub, _ := at(t, t.TempDir(), s)
			q := elicit.Question{ID: "which", Kind: elicit.SingleSelect, Message: "Which?", Required: true}
			for i := range n {
				q.Options = append(q.Options, elicit.Option{ID: fmt.Sprintf("%s%d", strings.Repeat("long", 50), i), Label: fmt.Sprintf("Option %d %s", i, strings.Repeat("x", i)), Description: strings.Repeat("y", i)})
			}
			r := open(t, hub, elicit.Request{Questions: []elicit.Question{q}})
			last := q.Options[n-1].ID
			if n <= mostButtons {
				s.Press(t, ann, shown(t, s, r, ""), opChoose+tag(last), "")
			} else {
				s.Press(t, ann, shown(t, s, r, ""), opPick, tag(last))
			}
			if got := answered(t, hub, r); got.Answers["which"].Value.Text != last {
				t.Errorf("chosen %q, want %q", got.Answers["which"].Value.Text, last)
			}
		})
	}
}

func TestAFormForTheRest(t *testing.T) {
	s := slacktest.New(t)
	hub, _ := at(t, t.TempDir(), s)
	least := 3.0
	r := open(t, hub, elicit.Request{Title: "Release", Questions: []elicit.Question{
		{ID: "name", Kind: elicit.Text, Message: "What is it called?", Required: true, Min: &least, Placeholder: "as v1.2"},
		{ID: "many", Kind: elicit.Integer, Message: "How many?"},
		{ID: "where", Kind: elicit.MultiSelect, Message: "Where?", Options: elicit.OptionsOf("eu", "us"), AllowFreeform: true},
		{ID: "sure", Kind: elicit.Boolean, Message: "Sure?", Required: true},
		{ID: "day", Kind: elicit.Text, Format: elicit.Date, Message: "When?"},
	}})
	m := shown(t, s, r, "1. What is it called?")
	s.Press(t, ann, m, opForm, "")
	s.Until(t, "a form", patience, func() bool { return len(s.Views()) == 1 })
	v := s.Views()[0]
	set := func(block, id, field string, value any) map[string]map[string]any {
		return map[string]map[string]any{inputAction: {"type": "x", "action_id": inputAction, "block_id": block + tag(id), field: value}}
	}
	state := slacktest.State{answerBlock + tag("name"): set(answerBlock, "name", "value", "v1")}
	s.Type(t, ann, v, answerBlock+tag("name"), state)
	// Slack receives the acknowledgement of a press before the press is handled.
	waittest.Until(t, "what ann types is her draft", func() (bool, any) {
		got := now(t, hub, r).Answers["name"]
		return got.State == elicit.Draft && got.Value.Text == "v1" && got.Meta.By == "ann", got
	})
	state[answerBlock+tag("many")] = set(answerBlock, "many", "value", "lots")
	if got := string(s.Submit(t, ann, v, state)); !strings.Contains(got, `"response_action":"errors"`) || !strings.Contains(got, tag("many")) || !strings.Contains(got, "not a number") {
		t.Errorf("a form with a wrong number: %s, want errors at it", got)
	}
	state[answerBlock+tag("many")] = set(answerBlock, "many", "value", "12")
	if got := string(s.Submit(t, ann, v, state)); !strings.Contains(got, `"errors"`) || !strings.Contains(got, tag("name")) || !strings.Contains(got, tag("sure")) {
		t.Errorf("a form with a short name and no answer: %s, want errors at both", got)
	}
	state[answerBlock+tag("name")] = set(answerBlock, "name", "value", "v1.2")
	state[answerBlock+tag("sure")] = set(answerBlock, "sure", "selected_option", map[string]any{"value": opYes})
	state[answerBlock+tag("where")] = set(answerBlock, "where", "selected_options", []any{map[string]any{"value": tag("us")}})
	state[ownBlock+tag("where")] = set(ownBlock, "where", "value", "the moon")
	state[answerBlock+tag("day")] = set(answerBlock, "day", "selected_date", "2026-11-21")
	state[noteBlock] = map[string]map[string]any{inputAction: {"type": "x", "action_id": inputAction, "block_id": noteBlock, "value": "after six"}}
	if got := string(s.Submit(t, ann, v, state)); got != "" && got != "null" {
		t.Errorf("a right form: %s, want it closed", got)
	}
	got := answered(t, hub, r)
	where := got.Answers["where"].Value
	if got.Answers["name"].Value.Text != "v1.2" || got.Answers["many"].Value.Number != 12 || where.Options[0] != "us" || where.Freeform[0] != "the moon" ||
		!got.Answers["sure"].Value.Boolean || got.Answers["day"].Value.Text != "2026-11-21" || got.Completion.Note != "after six" {
		t.Errorf("answers %+v, %+v", got.Answers, got.Completion)
	}
	if m := shown(t, s, r, "Answered by ann in Slack"); strings.Contains(all(m), "moon") {
		t.Errorf("own words are in the channel: %s", all(m))
	}
	if got := string(s.Submit(t, bob, v, state)); !strings.Contains(got, `"update"`) || !strings.Contains(got, "already answered by ann") {
		t.Errorf("whoever is second sees %s, want who was first", got)
	}
}

func TestDraftsFromElsewhereStandInTheForm(t *testing.T) {
	s := slacktest.New(t)
	hub, _ := at(t, t.TempDir(), s)
	r := open(t, hub, elicit.Request{Questions: []elicit.Question{{ID: "name", Kind: elicit.Text, Message: "Name?"},
		{ID: "pick", Kind: elicit.MultiSelect, Message: "Pick", Options: elicit.OptionsOf("a", "b")}}})
	for id, v := range map[string]*elicit.Value{"name": {Kind: elicit.TextValue, Text: "half a na"}, "pick": {Kind: elicit.SelectedManyValue, Options: []string{"b"}}} {
		if _, err := hub.Dispatch(t.Context(), elicit.Action{Type: elicit.AnswerChanged, RequestID: r.ID, QuestionID: id, Answer: &elicit.Answer{State: elicit.Draft, Value: v}}); err != nil {
			t.Fatal(err)
		}
	}
	s.Press(t, ann, shown(t, s, r, ""), opForm, "")
	s.Until(t, "a form", patience, func() bool { return len(s.Views()) == 1 })
	if b, _ := json.Marshal(s.Views()[0].Blocks); !strings.Contains(string(b), "half a na") || !strings.Contains(string(b), "initial_options") {
		t.Errorf("the form has %s, want the drafts", b)
	}
}

// Slack accepts the message and the form of every request: the fake Slack refuses
// what exceeds a limit.
func TestTheLargestRequestsFit(t *testing.T) {
	long := func(n int) string { return strings.Repeat("𝄞", n) }
	option := func(n int) (all []elicit.Option) {
		for i := range n {
			all = append(all, elicit.Option{ID: fmt.Sprintf("%d%s", i, long(10)), Label: fmt.Sprintf("%d %s", i, long(20)), Description: long(30), Recommended: i == 0})
		}
		return all
	}
	var questions []elicit.Question
	for i := range elicit.MaxQuestions {
		kind := []elicit.Kind{elicit.Text, elicit.SingleSelect, elicit.MultiSelect, elicit.Boolean, elicit.Number}[i%5]
		questions = append(questions, elicit.Question{ID: fmt.Sprintf("%d%s", i, long(40)), Kind: kind, Message: long(elicit.MaxQuestionText / 5), Title: long(100),
			Placeholder: long(300), AllowFreeform: true, Options: option([]int{1, 10, 11, 40}[i%4])})
	}
	for name, r := range map[string]elicit.Request{
		"fifty questions":     {Title: long(100), Message: long(elicit.MaxMessage), Questions: questions},
		"two hundred options": {Message: long(elicit.MaxMessage), Questions: []elicit.Question{{Kind: elicit.MultiSelect, Message: long(elicit.MaxQuestionText), Options: option(200)}}},
		"one of two hundred":  {Questions: []elicit.Question{{Kind: elicit.SingleSelect, Message: long(elicit.MaxQuestionText), Options: option(200)}}},
		"a long address":      {URL: "https://example.org/" + strings.Repeat("a", 5000), Message: "Open it"},
		"nothing asked":       {Message: "   \u202e x <!channel> & <https://evil.example|bank.example>  "},
		"controls":            {Title: "\x07\x00", Message: "\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r.Trigger = elicit.CLI
			r, err := elicit.Prepare(r)
			if err != nil {
				t.Fatal(err)
			}
			r.ID, r.Deadline = elicit.NewID(time.Now()), elicit.At(time.Now())
			for _, status := range []elicit.Status{elicit.Open, elicit.ExpiredOpen, elicit.Completed} {
				if r.Status = status; status != elicit.Open {
					r.Completion = &elicit.Completion{Outcome: elicit.Accept, By: long(300), At: elicit.At(time.Now())}
				}
				m := render(&r)
				for _, problem := range slacktest.CheckMessage(m.text, generic[[]map[string]any](t, m.blocks)) {
					t.Errorf("%s message: %s", status, problem)
				}
				if strings.Contains(m.text, "<!") || strings.Contains(m.text, "<http") {
					t.Errorf("%s message calls people or has a link: %s", status, m.text)
				}
			}
			if len(r.Questions) > 0 { // otherwise there is no form
				for _, problem := range slacktest.CheckView(generic[map[string]any](t, form(&r))) {
					t.Errorf("form: %s", problem)
				}
			}
		})
	}
}

// generic converts a value by encoding and decoding JSON.
func generic[T any](t *testing.T, v any) (out T) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestALostAnswerPostsNothingTwice(t *testing.T) {
	s := slacktest.New(t)
	hub, _ := at(t, t.TempDir(), s)
	s.Next("chat.postMessage", slacktest.Trouble{Lost: true})
	r := open(t, hub, confirm("Ship it?"))
	m := shown(t, s, r, "")
	s.Until(t, "a look whether it was posted", patience, func() bool { return s.Calls("conversations.history") > 0 })
	s.Press(t, ann, m, opYes, "")
	answered(t, hub, r)
	shown(t, s, r, "Answered by ann")
	if n := count(s, r); n != 1 {
		t.Errorf("posted %d times, want once", n)
	}
}

func TestWhatSlackPutsOffIsDoneLater(t *testing.T) {
	s := slacktest.New(t)
	hub, _ := at(t, t.TempDir(), s)
	s.Next("chat.postMessage", slacktest.Trouble{RetryAfter: time.Second})
	shown(t, s, open(t, hub, confirm("Ship it?")), "")
}

func TestAConnectionThatIsCutComesBack(t *testing.T) {
	s := slacktest.New(t)
	hub, _ := at(t, t.TempDir(), s)
	s.Until(t, "a connection", patience, func() bool { return s.Sockets() == 1 })
	s.Drop()
	s.Until(t, "another connection", patience, func() bool { return s.Calls("apps.connections.open") > 1 && s.Sockets() == 1 })
	r := open(t, hub, confirm("Ship it?"))
	s.Press(t, ann, shown(t, s, r, ""), opYes, "")
	answered(t, hub, r)
}

func TestATokenThatIsNotValidEndsTheWork(t *testing.T) {
	s := slacktest.New(t)
	db, hub := peer(t, t.TempDir())
	surface, err := New(db, hub, Options{Channel: slacktest.Channel, People: people(), AppToken: slacktest.AppToken, BotToken: "xoxb-old", API: s.API()})
	if err != nil {
		t.Fatal(err)
	}
	if err := surface.Run(t.Context()); fault.Of(err) == nil || !strings.Contains(fault.Of(err).Hint, "DESKHAND_SLACK_BOT_TOKEN") {
		t.Errorf("Run = %v, want a fault that names the variable", err)
	}
}

// Two processes share a store, and one posts. When it ends, the other continues,
// including with messages that the first did not finish.
func TestAnotherProcessCarriesOn(t *testing.T) {
	s := slacktest.New(t)
	place := t.TempDir()
	hub, stop := at(t, place, s)
	s.Until(t, "a connection", patience, func() bool { return s.Sockets() == 1 })
	second, _ := at(t, place, s)
	r := open(t, second, confirm("Ship it?"))
	shown(t, s, r, "")
	up, err := second.Reach(t.Context())
	if err != nil || len(up) != 1 || up[0].Kind != "slack" {
		t.Errorf("stations %+v, %v; want one of slack", up, err)
	}
	stop()
	_ = hub
	s.Until(t, "a connection of the other", patience, func() bool { return s.Sockets() == 1 && s.Calls("apps.connections.open") == 2 })
	s.Press(t, ann, shown(t, s, r, ""), opYes, "")
	answered(t, second, r)
	shown(t, s, r, "Answered by ann")
	if n := count(s, r); n != 1 {
		t.Errorf("posted %d times, want once", n)
	}
}

func TestSettingsThatCannotWorkAreNamed(t *testing.T) {
	good := Options{Channel: "C01", People: people(), AppToken: "xapp-1", BotToken: "xoxb-1"}
	for name, spoil := range map[string]func(*Options){
		"slack.channel": func(o *Options) { o.Channel = "#general" },
		"slack.people":  func(o *Options) { o.People = nil },
		"twice":         func(o *Options) { o.People = append(o.People, o.People[0]) },
		"bot token":     func(o *Options) { o.BotToken = "" },
		"app token":     func(o *Options) { o.AppToken = "xoxb-1" },
		"slack.api":     func(o *Options) { o.API = "https://slack.example/api" },
	} {
		o := good
		spoil(&o)
		if _, err := New(nil, nil, o); err == nil || !strings.Contains(err.Error(), name) || fault.Of(err).Hint == "" {
			t.Errorf("New with a wrong %s: %v, want a fault that names it", name, err)
		}
	}
	for _, text := range []string{"", "ann", "U01=", "=ann", "U 1=ann", "U01=ann:", "u01ann"} {
		if p, err := ParsePerson(text); err == nil {
			t.Errorf("ParsePerson(%q) = %+v, want a fault", text, p)
		}
	}
	if p, err := ParsePerson("u01=ann:ops:dev"); err != nil || p.User != "U01" || p.Principal != "ann" || len(p.Roles) != 2 {
		t.Errorf("ParsePerson = %+v, %v", p, err)
	}
}

// A process that died between its record and the posting left nothing in Slack.
func TestWhatWasOnlyBegunIsPosted(t *testing.T) {
	s, place := slacktest.New(t), t.TempDir()
	db, hub := peer(t, place)
	r := open(t, hub, confirm("Ship it?"))
	if _, fresh, err := begin(t.Context(), db, r.ID, slacktest.Channel); err != nil || !fresh {
		t.Fatalf("begin = fresh %v, %v", fresh, err)
	}
	at(t, place, s)
	shown(t, s, r, "")
	if looks := s.Calls("conversations.history"); looks != 1 {
		t.Errorf("looked for the message %d times, want once", looks)
	}
}

// A message that Slack refuses for good is dead until a person retries it. One that Slack
// puts off is repeated.
func TestWhatSlackRefusesIsInTheOutbox(t *testing.T) {
	s := slacktest.New(t)
	place := t.TempDir()
	db, _ := peer(t, place)
	box := outbox.In(db)
	s.Next("chat.postMessage", slacktest.Trouble{Error: "not_in_channel"})
	hub, _ := at(t, place, s)
	r := open(t, hub, confirm("Deploy?"))
	id := outbox.ID(QuestionWay + "/" + r.ID)
	becomes := func(state outbox.State) {
		t.Helper()
		waittest.Until(t, "the message is "+string(state), func() (bool, any) {
			all, err := box.List(t.Context(), outbox.Dead, outbox.Sent, outbox.Waiting, outbox.Dropped)
			return err == nil && len(all) == 1 && all[0].ID == id && all[0].State == state, all
		})
	}
	becomes(outbox.Dead)
	if _, err := box.Retry(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	shown(t, s, r, "Deploy?")
	becomes(outbox.Sent)
	s.Next("chat.update", slacktest.Trouble{Error: "msg_too_long"})
	if _, err := hub.Dispatch(t.Context(), elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Decline}); err != nil {
		t.Fatal(err)
	}
	becomes(outbox.Dead)
	if err := box.Over(t.Context(), r.ID, func(outbox.Message) *outbox.New { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := box.Retry(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	shown(t, s, r, "Declined")
	becomes(outbox.Sent)
}
