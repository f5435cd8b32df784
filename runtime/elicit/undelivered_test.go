package elicit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

// An answer is undelivered until its asker received it, on time or late. The same
// asker gets it by asking the same again.
func TestWhatNoCallGotIsFoundByAskingTheSame(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h := peer(t, place, attended)
		for _, how := range []Outcome{Accept, Decline, Cancel} {
			r := greeting()
			r.Title = string(how)
			first := mustOpen(t, h, r)
			a := ends(first.ID, how)
			if how == Accept {
				a = accept(first.ID, "Ada")
			}
			a.Note = "after six"
			must(t, h, a)
			for name, c := range map[string]struct {
				change func(*Request)
				found  bool
			}{
				"the same":            {func(*Request) {}, true},
				"another session":     {func(r *Request) { r.Source.Instance, r.Source.Version = "s2", "9" }, true},
				"another owner":       {func(r *Request) { r.Source.Owner = "token-x" }, false},
				"another client":      {func(r *Request) { r.Source.Name = "codex" }, false},
				"another attempt":     {func(r *Request) { r.Context.AttemptID = "a2" }, false},
				"another folder":      {func(r *Request) { r.Context.CWD = "/b" }, false},
				"another question":    {func(r *Request) { r.Questions[0].Message = "Who else?" }, false},
				"something like that": {func(r *Request) { r.Title = "x" }, false},
			} {
				again := greeting()
				again.Title = string(how)
				c.change(&again)
				old, err := h.Earlier(t.Context(), again)
				if err != nil || (old != nil) != c.found {
					t.Errorf("%s: Earlier of %s = %+v, %v; want it found: %v", how, name, old, err, c.found)
				}
				if old != nil && (old.ID != first.ID || old.Completion.Note != "after six") {
					t.Errorf("%s: Earlier = %+v, want %s with its note", how, old, first.ID)
				}
			}
			list, err := h.List(t.Context(), Filter{Statuses: []Status{Completed}, Undelivered: true})
			if err != nil || len(list.Requests) != 1 {
				t.Fatalf("undelivered: %+v, %v; want one", list.Requests, err)
			}
			if err := h.Delivered(t.Context(), list.Requests[0]); err != nil {
				t.Fatal(err)
			}
			if old, err := h.Earlier(t.Context(), r); old != nil || err != nil {
				t.Errorf("%s: Earlier of what was delivered = %+v, %v", how, old, err)
			}
		}
	})
}

