package elicit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/rota"
	"github.com/deskhand/deskhand/runtime/routing"
	"github.com/deskhand/deskhand/runtime/simulate"
	"github.com/deskhand/deskhand/runtime/store"
)

// routingSimulation lets several hosts route questions with the real hubs and store: steps,
// shifts, quiet hours, people who take questions and hand them over, and servers that are
// killed between claiming a notification and sending it.
type routingSimulation struct {
	*simulate.World
	ctx   context.Context
	dbs   []*store.DB
	hubs  []*Hub
	live  []*routedAsk
	made  int
	told  map[string]bool // messages in the outbox, by request, person and key
	kinds map[string]int
}

// routedAsk is what the simulation knows of a question.
type routedAsk struct {
	id, project string
	answered    bool   // an ending was acknowledged
	to          string // whom the last acknowledged hand-over was to; empty if a later result was lost
}

// crewOf are the people: quinn is a guest of the project q, and cleo has quiet hours.
var crewOf = []Member{{Principal: "ada"}, {Principal: "bob"}, {Principal: "cleo", Roles: []string{"lead"}}, {Principal: "quinn", Roles: []string{"lead"}}}

func crewSees(name, project string) bool { return name != "quinn" || project == "q" }

func simulatedRouting(t testing.TB, seed uint64) *routingSimulation {
	t.Helper()
	ops, err := rota.Parse("mon-sun 00:00-08:00 ada\nmon-sun 08:00-16:00 bob\nmon-sun 16:00-24:00 quinn")
	if err != nil {
		t.Fatal(err)
	}
	quiet, err := routing.ParseQuiet("22:00-07:00; 12:00-13:00", "UTC", "")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Rate: -1, Retain: 365 * 24 * time.Hour, Members: []Member{}, People: func(context.Context) ([]Member, error) { return crewOf, nil },
		Caller: func(_ context.Context, name string) (access.Caller, error) {
			c := access.Caller{Name: name, Scopes: []access.Scope{access.Answer}}
			if name == "quinn" {
				c.Boundary = access.Boundary{Confined: true, Projects: []string{"q"}}
			}
			return c, nil
		},
		Policy: func(c Context) string {
			return map[string]string{"p": "1m rota:ops, 3m remind, 10m role:lead, 40m everyone", "q": "30s role:lead, 5m rota:ops, quiet next"}[c.ProjectID]
		},
		World: func(_ context.Context, project string) (w routing.World, err error) {
			for _, m := range crewOf {
				if !crewSees(m.Principal, project) {
					continue
				}
				p := routing.Person{Name: m.Principal, Roles: m.Roles}
				if m.Principal == "cleo" {
					p.Quiet = quiet
				}
				w.People = append(w.People, p)
			}
			w.Rotas = map[string]*rota.Rota{"ops": ops}
			return w, nil
		}}
	s := &routingSimulation{World: simulate.New(seed, 3), ctx: t.Context(), told: map[string]bool{}, kinds: map[string]int{}}
	dir := simulate.Folder(t)
	for i := range s.Hosts() {
		db, err := store.Open(t.Context(), dir, Schema())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		db.SetClock(s.Clock(i))
		s.dbs, s.hubs = append(s.dbs, db), append(s.hubs, idle(db, o))
	}
	return s
}

// run takes steps until the first broken rule.
func (s *routingSimulation) run(steps int) error {
	for i := range steps {
		if s.Weather(); i%50 == 0 {
			s.Advance(time.Duration(s.IntN(120)) * time.Second)
		}
		if err := s.step(s.IntN(s.Hosts())); err != nil {
			return err
		}
	}
	return s.conclude()
}

// lost reports whether the store was not reached, or the result did not arrive.
func lost(err error) bool {
	return errors.Is(err, simulate.ErrAway) || errors.Is(err, simulate.ErrUnsure)
}

func (s *routingSimulation) step(host int) error {
	if len(s.live) < 6 || s.IntN(15) == 0 && len(s.live) < 30 {
		return s.ask(host)
	}
	q, who := s.live[s.IntN(len(s.live))], crewOf[s.IntN(len(crewOf))]
	switch n := s.IntN(100); {
	case n < 12:
		return s.act(host, q, who, Action{Type: Claimed})
	case n < 20:
		return s.act(host, q, who, Action{Type: Unclaimed})
	case n < 30:
		to := AudienceOf([]string{"ada", "bob", "cleo", "quinn", "role:lead", "rota:ops", "everyone"}[s.IntN(7)])
		return s.act(host, q, who, Action{Type: Reassigned, Audience: &to})
	case n < 35:
		return s.act(host, q, who, Action{Type: CompletedBy, Response: Accept, Channel: "web", Client: fmt.Sprint("page", s.Int()), Answers: map[string]Answer{"name": {State: Submitted, Value: text("x")}}})
	case n < 38: // a process restarts: what it had in memory is gone
		s.hubs[host] = idle(s.dbs[host], s.hubs[host].options)
		s.Note("host %d restarts", host)
		return nil
	case n < 65:
		if err := s.Do(host, func() error { return s.hubs[host].Sweep(s.ctx) }); err != nil && !lost(err) {
			return s.Broken("sweep: %v", err)
		}
		return nil
	case n < 90:
		_, err := s.remind(host)
		return err
	}
	return s.look(host, q)
}

