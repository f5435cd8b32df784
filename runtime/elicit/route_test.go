package elicit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/rota"
	"github.com/deskhand/deskhand/runtime/routing"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// crew returns options with ada and bob, of whom bob is on call, and lea, who leads. Only ada
// and lea know of the project p.
func crew(t testing.TB, policy string) Options {
	t.Helper()
	ops, err := rota.Parse("mon-sun bob")
	if err != nil {
		t.Fatal(err)
	}
	all := []Member{{Principal: "ada"}, {Principal: "bob"}, {Principal: "lea", Roles: []string{"lead"}},
		{Principal: "eve", Lacking: "eve has no browser", Remedy: "invite eve"}}
	boundary := func(_ context.Context, name string) (access.Boundary, error) {
		if name == "bob" {
			return access.Boundary{Projects: []string{"p"}}, nil
		}
		return access.Boundary{}, nil
	}
	return Options{Attended: true, Rate: -1, Members: []Member{{Principal: Local}}, Caller: func(ctx context.Context, name string) (access.Caller, error) {
		b, err := boundary(ctx, name)
		return access.Caller{Name: name, Scopes: []access.Scope{access.Answer}, Boundary: b}, err
	},
		People: func(context.Context) ([]Member, error) { return all, nil },
		Policy: func(Context) string { return policy },
		World: func(ctx context.Context, project string) (w routing.World, err error) {
			for _, m := range all {
				if b, _ := boundary(ctx, m.Principal); m.Lacking == "" && b.Sees(project) {
					w.People = append(w.People, routing.Person{Name: m.Principal, Roles: m.Roles})
				}
			}
			w.Rotas = map[string]*rota.Rota{"ops": ops}
			return w, nil
		}}
}

// host is an idle hub whose clock the test moves.
func host(t testing.TB, place string, o Options, clock func() time.Time) *Hub {
	t.Helper()
	db, err := store.Open(context.Background(), place, Schema())
	if err != nil {
		t.Fatal(err)
	}
	if clock != nil {
		db.SetClock(clock)
	}
	h := idle(db, o)
	t.Cleanup(func() { h.Close(); db.Close() })
	return h
}

func hello(to string) Request {
	return Request{Trigger: CLI, Source: Source{Name: "agent"}, Audience: AudienceOf(to), Questions: []Question{{ID: "name", Message: "Who are you?", Required: true}}}
}

func accepting(id string) Action {
	return Action{Type: CompletedBy, RequestID: id, Response: Accept, Answers: map[string]Answer{"name": {State: Submitted, Value: text("x")}}}
}

func caller(t testing.TB, name string, b access.Boundary, scopes ...access.Scope) context.Context {
	return access.With(t.Context(), access.Caller{Level: access.Agents, Name: name, Scopes: append(scopes, access.Answer), Boundary: b})
}

func codeOf(err error) string {
	if f := fault.Of(err); f != nil {
		return f.Code
	}
	return fmt.Sprint(err)
}

