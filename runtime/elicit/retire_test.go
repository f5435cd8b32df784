package elicit_test

import (
	"context"
	"testing"

	"github.com/deskhand/deskhand/runtime/access"
	. "github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

// A person who gets the name of another finds nothing of that person's: no question, no
// answer that was not collected, and nothing to answer.
func TestANameUsedAgainFindsNoQuestions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db, err := store.Open(t.Context(), place, Schema())
		if err != nil {
			t.Fatal(err)
		}
		h := New(db, Options{Attended: true})
		t.Cleanup(func() { h.Close(); db.Close() })
		ada := as(t, "ada", access.Boundary{Confined: true}) // a guest, who sees only what she asked
		open := func(ctx context.Context, message string, to Audience) Request {
			t.Helper()
			r := greeting()
			r.Message, r.Audience, r.Source.Owner = message, to, "person:ada"
			r, err := h.Open(ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		answered, waiting := open(ada, "Answered?", Audience{}), open(ada, "Waiting?", Audience{})
		toAda, claimed := open(t.Context(), "For ada?", Audience{Principal: "ada"}), open(t.Context(), "Claimed?", Audience{})
		if _, err := h.Dispatch(t.Context(), accept(answered.ID, "Bob")); err != nil {
			t.Fatal(err)
		}
		in := as(t, "ada", access.Boundary{})
		if _, err := h.Dispatch(in, Action{Type: Claimed, RequestID: claimed.ID}); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Dispatch(ada, Action{Type: AnswerChanged, RequestID: waiting.ID, QuestionID: "name", Answer: draft("Eve")}); err != nil {
			t.Fatal(err) // the hub has the request in its memory now
		}
		const former = "ada (removed 2026-11-29)"
		if err := db.Update(t.Context(), func(tx *store.Tx) error { return h.Retire(t.Context(), tx, "ada", former) }); err != nil {
			t.Fatal(err)
		}

		for _, id := range []string{answered.ID, waiting.ID} {
			if r, err := h.Get(ada, id); err == nil {
				t.Errorf("the guest ada, who is another person now, reads %q", r.Message)
			}
			_, err := h.Dispatch(ada, Action{Type: AnswerChanged, RequestID: id, QuestionID: "name", Answer: draft("Mallory")})
			if f := fault.Of(err); f == nil || f.Code != UnknownRequest {
				t.Errorf("a draft of the new ada in %s = %v, want %s", id, err, UnknownRequest)
			}
			if r, err := h.Get(t.Context(), id); err != nil || r.Source.Person != former || r.Source.Owner != "person:"+former {
				t.Errorf("the question belongs to %+v, %v", r.Source, err)
			}
		}
		if list, err := h.List(ada, Filter{Statuses: []Status{Open, Completed}}); err != nil || len(list.Requests) != 0 {
			t.Errorf("the new ada lists %d questions, %v", len(list.Requests), err)
		}
		again := greeting()
		again.Message, again.Source.Owner = "Answered?", "person:ada"
		if r, err := h.Earlier(ada, again); err != nil || r != nil {
			t.Errorf("the new ada gets the former one's answer: %+v, %v", r, err)
		}
		_, err = h.Dispatch(in, accept(toAda.ID, "Mallory"))
		if f := fault.Of(err); f == nil || f.Code != NotYours {
			t.Errorf("the new ada answers a question for the former one: %v, want %s", err, NotYours)
		}
		if r, err := h.Get(t.Context(), toAda.ID); err != nil || r.To() != former {
			t.Errorf("the question is with %q, %v, want %q", r.To(), err, former)
		}
		if r, err := h.Get(t.Context(), claimed.ID); err != nil || r.Routing.Taken != nil {
			t.Errorf("the question is still taken: %+v, %v", r.Routing, err)
		}
		w, err := h.Watch(ada, 0, "")
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		marker := open(ada, "Of the new ada?", Audience{})
		changes, err := w.Next(ada)
		if err != nil || len(changes) != 1 || changes[0].Action.RequestID != marker.ID {
			t.Errorf("the new ada watches %+v, %v; want only her own question", changes, err)
		}
	})
}