func (s *routingSimulation) ask(host int) error {
	s.made++
	r := hello([]string{"", "ada", "cleo", "role:lead", "rota:ops"}[s.IntN(5)])
	r.Key, r.Context.ProjectID, r.Priority = fmt.Sprint("key", s.made), []string{"p", "q"}[s.IntN(2)], priorities[s.IntN(4)]
	for {
		var opened Request
		err := s.Do(host, func() (err error) {
			opened, err = s.hubs[host].Open(s.ctx, r)
			return err
		})
		if lost(err) {
			s.Weather()
			host = s.IntN(s.Hosts())
			continue
		}
		if err != nil {
			return s.Broken("open: %v", err)
		}
		s.live = append(s.live, &routedAsk{id: opened.ID, project: r.Context.ProjectID})
		s.Note("asked %s in %s, to %s", opened.ID, r.Context.ProjectID, opened.To())
		return nil
	}
}

func (s *routingSimulation) act(host int, q *routedAsk, who Member, a Action) error {
	a.RequestID, a.By, a.Roles = q.id, who.Principal, who.Roles
	var c Change
	err := s.Do(host, func() (err error) {
		c, err = s.hubs[host].Dispatch(s.ctx, a)
		return err
	})
	s.Note("host %d: %s of %s by %s: %v", host, a.Type, q.id, a.By, err)
	switch {
	case errors.Is(err, simulate.ErrUnsure):
		if q.to = ""; a.Type == CompletedBy {
			s.live = slices.DeleteFunc(s.live, func(other *routedAsk) bool { return other == q }) // it may have ended
		}
		return nil
	case lost(err):
		return nil
	case err != nil && fault.Of(err) == nil:
		return s.Broken("%s: %v", a.Type, err)
	case err != nil:
		s.kinds["refused "+string(a.Type)]++
		return nil
	case !crewSees(a.By, q.project):
		return s.Broken("%s of %s, who does not see %s, was accepted", a.Type, a.By, q.project)
	}
	s.kinds[string(a.Type)]++
	r := c.Request
	switch a.Type {
	case Claimed:
		if r.claimedBy() != a.By {
			return s.Broken("%s took %s, and it is taken by %q", a.By, q.id, r.claimedBy())
		}
	case Reassigned:
		q.to = a.Audience.to()
		if r.Audience.to() != q.to {
			return s.Broken("%s was handed to %s, and is for %s", q.id, q.to, r.Audience.to())
		}
	case CompletedBy:
		q.answered = true
	}
	return s.check(q, r)
}

// check compares a question with what was acknowledged.
func (s *routingSimulation) check(q *routedAsk, r *Request) error {
	if q.answered != (r.Status == Completed) {
		return s.Broken("%s is %s; its ending was acknowledged: %v", q.id, r.Status, q.answered)
	}
	if q.to != "" && r.Audience.to() != q.to {
		return s.Broken("%s was handed to %s, and is for %s", q.id, q.to, r.Audience.to())
	}
	if r.Routing != nil {
		for _, name := range r.Routing.People {
			if !crewSees(name, q.project) {
				return s.Broken("%s of %s may be answered by %s", q.id, q.project, name)
			}
		}
	}
	return nil
}

func (s *routingSimulation) look(host int, q *routedAsk) error {
	var r Request
	err := s.Do(host, func() (err error) {
		r, err = s.hubs[host].Get(s.ctx, q.id)
		return err
	})
	if lost(err) {
		return nil
	}
	if err != nil {
		return s.Broken("read %s: %v", q.id, err)
	}
	if err := s.check(q, &r); err != nil {
		return err
	}
	if q.answered {
		s.live = slices.DeleteFunc(s.live, func(other *routedAsk) bool { return other == q })
	}
	return nil
}

