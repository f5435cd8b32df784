package elicit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/simulate"
	"github.com/deskhand/deskhand/runtime/store"
)

// simulation asks and answers questions on several hosts with the real hubs and store,
// while hosts are cut off, clocks step, processes restart and results get lost. It knows
// what was acknowledged to whom, and compares.
type simulation struct {
	*simulate.World
	ctx   context.Context
	dbs   []*store.DB
	hubs  []*Hub
	live  []*asked
	made  int
	ended int
	kinds map[string]int // how often something happened
}

// asked is what the simulation knows of a question.
type asked struct {
	id, key string
	to      string
	repeat  *Action     // an answer whose result got lost; its page repeats it
	told    *Completion // the ending that was acknowledged to the person who chose it
	answers string      // that were acknowledged, as JSON
	final   string      // the completion that was seen first, as JSON
}

var answerers = []string{"ada", "bob", "cleo"}

func simulated(t testing.TB, seed uint64) *simulation {
	t.Helper()
	s := &simulation{World: simulate.New(seed, 3), ctx: t.Context(), kinds: map[string]int{}}
	dir := simulate.Folder(t)
	for i := range s.Hosts() {
		db, err := store.Open(t.Context(), dir, Schema())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		db.SetClock(s.Clock(i))
		s.dbs, s.hubs = append(s.dbs, db), append(s.hubs, idle(db, Options{Rate: -1, Retain: 365 * 24 * time.Hour}))
	}
	return s
}

// run takes steps until the first broken rule.
func (s *simulation) run(steps int) error {
	for range steps {
		s.Weather()
		if err := s.step(s.IntN(s.Hosts())); err != nil {
			return err
		}
	}
	return s.conclude()
}

func (s *simulation) step(host int) error {
	if len(s.live) < 8 || s.IntN(12) == 0 && len(s.live) < 40 {
		return s.ask(host)
	}
	q := s.live[s.IntN(len(s.live))]
	switch n := s.IntN(100); {
	case q.repeat != nil && n < 50:
		return s.act(host, q, *q.repeat)
	case n < 20:
		return s.act(host, q, s.draft(q))
	case n < 38:
		return s.act(host, q, s.ending(q, CompletedBy))
	case n < 48:
		return s.act(host, q, s.ending(q, AnswerHeld))
	case n < 52:
		return s.act(host, q, Action{Type: TakenBack, By: s.person()})
	case n < 56:
		return s.act(host, q, Action{Type: Extended, By: s.person(), Deadline: At(s.Clock(host)().Add(time.Minute))})
	case n < 58:
		return s.act(host, q, Action{Type: Withdrawn, Reason: "asker_gone"})
	case n < 64:
		return s.act(host, q, Action{Type: PresentedTo, Channel: "web", Client: fmt.Sprint("page", host)})
	case n < 68:
		return s.act(host, q, Action{Type: []ActionType{AskerLeft, AskerReturned, HandBack}[s.IntN(3)]})
	case n < 71: // a process restarts: what it had in memory is gone
		s.hubs[host] = idle(s.dbs[host], s.hubs[host].options)
		s.Note("host %d restarts", host)
		return nil
	case n < 80:
		err := s.Do(host, func() error { return s.hubs[host].Sweep(s.ctx) })
		if err != nil && !errors.Is(err, simulate.ErrAway) && !errors.Is(err, simulate.ErrUnsure) {
			return s.Broken("sweep: %v", err)
		}
		return nil
	}
	return s.look(host, q)
}

func (s *simulation) person() string { return answerers[s.IntN(len(answerers))] }

func (s *simulation) ask(host int) error {
	s.made++
	q := &asked{key: fmt.Sprint("key", s.made)}
	r := Request{Key: q.key, Trigger: "mcp", Source: Source{Name: "agent"}, Message: "May I?", WaitMS: int64(1+s.IntN(600)) * 1000,
		Questions: []Question{{ID: "answer", Kind: Text, Message: "May I?", Required: true}}}
	if s.IntN(4) == 0 {
		q.to = s.person()
		r.Audience.Principal = q.to
	}
	for { // an asker repeats its call with the same key until it knows
		var opened Request
		err := s.Do(host, func() (err error) {
			opened, err = s.hubs[host].Open(s.ctx, r)
			return err
		})
		if errors.Is(err, simulate.ErrAway) || errors.Is(err, simulate.ErrUnsure) {
			s.Weather()
			host = s.IntN(s.Hosts())
			continue
		}
		if err != nil {
			return s.Broken("open %s: %v", q.key, err)
		}
		if slices.ContainsFunc(s.live, func(other *asked) bool { return other.id == opened.ID }) {
			return s.Broken("two questions have the ID %s", opened.ID)
		}
		q.id = opened.ID
		s.live = append(s.live, q)
		s.Note("asked %s, to %q", q.id, q.to)
		return nil
	}
}

