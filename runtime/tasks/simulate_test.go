package tasks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/simulate"
	"github.com/deskhand/deskhand/runtime/store"
)

// simulation queues, takes, runs, stops and loses attempts on several hosts with the real
// managers' transactions and store. No agent runs: a runner is what a claim was
// acknowledged to.
type simulation struct {
	*simulate.World
	ctx    context.Context
	hosts  []*Manager
	dbs    []*store.DB
	runs   []*simulatedRun
	known  map[string]string // the ending that was seen first, by process
	open   []string          // processes that may not have ended
	claims map[string]int    // acknowledged, by process
	made   int
	kinds  map[string]int
	watch  func() time.Time // the clock with which hosts watch leases
}

// simulatedRun runs a process until it learns that it must not, or its host crashes.
type simulatedRun struct {
	host    int
	r       *run
	tried   time.Time // the last heartbeat, by the true time
	renewed time.Time // the last heartbeat that arrived
	ended   bool      // has ended the process, and does not know whether that arrived
}

const (
	simulatedLease = 40 * time.Second
	simulatedBeat  = 10 * time.Second
	simulatedSlots = 3
)

func simulated(t testing.TB, seed uint64) *simulation {
	t.Helper()
	s := &simulation{World: simulate.New(seed, 3), ctx: t.Context(), known: map[string]string{}, claims: map[string]int{}, kinds: map[string]int{}}
	s.watch = s.Now
	dir := simulate.Folder(t)
	for i := range s.Hosts() {
		db, err := store.Open(t.Context(), dir, Schemas()...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		db.SetClock(s.Clock(i))
		s.dbs, s.hosts = append(s.dbs, db), append(s.hosts, nil)
		s.boot(i)
	}
	err := s.dbs[0].Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(t.Context(), "INSERT INTO tasks (id, project_id, title, description, status, created_at, updated_at) VALUES ('task', 'project', 't', '', 'todo', 0, 0)")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// boot starts a host anew: its runs are gone, and so is what it had seen.
func (s *simulation) boot(host int) {
	s.runs = slices.DeleteFunc(s.runs, func(r *simulatedRun) bool { return r.host == host })
	s.hosts[host] = s.manager(host)
}

// manager returns a manager without goroutines.
func (s *simulation) manager(host int) *Manager {
	m := &Manager{db: s.dbs[host], instance: newID(), host: fmt.Sprint("host", host)}
	m.options = Options{Lease: simulatedLease, MaxRunning: simulatedSlots, Origin: m.host + "/key", Dir: "/nowhere/" + m.host}.filled()
	m.origin = func() (string, error) { return m.host, nil }
	m.observed.now = s.watch
	return m
}

func (s *simulation) run(steps int) error {
	for range steps {
		s.Weather()
		host := s.IntN(s.Hosts())
		err := s.beat()
		if err == nil {
			err = s.step(host)
		}
		if err == nil && s.IntN(200) == 0 {
			err = s.check()
		}
		if err != nil {
			return err
		}
	}
	return s.conclude()
}

// away reports whether an error says nothing about the rules.
func away(err error) bool {
	return errors.Is(err, simulate.ErrAway) || errors.Is(err, simulate.ErrUnsure)
}

func (s *simulation) step(host int) error {
	switch n := s.IntN(100); {
	case n < 25 && len(s.open) < 12:
		return s.start(host)
	case n < 45:
		return s.take(host)
	case n < 65:
		return s.claim(host)
	case n < 68 && len(s.runs) > 0:
		return s.end(s.runs[s.IntN(len(s.runs))])
	case n < 69 && len(s.open) > 0:
		return s.stop(host)
	case n == 70 && s.IntN(3) == 0:
		s.Note("host %d crashes", host)
		s.boot(host)
		return nil
	case n < 78:
		return s.mustBeAway("requeue", s.Do(host, func() error { return s.hosts[host].requeue(s.ctx) }))
	}
	return s.sweep(host)
}

func (s *simulation) mustBeAway(what string, err error) error {
	if err != nil && !away(err) && fault.Of(err) == nil {
		return s.Broken("%s: %v", what, err)
	}
	return nil
}

// beat renews the leases that are due, of hosts and runners.
func (s *simulation) beat() error {
	for i, m := range s.hosts {
		if s.IntN(4) == 0 {
			err := s.Do(i, func() error {
				_, _, err := s.dbs[i].Claim(s.ctx, store.Lease{Name: runnerPrefix + m.host + "/" + m.instance, Holder: m.instance}, m.hostTerm())
				return err
			})
			if err := s.mustBeAway("lease", err); err != nil {
				return err
			}
		}
	}
	for _, one := range slices.Clone(s.runs) {
		if s.Now().Sub(one.tried) < simulatedBeat || one.ended {
			continue
		}
		one.tried = s.Now()
		err := s.Do(one.host, func() error {
			err := one.r.renew(s.ctx, time.Now(), simulatedLease)
			if err == nil {
				one.renewed = s.Now()
			}
			return err
		})
		if errors.Is(err, errLost) {
			s.drop(one)
			s.kinds["learned that it was lost"]++
		} else if err := s.mustBeAway("renew", err); err != nil {
			return err
		}
	}
	return nil
}

func (s *simulation) drop(one *simulatedRun) {
	s.runs = slices.DeleteFunc(s.runs, func(other *simulatedRun) bool { return other == one })
}

// start queues an attempt for any host.
func (s *simulation) start(host int) error {
	s.made++
	id := fmt.Sprintf("process-%d", s.made)
	err := s.Do(host, func() error {
		return s.dbs[host].Update(s.ctx, func(tx *store.Tx) error {
			attempt := attempt{host: anyHost}
			attempt.ID, attempt.TaskID, attempt.Dir = "attempt-"+id, "task", "/nowhere/"+id
			if err := insertAttempt(s.ctx, tx, attempt); err != nil {
				return err
			}
			p := process{Process: Process{ID: id, AttemptID: attempt.ID, Reason: Setup, Executor: "fake", State: Queued, Created: tx.Now, Updated: tx.Now}, taskID: "task", host: anyHost}
			if err := insertProcess(s.ctx, tx, &p, "project"); err != nil {
				return err
			}
			return enqueue(s.ctx, tx, p, wants{Executor: "fake"})
		})
	})
	if err == nil {
		s.open = append(s.open, id)
		s.Note("queued %s", id)
	}
	return s.mustBeAway("start", err)
}

// take lets a host take the attempt that has waited longest.
func (s *simulation) take(host int) error {
	m := s.hosts[host]
	var p *process
	err := s.Do(host, func() error {
		var queued []waiting
		err := m.db.View(s.ctx, func(tx *store.Tx) (err error) {
			queued, err = all(s.ctx, tx, scanWaiting, "SELECT id, attempt_id, wants FROM processes WHERE state = ? AND host = ? ORDER BY ordinal LIMIT 1", Queued, anyHost)
			return err
		})
		if err == nil && len(queued) > 0 {
			p, _, err = m.assign(s.ctx, queued[0], nil, simulatedSlots)
		}
		return err
	})
	if err == nil && p != nil {
		s.Note("host %d takes %s", host, p.ID)
	}
	return s.mustBeAway("take", err)
}

// claim is what the runner of a host does that looks for work.
func (s *simulation) claim(host int) error {
	m := s.manager(host)
	k := &runner{m: m, id: runnerID{m.host, "key"}}
	var found []claimed
	err := s.Do(host, func() (err error) {
		found, err = k.claimNext(s.ctx)
		return err
	})
	for _, c := range found { // also if the runner does not learn it
		s.Note("host %d claims %s: %v", host, c.ID, err)
		s.claims[c.ID]++
		if s.claims[c.ID] > 1 {
			return s.Broken("%s was claimed twice", c.ID)
		}
		if c.host != m.host {
			return s.Broken("host %d claimed %s, which is for %s", host, c.ID, c.host)
		}
		for _, other := range s.runs {
			if other.r.p.ID == c.ID {
				return s.Broken("%s runs twice", c.ID)
			}
		}
		if err == nil {
			s.kinds["ran"]++
			s.runs = append(s.runs, &simulatedRun{host: host, tried: s.Now(), renewed: s.Now(),
				r: &run{m: m, attemptID: c.AttemptID, p: c.process, forced: make(chan struct{}), cancel: func(error) {}}})
		}
	}
	return s.mustBeAway("claim", err)
}

// end is what a runner does whose agent has ended. It repeats it until it knows.
func (s *simulation) end(one *simulatedRun) error {
	e := ending{State: Completed}
	err := s.Do(one.host, func() error {
		return one.r.m.db.Update(s.ctx, func(tx *store.Tx) error { p := one.r.p; return one.r.m.endProcess(s.ctx, tx, &p, e) })
	})
	s.Note("the runner of %s ends: %v", one.r.p.ID, err)
	switch {
	case errors.Is(err, simulate.ErrUnsure):
		one.ended = true
		return nil
	case errors.Is(err, errLost):
		s.drop(one)
		return nil
	case err != nil:
		return s.mustBeAway("end", err)
	}
	s.drop(one)
	s.kinds["ended"]++
	return s.saw(one.r.p.ID, string(e.State))
}

// saw compares a process's ending with the one that was seen first.
func (s *simulation) saw(id, state string) error {
	if first, ok := s.known[id]; ok && first != state {
		return s.Broken("%s ended as %s, and now as %s", id, first, state)
	}
	s.known[id] = state
	return nil
}

func (s *simulation) stop(host int) error {
	id := s.open[s.IntN(len(s.open))]
	err := s.Do(host, func() error {
		_, _, _, err := s.hosts[host].requestStop(s.ctx, "attempt-"+id, false)
		return err
	})
	s.Note("host %d stops %s: %v", host, id, err)
	return s.mustBeAway("stop", err)
}

// sweep gives up processes whose runners are lost, as giveUp does without the agents.
func (s *simulation) sweep(host int) error {
	m := s.hosts[host]
	var late []process
	err := s.Do(host, func() (err error) {
		_, late, err = m.lost(s.ctx)
		return err
	})
	if err != nil {
		return s.mustBeAway("sweep", err)
	}
	for _, p := range late {
		got := false
		err := s.Do(host, func() (err error) {
			got, err = m.takeOver(s.ctx, &p)
			return err
		})
		s.Note("host %d takes %s over: %v, %v", host, p.ID, got, err)
		if got {
			for _, one := range s.runs {
				if since := s.Now().Sub(one.renewed); one.r.p.ID == p.ID && since < simulatedLease {
					return s.Broken("%s was given up, and its runner renewed its lease %v ago", p.ID, since)
				}
			}
		}
		if err != nil || !got {
			continue
		}
		s.kinds["lost"]++
		p.host = "" // nothing is left on this host
		err = s.Do(host, func() error {
			_, err := m.endLost(s.ctx, &p, "lost", Work{})
			return err
		})
		if err != nil && !errors.Is(err, errLost) {
			if err := s.mustBeAway("end lost", err); err != nil {
				return err
			}
		}
	}
	return nil
}

// check reads all processes that have not been seen to end.
func (s *simulation) check() error {
	states := map[string]string{}
	err := s.dbs[0].View(s.ctx, func(tx *store.Tx) error {
		found, err := all(s.ctx, tx, scanProcess, "SELECT "+processColumns+" FROM processes p WHERE p.id IN ('"+strings.Join(s.open, "', '")+"')")
		for _, p := range found {
			states[p.ID] = string(p.State)
		}
		return err
	})
	if err != nil {
		return s.Broken("check: %v", err)
	}
	var still []string
	for _, id := range s.open {
		state := states[id]
		if state == "" {
			return s.Broken("%s was acknowledged, and is not there", id)
		}
		if !State(state).Ended() {
			if first := s.known[id]; first != "" {
				return s.Broken("%s ended as %s, and is %s", id, first, state)
			}
			still = append(still, id)
			continue
		}
		if err := s.saw(id, state); err != nil {
			return err
		}
	}
	s.open = still
	return nil
}

// conclude lets all troubles and runners end, and checks that every process ends.
func (s *simulation) conclude() error {
	s.Heal()
	s.Advance(12 * time.Hour) // leases by a clock that was ahead
	for i := range s.hosts {
		s.boot(i)
	}
	for range 400 {
		s.Advance(simulatedLease)
		for i := range s.hosts {
			if err := errors.Join(s.sweep(i), s.hosts[i].requeue(s.ctx), s.take(i), s.claim(i)); err != nil {
				return err
			}
			for _, one := range slices.Clone(s.runs) {
				if err := s.end(one); err != nil {
					return err
				}
			}
		}
		if err := s.check(); err != nil {
			return err
		}
		if len(s.open) == 0 {
			return nil
		}
	}
	return s.Broken("these processes never end: %v", s.open)
}

func TestSimulatedAttemptsKeepTheRules(t *testing.T) {
	steps, seed := simulate.Steps(t, 3000)
	s := simulated(t, seed)
	if err := s.run(steps); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	t.Logf("seed %d, %d steps: %d attempts, %v", seed, steps, s.made, s.kinds)
	for _, kind := range []string{"ran", "ended", "lost", "learned that it was lost"} {
		if s.kinds[kind] == 0 {
			t.Errorf("%s never happened", kind)
		}
	}
}

// TestTheSimulationFindsBrokenRules breaks one rule at a time.
func TestTheSimulationFindsBrokenRules(t *testing.T) {
	for want, broken := range map[string]func(*simulation){
		// A runner is given up as soon as a clock says that its lease has expired.
		"was given up": func(s *simulation) {
			ahead := time.Duration(0)
			s.watch = func() time.Time { ahead += time.Hour; return s.Now().Add(ahead) }
			for _, m := range s.hosts {
				m.observed.now = s.watch
			}
		},
		// Every store is written to by somebody who puts ended processes back into the queue.
		"twice": func(s *simulation) {
			err := s.dbs[0].Update(s.ctx, func(tx *store.Tx) error {
				_, err := tx.Exec(s.ctx, `CREATE TRIGGER again AFTER UPDATE OF state ON processes WHEN NEW.state = 'failed'
					BEGIN UPDATE processes SET state = 'queued', host = '`+anyHost+`', owner = '' WHERE id = NEW.id; END`)
				return err
			})
			if err != nil {
				panic(err)
			}
		},
	} {
		t.Run(want, func(t *testing.T) {
			s := simulated(t, 1)
			broken(s)
			err := s.run(4000)
			if err == nil || !strings.Contains(strings.Split(err.Error(), "\n")[0], want) {
				t.Errorf("the simulation finds %.300v, want %s", err, want)
			}
		})
	}
}
