package elicit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// peer returns a hub with its own connection to the store, as in another process.
func peer(t testing.TB, place string, o Options) *Hub {
	t.Helper()
	db, err := store.Open(context.Background(), place, Schema())
	if err != nil {
		t.Fatalf("Open(%s) = %v", place, err)
	}
	h := New(db, o)
	t.Cleanup(func() { h.Close(); db.Close() })
	return h
}

var attended = Options{Attended: true}

// greeting returns a request with one required and one optional question.
func greeting() Request {
	return Request{Trigger: AskUser, Source: Source{Kind: "mcp", Name: "claude"}, Questions: []Question{
		{ID: "name", Message: "Who are you?", Required: true}, {ID: "age", Kind: Integer, Message: "How old?"},
	}}
}

func said(s string) Answer {
	return Answer{State: Submitted, Value: &Value{Kind: TextValue, Text: s}}
}

func draft(s string) *Answer {
	return &Answer{State: Draft, Value: &Value{Kind: TextValue, Text: s}}
}

func accept(id, name string) Action {
	return Action{Type: CompletedBy, RequestID: id, Response: Accept, Channel: "web", Answers: map[string]Answer{"name": said(name)}}
}

func must(t testing.TB, h *Hub, a Action) Change {
	t.Helper()
	c, err := h.Dispatch(context.Background(), a)
	if err != nil {
		t.Fatalf("Dispatch(%s) = %v", a.Type, err)
	}
	return c
}

func mustOpen(t testing.TB, h *Hub, r Request) Request {
	t.Helper()
	r, err := h.Open(context.Background(), r)
	if err != nil {
		t.Fatalf("Open = %v", err)
	}
	return r
}

// asked waits until a request is open and returns it.
func asked(t testing.TB, h *Hub) Request {
	t.Helper()
	return first(t, h, 1)[0]
}

// first waits until the given number of requests is open and returns them.
func first(t testing.TB, h *Hub, many int) (open []Request) {
	t.Helper()
	waittest.Until(t, fmt.Sprintf("%d requests are open", many), func() (bool, any) {
		list, err := h.List(context.Background(), Filter{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		open = list.Requests
		return len(open) >= many, fmt.Sprintf("%d are", len(open))
	})
	return open
}

type outcome struct {
	r   Request
	err error
}

// asking runs Ask in the background.
func asking(t testing.TB, ctx context.Context, h *Hub, r Request, s ...Surface) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		r, err := h.Ask(ctx, r, s...)
		done <- outcome{r, err}
	}()
	return done
}

func TestAQuestionOfOneProcessIsAnsweredInAnother(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		agent, person, colleague := peer(t, place, attended), peer(t, place, Options{Principal: "ada"}), peer(t, place, Options{Principal: "bob"})
		done := asking(t, t.Context(), agent, greeting())
		open := asked(t, person)
		if open.Rev != 1 || open.Source.Name != "claude" || open.Message != "Who are you?" || open.Deadline.Sub(open.CreatedAt.Time) != 5*time.Minute {
			t.Errorf("the person sees %+v", open)
		}
		must(t, person, Action{Type: AnswerChanged, RequestID: open.ID, QuestionID: "name", Answer: draft("A"), Channel: "web"})
		if seen, err := colleague.Get(t.Context(), open.ID); err != nil || seen.Answers["name"].Value.Text != "A" || seen.Answers["name"].Meta.By != "ada" {
			t.Errorf("the colleague sees %+v, %v; want ada's draft", seen, err)
		}
		must(t, person, accept(open.ID, " Ada\n\"🎉\u2028\x00 "))
		_, err := colleague.Dispatch(t.Context(), accept(open.ID, "Bob"))
		var rejected *Rejection
		if !errors.As(err, &rejected) || rejected.Code != AlreadyCompleted || rejected.Winner.By != "ada" || rejected.Winner.Channel != "web" {
			t.Errorf("the second to answer gets %v, want already_completed by ada", err)
		}
		got := <-done
		if got.err != nil || !got.r.Accepted() || got.r.Answers["name"].Value.Text != " Ada\n\"🎉\u2028\x00 " {
			t.Errorf("Ask = %+v, %v", got.r, got.err)
		}
	})
}

func TestEveryOutcomeReachesTheAskerAsItself(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		agent, person := peer(t, place, attended), peer(t, place, Options{})
		for _, end := range []Action{
			{Type: CompletedBy, Response: Decline, Note: "not my business"},
			{Type: CompletedBy, Response: Cancel},
			{Type: Withdrawn, Reason: "withdrawn"},
		} {
			done := asking(t, t.Context(), agent, greeting())
			end.RequestID = asked(t, person).ID
			must(t, person, Action{Type: AnswerChanged, RequestID: end.RequestID, QuestionID: "name", Answer: draft("secret")})
			must(t, person, end)
			want := end.Response
			if end.Type == Withdrawn {
				want = Abandoned
			}
			got := <-done
			if got.err != nil || got.r.Completion.Outcome != want || got.r.Completion.Note != end.Note || got.r.Answers != nil {
				t.Errorf("Ask = %+v, %v; want %s and no answers", got.r, got.err, want)
			}
		}
	})
}