func (s *simulation) draft(q *asked) Action {
	words := fmt.Sprint("draft", s.IntN(1000))
	return Action{Type: AnswerChanged, By: s.person(), QuestionID: "answer", Answer: &Answer{State: Draft, Value: text(words)}}
}

func (s *simulation) ending(q *asked, by ActionType) Action {
	a := Action{Type: by, By: s.person(), Channel: "web", Client: fmt.Sprint("page", s.Int()), Response: []Outcome{Accept, Accept, Decline, Cancel}[s.IntN(4)]}
	if a.Response == Accept {
		a.Answers = map[string]Answer{"answer": {State: Submitted, Value: text(fmt.Sprint("yes", s.IntN(1000)))}}
	}
	return a
}

// act takes an action and checks its acknowledgement.
func (s *simulation) act(host int, q *asked, a Action) error {
	a.RequestID = q.id
	var c Change
	err := s.Do(host, func() (err error) {
		c, err = s.hubs[host].Dispatch(s.ctx, a)
		return err
	})
	s.Note("host %d: %s %s of %s by %s: %v", host, a.Type, a.Response, q.id, a.By, err)
	ending := a.Type == CompletedBy
	switch {
	case errors.Is(err, simulate.ErrAway):
		return nil
	case errors.Is(err, simulate.ErrUnsure):
		if ending {
			q.repeat = &a
		}
		return nil
	case err != nil && fault.Of(err) == nil:
		return s.Broken("%s: %v", a.Type, err)
	case err != nil:
		if ending && q.repeat != nil && q.repeat.Client == a.Client {
			q.repeat = nil
		}
		s.kinds["refused"]++
		return nil
	}
	if q.repeat != nil && q.repeat.Client == a.Client {
		q.repeat = nil
	}
	if !ending {
		s.kinds[string(a.Type)]++
		return nil
	}
	switch done := c.Request.Completion; {
	case done == nil || c.Request.Status != Completed:
		return s.Broken("the answer of %s to %s was acknowledged, and the request is %s", a.By, q.id, c.Request.Status)
	case q.to != "" && a.By != q.to:
		return s.Broken("%s answered %s, which is for %s", a.By, q.id, q.to)
	case done.Client != a.Client || done.By != a.By || done.Outcome != a.Response:
		return s.Broken("the answer of %s (%s) to %s was acknowledged, and the request has that of %s (%s)", a.By, a.Client, q.id, done.By, done.Client)
	case q.told != nil && q.told.Client != a.Client:
		return s.Broken("two answers to %s were acknowledged, those of %s and %s", q.id, q.told.Client, a.Client)
	}
	q.told, q.answers = c.Request.Completion, inJSON(c.Request.Answers)
	s.kinds["answered"]++
	return s.check(q, *c.Request)
}

func inJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// look reads a question, delivers its answer, and sometimes forgets it.
func (s *simulation) look(host int, q *asked) error {
	var r Request
	err := s.Do(host, func() (err error) {
		r, err = s.hubs[host].Get(s.ctx, q.id)
		return err
	})
	if errors.Is(err, simulate.ErrAway) || errors.Is(err, simulate.ErrUnsure) {
		return nil
	}
	if err != nil {
		return s.Broken("read %s: %v", q.id, err)
	}
	if err := s.check(q, r); err != nil || r.Status != Completed || s.IntN(3) > 0 {
		return err
	}
	if err := s.act(host, q, Action{Type: Collected}); err != nil {
		return err
	}
	s.live = slices.DeleteFunc(s.live, func(other *asked) bool { return other == q })
	s.ended++
	return nil
}

