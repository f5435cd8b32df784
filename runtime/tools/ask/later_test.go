package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// follower is a client that comes back for its calls, and its door.
type follower struct {
	t      *testing.T
	desk   *Toolset
	tools  map[string]contract.Tool
	shows  bool // it shows forms
	seen   []string
	says   func(r *elicit.Request) []elicit.Action
	absent bool // nobody sits at it
}

// CanShow, Put, Actions and Unattended are what the desk asks of the door.
func (f *follower) CanShow(*elicit.Request) bool { return f.shows }
func (f *follower) Put(r *elicit.Request)        { f.seen = append(f.seen, r.ID) }
func (f *follower) Actions(r *elicit.Request) []elicit.Action {
	if f.says == nil {
		return nil
	}
	return f.says(r)
}
func (f *follower) Unattended(*elicit.Request) bool { return f.absent }

// followerAt is a follower of a server of its own over place.
func followerAt(t *testing.T, place string, attended bool) *follower {
	t.Helper()
	d := New(Options{Open: func(context.Context) (*elicit.Hub, func(), error) {
		return hubAt(place, elicit.Options{Attended: attended})
	}})
	t.Cleanup(d.Close)
	f := &follower{t: t, desk: d, tools: map[string]contract.Tool{}}
	for _, tool := range d.Tools() {
		f.tools[tool.Name] = tool
	}
	return f
}

func (f *follower) start(tool, args string) contract.Pending {
	f.t.Helper()
	p, err := f.tools[tool].Later.Start(f.t.Context(), contract.Caller{Name: "follower"}, json.RawMessage(args))
	if err != nil {
		f.t.Fatalf("Start of %s = %v", tool, err)
	}
	return p
}

func (f *follower) look(id string) contract.Pending {
	f.t.Helper()
	f.seen = nil
	p, err := pendingCalls{f.desk}.Look(f.t.Context(), contract.Caller{Name: "follower", Client: f}, id)
	if err != nil {
		f.t.Fatalf("Look(%s) = %v", id, err)
	}
	return p
}

func (f *follower) answer(id string) error {
	return pendingCalls{f.desk}.Answer(f.t.Context(), contract.Caller{Name: "follower", Client: f}, id)
}

// said is the state of a call and the texts of its result.
func said(p contract.Pending) string { return fmt.Sprint(p.State, strings.Join(p.Result.Text, " ")) }

func TestAQuestionIsAPendingCallUntilItIsAnswered(t *testing.T) {
	place := t.TempDir()
	first, human := followerAt(t, place, true), personAt(t, place)
	p := first.start("ask_user", oneQuestion)
	r := human.sees()
	if p.ID != r.ID || p.State != contract.Working || !strings.Contains(p.Message, "Waiting for a person") {
		t.Fatalf("ask_user = %+v, want the pending call %s", p, r.ID)
	}
	first.desk.Close() // as a server that is killed: nothing of the call is here
	other := followerAt(t, place, true)
	if p = other.look(r.ID); p.State != contract.Working || other.seen != nil {
		t.Errorf("at another server Look = %+v, shown %q; want a call that works, shown to nobody", p, other.seen)
	}
	other.shows = true
	if other.look(r.ID); fmt.Sprint(other.seen) != fmt.Sprint([]string{r.ID}) {
		t.Errorf("shown were %q, want the question", other.seen)
	}
	human.answers(r, "Ann")
	if p = other.look(r.ID); !strings.Contains(said(p), `"answered":true`) || !strings.Contains(said(p), "Ann") || p.State != contract.Ended || p.TTL <= 0 || other.seen != nil {
		t.Errorf("answered, Look = %+v, shown %q; want the result", p, other.seen)
	}
	if r = human.becomes(r.ID, elicit.Completed); r.CollectedAt.IsZero() && r.Completion.Late {
		t.Error("the answer is not noted as fetched")
	}
}

func TestAPendingQuestionEndsAtItsDeadlineAsACallDoes(t *testing.T) {
	place := t.TempDir()
	f, human := followerAt(t, place, true), personAt(t, place)
	p := f.start("ask_user", oneQuestion)
	r := human.sees()
	human.expires(r)
	if p = f.look(p.ID); p.State != contract.Ended || !strings.Contains(said(p), `"timedOut":true`) || !strings.Contains(said(p), r.ID) {
		t.Errorf("after the deadline Look = %+v, want timedOut and the ID", p)
	}
	late := f.start("await_answer", `{"request_id":"`+r.ID+`"}`)
	if got := f.look(late.ID); got.State != contract.Working {
		t.Fatalf("await_answer = %+v, want a call that works", got)
	}
	human.answers(r, "late Ann")
	if got := f.look(late.ID); got.State != contract.Ended || !strings.Contains(said(got), "late Ann") {
		t.Errorf("answered late, await_answer came to %+v", got)
	}
	if got := f.look(p.ID); !strings.Contains(said(got), "late Ann") {
		t.Errorf("answered late, ask_user came to %+v; want the answer", got)
	}
}