func TestWhatWasTypedAndNotSentIsNowhere(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h := peer(t, place, Options{})
		for name, end := range map[string]Action{
			"declined": {Type: CompletedBy, Response: Decline}, "withdrawn": {Type: Withdrawn}, "accepted": accept("", "Ada"),
		} {
			r := mustOpen(t, h, greeting())
			must(t, h, Action{Type: AnswerChanged, RequestID: r.ID, QuestionID: "name", Answer: draft("my secret")})
			end.RequestID = r.ID
			must(t, h, end)
			got, err := h.Get(t.Context(), r.ID)
			if err != nil {
				t.Fatal(err)
			}
			w, err := h.Watch(t.Context(), 0, r.ID)
			if err != nil {
				t.Fatal(err)
			}
			var all []Change
			for len(all) < 3 {
				more, err := w.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, more...)
			}
			w.Close()
			if b, _ := json.Marshal([]any{got, all}); bytes.Contains(b, []byte("secret")) {
				t.Errorf("%s: %s", name, b)
			}
		}
	})
}

// TestReplayFromAnyPlaceEqualsTheSnapshot compares the state that peers compute
// from the feed with the store, also after drafts were removed from the feed.
func TestReplayFromAnyPlaceEqualsTheSnapshot(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h, other := peer(t, place, Options{}), peer(t, place, Options{Principal: "bob"})
		var snapshots []State
		all := Filter{Statuses: []Status{Open, ExpiredOpen, Completed}}
		snapshot := func() {
			list, err := h.List(t.Context(), all)
			if err != nil {
				t.Fatal(err)
			}
			snapshots = append(snapshots, list.State())
		}
		snapshot()
		var ids []string
		for i := range 6 {
			hub := []*Hub{h, other}[i%2]
			id := mustOpen(t, hub, greeting()).ID
			ids = append(ids, id)
			snapshot()
			for _, a := range []Action{
				{Type: PresentedTo, Channel: "web", Client: "tab"},
				{Type: AnswerChanged, QuestionID: "name", Answer: draft("A")},
				{Type: AnswerChanged, QuestionID: "age", Answer: &Answer{State: Skipped, Freeform: []string{"no"}}},
				{Type: AnswerChanged, QuestionID: "name", Answer: draft("Ad")},
				{Type: AskerLeft},
			} {
				a.RequestID = id
				must(t, hub, a)
				snapshot()
			}
		}
		for i, end := range []Action{accept("", "Ada"), {Type: CompletedBy, Response: Decline}, {Type: Withdrawn}, {Type: CompletedBy, Response: Cancel},
			{Type: AnswerChanged, QuestionID: "name"}, {Type: Extended}} {
			end.RequestID = ids[i]
			must(t, other, end)
			snapshot()
		}
		want := snapshots[len(snapshots)-1]
		for _, from := range snapshots {
			w, err := other.Watch(t.Context(), from.Seq, "")
			if err != nil {
				t.Fatal(err)
			}
			state := from
			for state.Seq < want.Seq {
				changes, err := w.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range changes {
					state = state.Apply(c)
				}
			}
			w.Close()
			if a, b := dumped(t, state), dumped(t, want); a != b {
				t.Fatalf("replay from %d gives\n%s\nwant\n%s", from.Seq, a, b)
			}
		}
	})
}

func dumped(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTheSameKeyFindsTheSameRequest(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		first, second := peer(t, place, attended), peer(t, place, attended)
		r := greeting()
		r.Key = "deploy-1"
		var ids sync.Map
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				got, err := []*Hub{first, second}[i%2].Open(t.Context(), r)
				if err != nil {
					t.Errorf("Open = %v", err)
				}
				ids.Store(got.ID, true)
			})
		}
		wg.Wait()
		id := asked(t, first).ID
		ids.Range(func(other, _ any) bool {
			if other != id {
				t.Errorf("a second request %v was opened beside %s", other, id)
			}
			return true
		})
		must(t, first, accept(id, "Ada"))
		if got, err := second.Ask(t.Context(), r); err != nil || got.ID != id || got.Answers["name"].Value.Text != "Ada" {
			t.Errorf("asking again = %+v, %v; want the answer of before", got, err)
		}
		r.Questions[0].Message = "Who else?"
		if _, err := second.Open(t.Context(), r); fault.Of(err) == nil || fault.Of(err).Code != KeyReused {
			t.Errorf("another question with the key = %v, want key_reused", err)
		}
	})
}

func TestNobodyThereIsSaidAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h, inbox := peer(t, place, Options{}), peer(t, place, Options{})
		r, err := h.Ask(t.Context(), greeting())
		if f := fault.Of(err); f == nil || f.Code != NoSurface || f.Hint == "" {
			t.Errorf("Ask = %v, want no_surface with a hint", err)
		}
		if r.Completion == nil || r.Completion.Outcome != Abandoned || r.Completion.Reason != "unreachable" {
			t.Errorf("the record says %+v, want abandoned, unreachable", r.Completion)
		}
		if list, err := h.List(t.Context(), Filter{}); err != nil || len(list.Requests) != 0 {
			t.Errorf("open requests = %v, %v; want none", list.Requests, err)
		}
		_, held, detach, err := inbox.Attach(t.Context(), Station{Kind: "inbox", Address: "http://127.0.0.1:7777", Alone: true})
		if err != nil || !held {
			t.Fatalf("Attach = %v, %v", held, err)
		}
		if other, held, _, err := h.Attach(t.Context(), Station{Kind: "inbox", Address: "http://127.0.0.1:8888", Alone: true}); err != nil || held || other.Address != "http://127.0.0.1:7777" {
			t.Errorf("a second inbox = %+v, %v, %v; want the first's address", other, held, err)
		}
		done := asking(t, t.Context(), h, greeting())
		must(t, inbox, accept(asked(t, inbox).ID, "Ada"))
		if got := <-done; got.err != nil || !got.r.Accepted() {
			t.Errorf("Ask with an inbox = %+v, %v", got.r, got.err)
		}
		detach()
		if up, err := h.Reach(t.Context()); err != nil || len(up) != 0 {
			t.Errorf("Reach after detach = %v, %v", up, err)
		}
		if s, held, _, err := h.Attach(t.Context(), Station{Kind: "inbox", Alone: true}); err != nil || !held || s.Address != "http://127.0.0.1:7777" {
			t.Errorf("the next inbox = %+v, %v, %v; want the address of before", s, held, err)
		}
	})
}

// surface answers with the next action, or waits for the end.
type surface struct {
	action  *Action
	ended   chan bool
	replied error
}

func (s *surface) Offer(ctx context.Context, h *Hub, r Request) {
	if s.action != nil {
		s.action.RequestID = r.ID
		_, s.replied = h.Dispatch(ctx, *s.action)
	} else {
		<-ctx.Done()
	}
	close(s.ended)
}

func TestSurfacesRaceAndTheLosersAreCalledOff(t *testing.T) {
	h := peer(t, t.TempDir(), Options{})
	a := accept("", "Ada")
	winner, loser := &surface{action: &a, ended: make(chan bool)}, &surface{ended: make(chan bool)}
	r, err := h.Ask(t.Context(), greeting(), winner, loser)
	if err != nil || !r.Accepted() {
		t.Fatalf("Ask = %+v, %v", r, err)
	}
	<-winner.ended
	<-loser.ended
}

func TestAnAskerThatLeaves(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h, person := peer(t, place, attended), peer(t, place, Options{})
		for name, c := range map[string]struct {
			context Context
			status  Status
		}{
			"in a turn takes the question back":       {Context{TurnID: "t1"}, Completed},
			"without a turn leaves it to be answered": {Context{}, Open},
		} {
			ctx, leave := context.WithCancel(t.Context())
			r := greeting()
			r.Context = c.context
			done := asking(t, ctx, h, r)
			id := asked(t, person).ID
			leave()
			if got := <-done; !errors.Is(got.err, context.Canceled) || got.r.ID != id {
				t.Errorf("%s: Ask = %+v, %v; want the id and the context's error", name, got.r, got.err)
			}
			got, err := person.Get(t.Context(), id)
			if err != nil || got.Status != c.status || got.AskerGone != (c.status == Open) {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			if c.status != Open {
				continue
			}
			waiting := make(chan outcome, 1)
			go func() {
				r, err := person.Wait(t.Context(), id)
				waiting <- outcome{r, err}
			}()
			for got.AskerGone {
				if got, err = h.Get(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
			must(t, h, accept(id, "Ada"))
			if got := <-waiting; got.err != nil || !got.r.Accepted() {
				t.Errorf("%s: Wait = %+v, %v", name, got.r, got.err)
			}
		}
	})
}

func TestATurnThatEndsTakesItsQuestionsBack(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h := peer(t, place, Options{})
		r := greeting()
		r.Context.TurnID = "t1"
		first, second := mustOpen(t, h, r), mustOpen(t, h, r)
		r.OnTurnEnd = Keep
		kept := mustOpen(t, h, r)
		r.Context.TurnID, r.OnTurnEnd = "t2", ""
		other := mustOpen(t, h, r)
		if n, err := h.EndTurn(t.Context(), "t1", "turn_completed"); n != 2 || err != nil {
			t.Errorf("EndTurn = %d, %v; want 2", n, err)
		}
		for id, want := range map[string]Status{first.ID: Completed, second.ID: Completed, kept.ID: Open, other.ID: Open} {
			if got, err := h.Get(t.Context(), id); err != nil || got.Status != want {
				t.Errorf("%s is %s, %v; want %s", id, got.Status, err, want)
			}
		}
		if _, err := h.Dispatch(t.Context(), accept(first.ID, "Ada")); fault.Of(err) == nil {
			t.Errorf("answering an abandoned question = %v, want a rejection", err)
		}
	})
}