// notices claims and sends all notifications that are due.
func notices(t testing.TB, h *Hub) (told []string) {
	t.Helper()
	for {
		n, ok, _, err := h.NextNotice(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return told
		}
		told = append(told, n.Person)
		if err := h.Sent(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
}

// Several hosts find the same steps due: each step is taken once, and each notification sent
// once.
func TestSeveralHostsTakeAStepOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		const hosts, questions = 3, 6
		var hubs []*Hub
		for range hosts {
			hubs = append(hubs, host(t, place, crew(t, "20ms ada, 60ms role:lead"), nil))
		}
		for i := range questions {
			if _, err := hubs[i%hosts].Open(t.Context(), hello("")); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		sent := map[string]int{}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for _, h := range hubs {
			running.Go(func() {
				for ctx.Err() == nil {
					if err := h.Sweep(ctx); err != nil && ctx.Err() == nil {
						t.Error(err)
					}
					n, ok, _, err := h.NextNotice(ctx)
					if err != nil || !ok {
						continue
					}
					mu.Lock()
					sent[fmt.Sprint(n.Request.ID, n.rev, n.Person)]++
					mu.Unlock()
					if err := h.Sent(context.WithoutCancel(ctx), n); err != nil {
						t.Error(err)
					}
				}
			})
		}
		waittest.Until(t, "all steps are taken and all notifications sent", func() (bool, any) {
			list, err := hubs[0].List(ctx, Filter{})
			if err != nil {
				t.Fatal(err)
			}
			late := slices.ContainsFunc(list.Requests, func(r Request) bool { return r.Routing.Done != 2 })
			left := 0
			err = hubs[0].db.View(ctx, func(tx *store.Tx) error {
				return tx.QueryRow(ctx, "SELECT COUNT(*) FROM request_notices").Scan(&left)
			})
			return err == nil && !late && left == 0, left
		})
		stop()
		running.Wait()
		for what, n := range sent {
			if n != 1 {
				t.Errorf("%s was sent %d times", what, n)
			}
		}
		changes, _, err := hubs[0].Changes(t.Context(), 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		steps := map[string]int{}
		for _, c := range changes {
			if c.Action.Type == Routed {
				steps[c.Action.RequestID]++
			}
		}
		for id, n := range steps {
			if n > 2 { // one, if both steps were late
				t.Errorf("%s was routed %d times, for 2 steps", id, n)
			}
		}
		if n := len(sent); n < questions*3 || n > questions*4 {
			t.Errorf("%d notifications for %d questions: %v", n, questions, sent)
		}
	})
}

// A process is killed after it has claimed a notification, and before it has sent it. Another
// sends it once. Steps that came due while no process ran are taken together.
func TestAKilledHostsWorkIsDoneOnce(t *testing.T) {
	place, now := t.TempDir(), time.Now()
	clock := func() time.Time { return now }
	first := host(t, place, crew(t, "30m rota:ops, 2h role:lead"), clock)
	r, err := first.Open(t.Context(), hello("ada"))
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(3 * time.Hour)
	second := host(t, place, Options{World: first.options.World}, clock) // it has no policy: the question has it
	if err := second.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err = second.Get(t.Context(), r.ID); err != nil || r.Routing.Done != 2 || r.To() != "role:lead" {
		t.Fatalf("after three hours: %+v, %v", r.Routing, err)
	}
	if n, ok, _, err := second.NextNotice(t.Context()); err != nil || !ok || n.Person != "" || n.Lead(now) != "Reminder: open for 3h, with role:lead" {
		t.Fatalf("NextNotice = %q, %v, %v", n.Lead(now), ok, err)
	}
	third := host(t, place, Options{}, clock)
	if got := notices(t, third); !slices.Equal(got, []string{"bob", "lea"}) {
		t.Errorf("the third host sends to %q, want bob and lea: the second has the rest", got)
	}
	now = now.Add(noticeTime)
	if got := notices(t, third); !slices.Equal(got, []string{""}) {
		t.Errorf("after the second was killed, the third sends to %q", got)
	}
	now = now.Add(time.Hour)
	if err := third.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := notices(t, third); got != nil {
		t.Errorf("again to %q", got)
	}
}

func TestNobodyIsRemindedOfAnEndedQuestion(t *testing.T) {
	place, now := t.TempDir(), time.Now()
	h := host(t, place, crew(t, "30m remind"), func() time.Time { return now })
	ended, err := h.Open(t.Context(), hello("ada"))
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	if err := h.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Dispatch(caller(t, "ada", access.Boundary{}), accepting(ended.ID)); err != nil {
		t.Fatal(err)
	}
	if got := notices(t, h); got != nil {
		t.Errorf("reminded %q of an answered question", got)
	}
}

func TestWhoIsOnCallMayAnswer(t *testing.T) {
	h := host(t, t.TempDir(), crew(t, ""), nil)
	r, err := h.Open(t.Context(), hello("rota:ops"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Dispatch(caller(t, "ada", access.Boundary{}), accepting(r.ID)); codeOf(err) != NotYours {
		t.Errorf("ada, not on call = %v", err)
	}
	if _, err := h.Dispatch(caller(t, "bob", access.Boundary{}), accepting(r.ID)); err != nil {
		t.Errorf("bob, on call = %v", err)
	}
	inside := hello("rota:ops") // bob does not know of the project
	inside.Context.ProjectID = "p"
	if r, err = h.Open(t.Context(), inside); err != nil || !r.Routing.Everyone || !strings.Contains(r.Routing.Note, "bob, on call in the rota ops, cannot be asked here") {
		t.Errorf("in a project that bob does not know: %+v, %v", r.Routing, err)
	}
	if _, err := h.Open(t.Context(), hello("rota:none")); codeOf(err) != NobodyThere || !strings.Contains(fault.Of(err).Hint, "rota:ops") {
		t.Errorf("an unknown rota = %v", err)
	}
}

// A step that no process has noticed is taken when somebody answers whom it concerns.
func TestAStepIsTakenForWhoAnswers(t *testing.T) {
	now := time.Now()
	h := host(t, t.TempDir(), crew(t, "30m role:lead"), func() time.Time { return now })
	r, err := h.Open(t.Context(), hello("ada"))
	if err != nil {
		t.Fatal(err)
	}
	lea := access.With(t.Context(), access.Caller{Level: access.Agents, Name: "lea", Roles: []string{"lead"}, Scopes: []access.Scope{access.Answer}})
	if _, err := h.Dispatch(lea, accepting(r.ID)); codeOf(err) != NotYours {
		t.Errorf("before the step = %v", err)
	}
	now = now.Add(31 * time.Minute)
	if _, err := h.Dispatch(lea, accepting(r.ID)); err != nil {
		t.Errorf("after the step = %v", err)
	}
}

func TestWhoCannotBeReached(t *testing.T) {
	h := host(t, t.TempDir(), crew(t, ""), nil)
	if _, err := h.Open(t.Context(), hello("eve")); codeOf(err) != Unreachable || !strings.Contains(fault.Of(err).Hint, "invite eve") {
		t.Errorf("eve, without a policy = %v", err)
	}
	if _, err := h.Open(t.Context(), hello("nobody")); codeOf(err) != NobodyThere {
		t.Errorf("an unknown person = %v", err)
	}
	routed := host(t, t.TempDir(), crew(t, "30m rota:ops"), nil)
	if _, err := routed.Open(t.Context(), hello("nobody")); codeOf(err) != NobodyThere {
		t.Errorf("an unknown person, with a policy = %v", err)
	}
	r, err := routed.Open(t.Context(), hello("eve"))
	if err != nil || r.Routing.Done != 1 || r.To() != "rota:ops (bob)" || r.Routing.Note != "eve has no browser" {
		t.Errorf("eve, with a policy: %+v, %v", r.Routing, err)
	}
}

func TestWhoMayHandOver(t *testing.T) {
	everything, notP := access.Boundary{}, access.Boundary{Projects: []string{"p"}}
	for name, c := range map[string]struct {
		ctx     context.Context
		to      string
		project string
		want    string
	}{
		"whom it is for":                       {caller(t, "ada", everything), "bob", "", "<nil>"},
		"someone else":                         {caller(t, "bob", everything), "bob", "", NotYours},
		"someone with the scope admin":         {caller(t, "lea", everything, access.Admin), "role:lead", "", "<nil>"},
		"the owner":                            {t.Context(), "bob", "", "<nil>"},
		"the owner's browser":                  {access.With(t.Context(), access.Caller{Level: access.People, How: access.ByKey}), "bob", "", "<nil>"},
		"an agent with the agents' token":      {access.With(t.Context(), access.Caller{Level: access.Agents, How: access.ByToken}), "bob", "", NotYours},
		"a stranger to the project":            {caller(t, "bob", notP, access.Admin), "bob", "p", UnknownRequest},
		"to someone who does not know of it":   {caller(t, "ada", everything), "bob", "p", NobodyThere},
		"to someone who cannot be reached":     {caller(t, "ada", everything), "eve", "", Unreachable},
		"to nobody":                            {caller(t, "ada", everything), "zed", "", NobodyThere},
		"to a rota that is not there":          {caller(t, "ada", everything), "rota:zed", "", NobodyThere},
		"a program that may not answer":        {access.With(t.Context(), access.Caller{Level: access.Agents, Name: "ada", Scopes: []access.Scope{access.Ask}}), "bob", "", NotYours},
		"the audience of an untouched request": {caller(t, "ada", everything), "rota:ops", "", "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			h := host(t, t.TempDir(), crew(t, ""), nil)
			r := hello("ada")
			r.Context.ProjectID = c.project
			r, err := h.Open(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			who := AudienceOf(c.to)
			change, err := h.Dispatch(c.ctx, Action{Type: Reassigned, RequestID: r.ID, Audience: &who, Above: true})
			if codeOf(err) != c.want {
				t.Fatalf("handing over = %v, want %s", err, c.want)
			}
			if err != nil {
				return
			}
			if got := change.Request.Audience.to(); got != c.to {
				t.Errorf("it is for %s, want %s", got, c.to)
			}
			var rows int
			err = h.db.View(t.Context(), func(tx *store.Tx) error {
				return tx.QueryRow(t.Context(), "SELECT COUNT(*) FROM audit WHERE action = 'question.reassigned' AND object = ?", r.ID).Scan(&rows)
			})
			if err != nil || rows != 1 {
				t.Errorf("%d rows of the audit log, %v", rows, err)
			}
			if told := notices(t, h); len(told) < 2 {
				t.Errorf("notified %q of the hand over", told)
			}
		})
	}
}

func TestATakenQuestionIsNobodysAlone(t *testing.T) {
	now := time.Now()
	h := host(t, t.TempDir(), crew(t, "10m role:lead"), func() time.Time { return now })
	ada, bob := caller(t, "ada", access.Boundary{}), caller(t, "bob", access.Boundary{})
	open := func() string {
		t.Helper()
		r, err := h.Open(t.Context(), hello(""))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Dispatch(ada, Action{Type: Claimed, RequestID: r.ID}); err != nil {
			t.Fatal(err)
		}
		return r.ID
	}
	id := open()
	if _, err := h.Dispatch(bob, Action{Type: Claimed, RequestID: id}); codeOf(err) != TakenBefore {
		t.Errorf("taking it too = %v", err)
	}
	if _, err := h.Dispatch(bob, Action{Type: Unclaimed, RequestID: id}); codeOf(err) != NotYours {
		t.Errorf("releasing it for ada = %v", err)
	}
	now = now.Add(15 * time.Minute)
	if err := h.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := h.Get(t.Context(), id); err != nil || r.Routing.Done != 0 || !strings.Contains(r.Takes(time.UTC), "taken by ada until") {
		t.Errorf("while it is taken: %+v, %v", r.Routing, err)
	}
	if _, err := h.Dispatch(bob, accepting(id)); err != nil {
		t.Errorf("bob answers what ada has taken: %v", err)
	}
	id = open()
	if c, err := h.Dispatch(ada, Action{Type: Unclaimed, RequestID: id}); err != nil || c.Request.Routing.Taken != nil || c.Request.Routing.NextTo != "role:lead" {
		t.Errorf("released: %+v, %v", c.Request.Routing, err)
	}
	id = open()
	now = now.Add(routing.TakeTime) // ada has left
	if err := h.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := h.Get(t.Context(), id); err != nil || r.Routing.Taken != nil || r.Routing.Done != 1 {
		t.Errorf("after ada has left: %+v, %v", r.Routing, err)
	}
}

// Who follows the feed has the same routing as the store.
func TestFollowersHaveTheRouting(t *testing.T) {
	now := time.Now()
	h := host(t, t.TempDir(), crew(t, "30m rota:ops, 2h role:lead"), func() time.Time { return now })
	r, err := h.Open(t.Context(), hello("ada"))
	if err != nil {
		t.Fatal(err)
	}
	who := Audience{Rota: "ops"}
	for i, step := range []func() error{
		func() error { return h.Sweep(t.Context()) },
		func() error {
			_, err := h.Dispatch(caller(t, "ada", access.Boundary{}), Action{Type: Claimed, RequestID: r.ID})
			return err
		},
		func() error {
			_, err := h.Dispatch(caller(t, "ada", access.Boundary{}), Action{Type: Reassigned, RequestID: r.ID, Audience: &who})
			return err
		},
		func() error { return h.Sweep(t.Context()) },
	} {
		now = now.Add(40 * time.Minute)
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	stored, err := h.Get(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	changes, _, err := h.Changes(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	state := State{}
	for _, c := range changes {
		state = state.Apply(c)
	}
	if got := state.Requests[r.ID]; inJSON(got) != inJSON(stored) {
		t.Errorf("a follower has\n%s\nand the store\n%s", inJSON(got), inJSON(stored))
	}
}