func TestAwaitingIsPendingForItsOwnTime(t *testing.T) {
	place := t.TempDir()
	f, human := followerAt(t, place, true), personAt(t, place)
	id := f.start("ask_user", oneQuestion).ID
	now := f.start("await_answer", `{"request_id":"`+id+`","timeout":1}`)
	w, err := pendingCalls{f.desk}.Watch(t.Context(), now.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(t.Context()); err != nil { // for its end, which no event tells
		t.Fatalf("Wait = %v", err)
	}
	w.Close()
	if p := f.look(now.ID); p.State != contract.Ended || !strings.Contains(said(p), "No answer yet") {
		t.Errorf("after its millisecond Look = %+v, want that nobody has answered", p)
	}
	if p := f.start("await_answer", `{"request_id":"`+id+`","timeout":0}`); p.ID != "" || !strings.Contains(said(p), "No answer yet") {
		t.Errorf("await_answer that only looks = %+v, want its result at once", p)
	}
	waits := f.start("await_answer", `{"request_id":"`+id+`","timeout":60000}`)
	if err := (pendingCalls{f.desk}).Cancel(t.Context(), contract.Caller{}, waits.ID); err != nil {
		t.Fatal(err)
	}
	if r := human.sees(); r.Status != elicit.Open {
		t.Errorf("who stops awaiting leaves the question %s, want it open", r.Status)
	}
	human.answers(human.sees(), "Ann")
	if p := f.start("await_answer", `{"request_id":"`+id+`"}`); p.ID != "" || !strings.Contains(said(p), "Ann") {
		t.Errorf("await_answer of an answered question = %+v, want its result at once", p)
	}
}

func TestWhatIsRefusedIsNoPendingCall(t *testing.T) {
	f := followerAt(t, t.TempDir(), true)
	for tool, args := range map[string]string{"ask_user": `{"questions":[]}`, "await_answer": `{"request_id":"elc_none"}`} {
		p, err := f.tools[tool].Later.Start(t.Context(), contract.Caller{}, json.RawMessage(args))
		if fault.Of(err) == nil || p.ID != "" {
			t.Errorf("Start of %s(%s) = %+v, %v; want a fault", tool, args, p, err)
		}
	}
	alone := followerAt(t, t.TempDir(), false)
	if p := alone.start("ask_user", oneQuestion); p.ID != "" || !strings.Contains(said(p), "No person can be reached") {
		t.Errorf("with nobody there ask_user = %+v, want that at once", p)
	}
	for _, id := range []string{"elc_none", "elc_a-b", "elc_a-b-c-d", "elc_a-!-1", ""} {
		if p, err := (pendingCalls{f.desk}).Look(t.Context(), contract.Caller{}, id); fault.Of(err) == nil || fault.Of(err).Code != contract.UnknownCall {
			t.Errorf("Look(%q) = %+v, %v; want %s", id, p, err, contract.UnknownCall)
		}
	}
}

func TestWhatAFollowerSaysOfAQuestion(t *testing.T) {
	place := t.TempDir()
	f, human := followerAt(t, place, true), personAt(t, place)
	reply := func(how elicit.Outcome, text string) func(*elicit.Request) []elicit.Action {
		return func(r *elicit.Request) []elicit.Action {
			a := elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: how, Channel: "client"}
			if text != "" {
				a.Answers = map[string]elicit.Answer{r.Questions[0].ID: {State: elicit.Submitted, Value: &elicit.Value{Kind: elicit.TextValue, Text: text}}}
			}
			return []elicit.Action{a}
		}
	}
	p := f.start("ask_user", oneQuestion)
	for what, c := range map[string]struct {
		says   func(*elicit.Request) []elicit.Action
		absent bool
	}{
		"a dialog that was closed":       {reply(elicit.Cancel, ""), false},
		"a client that declines alone":   {reply(elicit.Decline, ""), true},
		"an answer that nobody has read": {reply(elicit.Accept, "machine"), true},
		"nothing":                        {nil, false},
	} {
		if f.says, f.absent = c.says, c.absent; f.answer(p.ID) != nil {
			t.Errorf("%s: Answer fails", what)
		}
		if r := human.sees(); r.Status != elicit.Open {
			t.Fatalf("%s ended the question, which a person can still answer", what)
		}
	}
	f.says, f.absent = reply(elicit.Accept, ""), false
	if err := f.answer(p.ID); fault.Of(err) == nil {
		t.Errorf("Answer without the answer = %v, want a fault", err)
	}
	f.says = reply(elicit.Accept, "Ann")
	if err := f.answer(p.ID); err != nil {
		t.Fatal(err)
	}
	if err := f.answer(p.ID); err != nil {
		t.Errorf("Answer a second time = %v, want it ignored", err)
	}
	if got := f.look(p.ID); !strings.Contains(said(got), "Ann") {
		t.Errorf("Look = %+v, want the answer", got)
	}
}

func TestACallThatIsTakenBackWithdrawsItsQuestion(t *testing.T) {
	place := t.TempDir()
	f, human := followerAt(t, place, true), personAt(t, place)
	p := f.start("ask_user", oneQuestion)
	for range 2 {
		if err := (pendingCalls{f.desk}).Cancel(t.Context(), contract.Caller{}, p.ID); err != nil {
			t.Fatal(err)
		}
	}
	if r := human.becomes(p.ID, elicit.Completed); r.Completion.Outcome != elicit.Abandoned {
		t.Errorf("the question was %s, want it withdrawn", r.Completion.Outcome)
	}
	if got := f.look(p.ID); got.State != contract.Cancelled {
		t.Errorf("Look = %+v, want cancelled", got)
	}
	// A question that somebody else withdrew has a result: the tool's own.
	p = f.start("ask_user", oneQuestion)
	human.does(elicit.Action{Type: elicit.Withdrawn, RequestID: p.ID, Reason: "no longer needed"})
	if got := f.look(p.ID); got.State != contract.Ended || !strings.Contains(said(got), "withdrawn") {
		t.Errorf("Look = %+v, want that it was withdrawn", got)
	}
}