// remind does what a server does with one notification, and may be killed at each point.
func (s *routingSimulation) remind(host int) (more bool, err error) {
	var n Notice
	var ok bool
	err = s.Do(host, func() (err error) {
		n, ok, _, err = s.hubs[host].NextNotice(s.ctx)
		return err
	})
	if lost(err) || err == nil && !ok {
		return false, nil // if it was claimed, another server gets it when the claim is over
	}
	if err != nil {
		return false, s.Broken("next notification: %v", err)
	}
	if n.Person != "" {
		i := slices.IndexFunc(crewOf, func(m Member) bool { return m.Principal == n.Person })
		if !crewSees(n.Person, n.Request.Context.ProjectID) {
			return false, s.Broken("%s is told of %s in %s, which is not for those eyes", n.Person, n.Request.ID, n.Request.Context.ProjectID)
		}
		if !n.Request.MayAnswer(n.Person, crewOf[i].Roles) {
			return false, s.Broken("%s is told of %s, and may not answer it: it is with %s", n.Person, n.Request.ID, n.Request.To())
		}
	}
	if n.Request.Status != Open {
		return false, s.Broken("%s is told of %s, which is %s", n.Person, n.Request.ID, n.Request.Status)
	}
	if s.IntN(20) == 0 {
		s.Note("host %d is killed with a notification of %s", host, n.Request.ID)
		return true, nil
	}
	once := fmt.Sprintf("%s/%s/%d", n.Request.ID, n.Person, n.rev)
	if s.told[once] {
		s.kinds["told again"]++ // the outbox knows it by its key
	}
	s.told[once] = true
	if s.IntN(20) == 0 {
		return true, nil
	}
	if err := s.Do(host, func() error { return s.hubs[host].Sent(s.ctx, n) }); err != nil && !lost(err) {
		return false, s.Broken("sent: %v", err)
	}
	s.kinds["told"]++
	return true, nil
}

// conclude lets all troubles end and all steps become due, and checks that each was taken and
// told once.
func (s *routingSimulation) conclude() error {
	s.Heal()
	for range 8 {
		s.Advance(12 * time.Hour)
		if err := s.hubs[0].Sweep(s.ctx); err != nil {
			return s.Broken("the last sweep: %v", err)
		}
		for more := true; more; {
			var err error
			if more, err = s.remind(0); err != nil {
				return err
			}
		}
	}
	for _, q := range s.live {
		r, err := s.hubs[1].Get(s.ctx, q.id)
		if err != nil {
			return s.Broken("read %s: %v", q.id, err)
		}
		if err := s.check(q, &r); err != nil {
			return err
		}
		if p, err := routing.ParsePolicy(r.Routing.Policy); r.Status == Open && (err != nil || r.Routing.Done != len(p.Steps) || r.Routing.Taken != nil) {
			return s.Broken("%s is open, and its routing at the end is %+v", q.id, r.Routing)
		}
	}
	return s.checkNotices()
}

// checkNotices reads the events of all questions, and what was told. A person is told at an
// event only if a step was taken, the question was handed over, or the person came on call.
func (s *routingSimulation) checkNotices() error {
	type moved struct{ before, after routing.State }
	last, events := map[string]routing.State{}, map[string]moved{}
	err := s.dbs[0].View(s.ctx, func(tx *store.Tx) error {
		rows, err := tx.Query(s.ctx, "SELECT key, data FROM events WHERE topic = ? ORDER BY seq", Topic)
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
			state := last[id]
			switch {
			case a.Type == Requested && a.Request.Routing != nil:
				state = *a.Request.Routing
				events[fmt.Sprintf("%s/%d", id, a.Rev)] = moved{routing.State{New: true}, state}
			case a.Type == Reassigned:
				state = routing.State{Policy: state.Policy, Done: state.Done, New: true}
			case a.Type == Routed:
				if a.Routing.Done < state.Done {
					return fmt.Errorf("%s goes back from step %d to %d", id, state.Done, a.Routing.Done)
				}
				events[fmt.Sprintf("%s/%d", id, a.Rev)] = moved{state, *a.Routing}
				s.kinds["steps"] += a.Routing.Done - state.Done
				state = *a.Routing
			}
			last[id] = state
		}
		return rows.Err()
	})
	if err != nil {
		return s.Broken("feed: %v", err)
	}
	for once := range s.told {
		var id, person string
		var rev int64
		parts := []any{&id, &person, &rev}
		if err := split3(once, parts...); err != nil {
			return s.Broken("%v", err)
		}
		e, found := events[fmt.Sprintf("%s/%d", id, rev)]
		if !found {
			return s.Broken("%s is told of revision %d of %s, at which nothing was routed", person, rev, id)
		}
		if !e.before.New && e.after.Done == e.before.Done && (person == "" || slices.Contains(e.before.People, person)) {
			return s.Broken("%q is told of %s again, at revision %d: %+v, then %+v", person, id, rev, e.before, e.after)
		}
	}
	return nil
}

func split3(once string, to ...any) error {
	parts := [3]string{}
	n := 0
	for _, c := range once {
		if c == '/' {
			n++
			continue
		}
		parts[n] += string(c)
	}
	*to[0].(*string), *to[1].(*string) = parts[0], parts[1]
	_, err := fmt.Sscan(parts[2], to[2])
	return err
}

func TestSimulatedRoutingKeepsTheRules(t *testing.T) {
	steps, seed := simulate.Steps(t, 3000)
	s := simulatedRouting(t, seed)
	if err := s.run(steps); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	t.Logf("seed %d, %d steps: %d questions, %v", seed, steps, s.made, s.kinds)
	for _, kind := range []string{"told", "told again", "steps", string(Claimed), string(Unclaimed), string(Reassigned), string(CompletedBy), "refused " + string(Claimed)} {
		if s.kinds[kind] == 0 {
			t.Errorf("%s never happened", kind)
		}
	}
}
