package elicit_test

import (
	"errors"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/elicit"
)

// held returns an action that answers, and can be taken back.
func held(id, name string) Action {
	a := accept(id, name)
	a.Type = AnswerHeld
	return a
}

func TestAHeldAnswerReachesItsAskerAfterTenSeconds(t *testing.T) {
	bubble(t, func(t *testing.T, open func(Options) *Hub) {
		h, person := open(attended), open(Options{})
		asking := beside(func() (Request, error) { return h.Ask(t.Context(), greeting()) })
		time.Sleep(time.Second)
		list, err := person.List(t.Context(), Filter{})
		if err != nil || len(list.Requests) != 1 {
			t.Fatalf("List = %+v, %v; want the question", list, err)
		}
		id, since := list.Requests[0].ID, time.Now()
		must(t, person, held(id, "Ada"))
		time.Sleep(5 * time.Second)
		must(t, person, held(id, "Ada")) // a second press does not start the time again
		if now, err := person.Get(t.Context(), id); err != nil || now.Status != Open || now.Held == nil || now.ForAsker().Held != nil || now.ForAsker().Answers != nil {
			t.Fatalf("after 5 s: %+v, %v; want it open and held, and nothing for the asker", now, err)
		}
		got := <-asking
		if waited := time.Since(since); got.err != nil || got.r.Answers["name"].Value.Text != "Ada" || waited < HoldTime || waited > HoldTime+time.Second {
			t.Errorf("Ask = %+v, %v after %v; want Ada after %v", got.r.Answers, got.err, waited, HoldTime)
		}
		if now, _ := person.Get(t.Context(), id); now.Held != nil || now.Completion.Channel != "web" || now.EndedFrom == nil {
			t.Errorf("at the end: %+v; want nothing held, and who answered", now)
		}
	})
}

func TestAHeldAnswerCanBeTakenBack(t *testing.T) {
	bubble(t, func(t *testing.T, open func(Options) *Hub) {
		h := open(attended)
		r, err := h.Open(t.Context(), greeting())
		if err != nil {
			t.Fatal(err)
		}
		must(t, h, Action{Type: AnswerChanged, RequestID: r.ID, QuestionID: "name", Answer: draft("typed")})
		no := held(r.ID, "")
		no.Response, no.Answers = Decline, nil
		must(t, h, no)
		time.Sleep(HoldTime - time.Second)
		must(t, h, Action{Type: TakenBack, RequestID: r.ID})
		time.Sleep(3 * HoldTime)
		if now, err := h.Get(t.Context(), r.ID); err != nil || now.Status != Open || now.Held != nil || now.Answers["name"].Value.Text != "typed" {
			t.Errorf("taken back: %+v, %v; want it open with its draft", now, err)
		}
		must(t, h, held(r.ID, "Ada"))
		time.Sleep(HoldTime)
		_, err = h.Dispatch(t.Context(), Action{Type: TakenBack, RequestID: r.ID})
		if rejected := new(Rejection); !errors.As(err, &rejected) || rejected.Code != AlreadyCompleted {
			t.Errorf("taken back too late: %v; want %s", err, AlreadyCompleted)
		}
	})
}

// The process that accepted the answer is gone, and another one starts later.
func TestAHeldAnswerOutlivesItsProcess(t *testing.T) {
	bubble(t, func(t *testing.T, open func(Options) *Hub) {
		h := open(attended)
		r, err := h.Open(t.Context(), greeting())
		if err != nil {
			t.Fatal(err)
		}
		must(t, h, held(r.ID, "Ada"))
		h.Close()
		time.Sleep(time.Hour)
		later := open(attended)
		time.Sleep(time.Second)
		if now, err := later.Get(t.Context(), r.ID); err != nil || !now.Accepted() || now.Answers["name"].Value.Text != "Ada" {
			t.Errorf("after a restart: %+v, %v; want the answer", now, err)
		}
	})
}

func TestAHeldAnswerCountsBeforeTheDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, open func(Options) *Hub) {
		h, r := open(attended), greeting()
		r.WaitMS = 3000
		r, err := h.Open(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		must(t, h, held(r.ID, "Ada"))
		time.Sleep(4 * time.Second)
		if now, err := h.Get(t.Context(), r.ID); err != nil || !now.Accepted() || now.Completion.Late {
			t.Errorf("after the deadline: %+v, %v; want the answer, not late", now, err)
		}
	})
}

func TestWhatEndsAHold(t *testing.T) {
	base, err := Reduce(nil, Action{Type: Requested, RequestID: "r", Request: func() *Request { r, _ := Prepare(greeting()); return &r }(), At: At(time.Unix(1, 0))})
	if err != nil {
		t.Fatal(err)
	}
	h := held("r", "Ada")
	h.At = At(time.Unix(2, 0))
	waiting, err := Reduce(base, h)
	if err != nil || waiting.Held == nil || waiting.Status != Open {
		t.Fatalf("held: %+v, %v", waiting, err)
	}
	if _, err := Reduce(base, Action{Type: AnswerHeld, RequestID: "r", Response: Accept, At: h.At}); err == nil {
		t.Error("an answer without the required question was held")
	}
	other := greeting()
	other.Questions[0].Message = "Who else?"
	prepared, _ := Prepare(other)
	for name, a := range map[string]Action{
		"someone else answers":  accept("r", "Bob"),
		"it is withdrawn":       {Type: Withdrawn, RequestID: "r"},
		"it is asked anew":      {Type: Requested, RequestID: "r", Request: &prepared},
		"it is for someone new": {Type: Reassigned, RequestID: "r", Audience: &Audience{Principal: "bob"}},
	} {
		a.At = At(time.Unix(3, 0))
		if next, err := Reduce(waiting, a); err != nil || next.Held != nil {
			t.Errorf("%s: %+v, %v; want nothing held", name, next, err)
		}
	}
	if next, err := Reduce(waiting, Action{Type: AnswerChanged, RequestID: "r", QuestionID: "age", At: h.At}); err != nil || next.Held == nil {
		t.Errorf("a draft: %+v, %v; want it still held", next, err)
	}
}

func TestAHeldAnswerWhenTheTurnEnds(t *testing.T) {
	for name, c := range map[string]struct {
		after    time.Duration
		reason   string
		accepted bool
	}{
		"the agent has finished":              {3 * time.Second, TurnCompleted, true},
		"the agent has crashed":               {3 * time.Second, TurnFailed, true},
		"a person has stopped it":             {3 * time.Second, TurnStopped, false},
		"a person stops it when time is over": {HoldTime, TurnStopped, true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, open func(Options) *Hub) {
				h, r := open(attended), greeting()
				r.Context.AttemptID, r.Context.TurnID, r.OnTurnEnd = "a1", "t1", Abandon
				r, err := h.Open(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				must(t, h, held(r.ID, "Ada"))
				time.Sleep(c.after)
				if err := h.EndAttempt(t.Context(), AttemptTurn{AttemptID: "a1", Reason: c.reason}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * HoldTime)
				now, err := h.Get(t.Context(), r.ID)
				if err != nil || now.Held != nil || now.Status != Completed || now.Accepted() != c.accepted {
					t.Errorf("%+v, %v; want it completed, accepted: %v", now, err, c.accepted)
				}
			})
		})
	}
}