func TestListsAreInTheOrderToAnswerIn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h := peer(t, place, Options{})
		open := func(title string, p Priority, source string) string {
			r := greeting()
			r.Title, r.Priority, r.Source.Name = title, p, source
			return mustOpen(t, h, r).ID
		}
		gone := open("gone", Urgent, "a")
		open("old", Normal, "a")
		open("new", Normal, "b")
		open("urgent", Urgent, "b")
		open("low", Low, "b")
		must(t, h, Action{Type: AskerLeft, RequestID: gone})
		must(t, h, accept(open("done", High, "a"), "Ada"))
		titles := func(f Filter) (got []string, more bool) {
			list, err := h.List(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range list.Requests {
				got = append(got, r.Title)
			}
			return got, list.More
		}
		for name, c := range map[string]struct {
			f    Filter
			want []string
			more bool
		}{
			"the inbox":      {Filter{}, []string{"urgent", "old", "new", "low", "gone"}, false},
			"a page":         {Filter{Limit: 2, Offset: 1}, []string{"old", "new"}, true},
			"the last page":  {Filter{Limit: 2, Offset: 3}, []string{"low", "gone"}, false},
			"of one source":  {Filter{Source: "a"}, []string{"old", "gone"}, false},
			"history":        {Filter{Statuses: []Status{Completed}}, []string{"done"}, false},
			"of no status":   {Filter{Statuses: []Status{}}, nil, false},
			"of another one": {Filter{ConversationID: "x"}, nil, false},
		} {
			if got, more := titles(c.f); !reflect.DeepEqual(got, c.want) || more != c.more {
				t.Errorf("%s = %v, %v; want %v, %v", name, got, more, c.want, c.more)
			}
		}
	})
}

func TestActionsOfTheHubAreNotForClients(t *testing.T) {
	h := peer(t, t.TempDir(), Options{})
	id := mustOpen(t, h, greeting()).ID
	for _, a := range []ActionType{TimeUp, Removed, AnswerRedacted, Requested, "", "sung"} {
		if _, err := h.Dispatch(t.Context(), Action{Type: a, RequestID: id, Request: &Request{}}); fault.Of(err) == nil || fault.Of(err).Code != Malformed {
			t.Errorf("Dispatch(%q) = %v, want malformed_action", a, err)
		}
	}
	forged := accept(id, "Ada")
	forged.Answers["name"] = Answer{State: Submitted, Value: said("Ada").Value, Meta: &AnswerMeta{By: "the boss", Rev: 99}}
	forged.Final = true
	if c := must(t, h, forged); c.Request.Answers["name"].Meta.By != "local" || c.Request.Answers["name"].Meta.Rev != 2 {
		t.Errorf("a client wrote who answered: %+v", c.Request.Answers["name"].Meta)
	}
}

func TestTheLogTellsWhatHappenedAndNotWhatWasSaid(t *testing.T) {
	var log bytes.Buffer
	h := peer(t, t.TempDir(), Options{Log: slog.New(slog.NewJSONHandler(&log, nil))})
	for _, end := range []Action{accept("", "my secret"), {Type: CompletedBy, Response: Decline}, {Type: CompletedBy, Response: Cancel}, {Type: Withdrawn}} {
		r := greeting()
		r.Title = "a secret title"
		end.RequestID = mustOpen(t, h, r).ID
		must(t, h, end)
	}
	var events []string
	for line := range strings.Lines(log.String()) {
		var entry struct{ Msg, ElicitationID, Trigger string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.ElicitationID == "" || entry.Trigger != "ask_user" {
			t.Errorf("log line %s (%v)", line, err)
		}
		if entry.Msg != "elicitation.requested" {
			events = append(events, strings.TrimPrefix(entry.Msg, "elicitation."))
		}
	}
	if want := []string{"completed", "declined", "cancelled", "abandoned"}; !slices.Equal(events, want) || strings.Contains(log.String(), "secret") {
		t.Errorf("logged %v, want %v, without what was asked and said:\n%s", events, want, log.String())
	}
}