// check compares a question as it is stored with what was acknowledged and seen before.
func (s *simulation) check(q *asked, r Request) error {
	if r.Status != Completed {
		if q.told != nil {
			return s.Broken("%s was answered by %s, and is %s", q.id, q.told.By, r.Status)
		}
		if q.final != "" {
			return s.Broken("%s ended as %s, and is %s again", q.id, q.final, r.Status)
		}
		return nil
	}
	if q.told != nil && (inJSON(r.Completion) != inJSON(q.told) || inJSON(r.Answers) != q.answers) {
		return s.Broken("%s has %s %s; acknowledged was %s %s", q.id, inJSON(r.Completion), inJSON(r.Answers), inJSON(q.told), q.answers)
	}
	if now := inJSON(r.Completion) + inJSON(r.Answers); q.final == "" {
		q.final = now
	} else if q.final != now {
		return s.Broken("%s ended as %s, and now as %s", q.id, q.final, now)
	}
	return nil
}

// conclude lets all troubles end and all deadlines pass, and checks that every question has
// one ending.
func (s *simulation) conclude() error {
	s.Heal()
	s.Advance(24 * time.Hour)
	if err := s.hubs[0].Sweep(s.ctx); err != nil {
		return s.Broken("the last sweep: %v", err)
	}
	for _, q := range s.live {
		r, err := s.hubs[1].Get(s.ctx, q.id)
		if err != nil {
			return s.Broken("read %s: %v", q.id, err)
		}
		if r.Status == Open || r.Completion == nil || r.Held != nil {
			return s.Broken("%s is %s, with the completion %s, after every deadline", q.id, r.Status, inJSON(r.Completion))
		}
		if err := s.check(q, r); err != nil {
			return err
		}
	}
	return s.checkFeed()
}

// checkFeed reads the events of all questions: each has one ending, and their numbers have
// no gaps.
func (s *simulation) checkFeed() error {
	endings := map[string]int{}
	var count, first, last int64
	err := s.dbs[0].View(s.ctx, func(tx *store.Tx) error {
		if err := tx.QueryRow(s.ctx, "SELECT COUNT(*), MIN(seq), MAX(seq) FROM events").Scan(&count, &first, &last); err != nil {
			return err
		}
		if last != tx.Seq {
			return fmt.Errorf("the feed ends at %d, and its number is %d", last, tx.Seq)
		}
		rows, err := tx.Query(s.ctx, "SELECT key, data FROM events WHERE topic = ?", Topic)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, data string
			var a Action
			if err := rows.Scan(&id, &data); err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(data), &a); err != nil {
				return err
			}
			if a.Type == CompletedBy || a.Type == Withdrawn {
				endings[id]++
			}
		}
		return rows.Err()
	})
	if err != nil {
		return s.Broken("feed: %v", err)
	}
	for id, n := range endings {
		if n != 1 {
			return s.Broken("%s ended %d times", id, n)
		}
	}
	if count != last-first+1 {
		return s.Broken("the feed has %d events from %d to %d", count, first, last)
	}
	return nil
}

func TestSimulatedQuestionsKeepTheRules(t *testing.T) {
	steps, seed := simulate.Steps(t, 4000)
	s := simulated(t, seed)
	if err := s.run(steps); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	t.Logf("seed %d, %d steps: %d questions, %d collected, %v", seed, steps, s.made, s.ended, s.kinds)
	for _, kind := range []string{"answered", "refused", string(AnswerHeld), string(Withdrawn), string(Extended), string(TakenBack)} {
		if s.kinds[kind] == 0 {
			t.Errorf("%s never happened", kind)
		}
	}
}

// TestTheSimulationFindsBrokenRules breaks one rule at a time.
func TestTheSimulationFindsBrokenRules(t *testing.T) {
	for want, broken := range map[string]func(){
		"has that of|two answers to|ended as": func() { rule := transitions[CompletedBy]; rule.after = true; transitions[CompletedBy] = rule },
		"which is for":                        func() { rule := transitions[CompletedBy]; rule.person = false; transitions[CompletedBy] = rule },
		"and is expired": func() {
			rule := transitions[PresentedTo]
			rule.apply = func(next *Request, a Action) (bool, error) {
				next.Status, next.Completion = ExpiredOpen, &Completion{Outcome: Timeout, At: a.At}
				return true, nil
			}
			transitions[PresentedTo] = rule
		},
	} {
		t.Run(want, func(t *testing.T) {
			saved := maps.Clone(transitions)
			defer func() { transitions = saved }()
			broken()
			err := simulated(t, 1).run(4000)
			if err == nil || !regexp.MustCompile(want).MatchString(strings.Split(err.Error(), "\n")[0]) {
				t.Errorf("the simulation finds %.300v, want %s", err, want)
			}
		})
	}
}