// Asking again joins an open question whose asker is gone and gives it the new
// call's deadline. It does not join a question whose asker is waiting.
func TestAnOpenQuestionThatNobodyWaitsForIsJoined(t *testing.T) {
	bubble(t, func(t *testing.T, open func(Options) *Hub) {
		h := open(attended)
		for name, left := range map[string]func(id string){
			"its asker left":   func(id string) { must(t, h, Action{Type: AskerLeft, RequestID: id}) },
			"it was handed on": func(id string) { mustDo(t, h.HandedBack(t.Context(), id)) },
		} {
			r := greeting()
			r.Title = name
			first := mustOpen(t, h, r)
			if old, err := h.Earlier(t.Context(), r); old != nil || err != nil {
				t.Fatalf("%s: Earlier of one that somebody waits for = %+v, %v; want none", name, old, err)
			}
			left(first.ID)
			time.Sleep(4 * time.Minute)
			old, err := h.Earlier(t.Context(), r)
			if err != nil || old == nil || old.ID != first.ID {
				t.Fatalf("%s: Earlier = %+v, %v; want %s", name, old, err, first.ID)
			}
			r.WaitMS = (5 * time.Minute).Milliseconds()
			mustDo(t, h.Rejoin(t.Context(), old, r))
			now, err := h.Get(t.Context(), first.ID)
			if err != nil || now.AskerGone || now.HandedBack || now.Deadline.Sub(first.Deadline.Time) < 3*time.Minute {
				t.Errorf("%s: joined it is %+v, %v; want somebody there and 4 more minutes", name, now, err)
			}
			must(t, h, ends(first.ID, Cancel))
			mustDo(t, h.Delivered(t.Context(), *must(t, h, Action{Type: PresentedTo, RequestID: first.ID}).Request))
		}
	})
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// An old answer does not answer a question that is asked today.
func TestAnAnswerOfYesterdayIsAskedForAnew(t *testing.T) {
	bubble(t, func(t *testing.T, open func(Options) *Hub) {
		h := open(attended)
		must(t, h, accept(mustOpen(t, h, greeting()).ID, "Ada"))
		time.Sleep(AnswersFor - time.Minute)
		if old, err := h.Earlier(t.Context(), greeting()); old == nil || err != nil {
			t.Errorf("Earlier within a day = %+v, %v; want the answer", old, err)
		}
		time.Sleep(2 * time.Minute)
		if old, err := h.Earlier(t.Context(), greeting()); old != nil || err != nil {
			t.Errorf("Earlier after a day = %+v, %v; want none", old, err)
		}
	})
}

// An answer that the same page sends again is the same answer. From elsewhere it is
// a second answer.
func TestAnAnswerSentAgainIsNotRefusedBecauseOfItself(t *testing.T) {
	h := peer(t, t.TempDir(), attended)
	page := func(id string) Action {
		a := accept(id, "Ada")
		a.By, a.Channel, a.Client, a.Note = "ada", "web", "page-1", "after six"
		return a
	}
	id := mustOpen(t, h, greeting()).ID
	must(t, h, page(id))
	if c, err := h.Dispatch(t.Context(), page(id)); err != nil || c.Request.Completion.Client != "page-1" {
		t.Errorf("sent again: %+v, %v; want it taken", c, err)
	}
	for name, change := range map[string]func(*Action){
		"another page":    func(a *Action) { a.Client = "page-2" },
		"no page":         func(a *Action) { a.Client = "" },
		"another person":  func(a *Action) { a.By = "bob" },
		"another way":     func(a *Action) { a.Channel = "slack" },
		"another answer":  func(a *Action) { a.Answers = accept(id, "Bob").Answers },
		"another note":    func(a *Action) { a.Note = "" },
		"another outcome": func(a *Action) { a.Response = Decline },
	} {
		a := page(id)
		change(&a)
		if r := refusedWith(t, h, a, AlreadyCompleted); r == nil {
			t.Errorf("%s was not told who was first", name)
		}
	}
}

// Rows of an earlier release keep their meaning, and those whose asker had left are
// found.
func TestAnswersOfAnOlderStoreThatNobodyGotAreFound(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h := peer(t, place, attended)
		got, lost := mustOpen(t, h, greeting()), mustOpen(t, h, greeting())
		must(t, h, Action{Type: AskerLeft, RequestID: lost.ID})
		must(t, h, accept(got.ID, "Ada"))
		must(t, h, accept(lost.ID, "Bob"))
		db, err := store.Open(t.Context(), place, Schema())
		mustDo(t, err)
		defer db.Close()
		sql, err := filepath.Glob("migrations/0003_*.sql")
		if err != nil || len(sql) != 1 {
			t.Fatal(sql, err)
		}
		mustDo(t, db.Update(t.Context(), func(tx *store.Tx) error {
			if _, err := tx.Exec(t.Context(), "UPDATE requests SET uncollected = 0"); err != nil { // as in the earlier release
				return err
			}
			_, err := tx.Exec(t.Context(), theUpdate(t, sql[0]))
			return err
		}))
		list, err := h.List(t.Context(), Filter{Statuses: []Status{Completed}, Undelivered: true})
		if err != nil || len(list.Requests) != 1 || list.Requests[0].ID != lost.ID {
			t.Errorf("undelivered after the migration: %+v, %v; want %s only", list.Requests, err, lost.ID)
		}
	})
}

// theUpdate returns the first statement of a migration.
func theUpdate(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	mustDo(t, err)
	all := string(text)
	begin := strings.Index(all, "UPDATE ")
	end := strings.Index(all[begin:], ";")
	return all[begin : begin+end]
}
