package tasks_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	. "github.com/deskhand/deskhand/runtime/tasks"
)

// enqueued starts an attempt for any host with the label gpu.
func (d *desk) enqueued(prompt ...string) Started {
	d.t.Helper()
	r := d.request(task(d.t, d.Manager, d.project.ID, "Do it").ID, prompt...)
	r.On = []string{"gpu"}
	started, err := d.Start(d.t.Context(), r)
	if err != nil {
		d.t.Fatal(err)
	}
	return started
}

// takes lets a manager serve the queue until the test ends, or stop is called.
func takes(t *testing.T, m *Manager, places int) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := m.ServeQueue(ctx, QueueOptions{Labels: []string{"gpu"}, Places: places}); err != nil {
			t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); serving.Wait() })
	t.Cleanup(stop)
	return stop
}

// Each queued attempt is taken once, by the only host there is or by one of two.
func TestQueuedAttemptsRunOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		d := openAt(t, place, Repo{}, settings{Lease: 2 * time.Second})
		var all []Started
		for range 6 {
			all = append(all, d.enqueued("write a.txt x"))
		}
		if s, err := d.Status(t.Context(), all[0].AttemptID); err != nil || s.State != Running {
			t.Fatalf("Status of a queued attempt = %+v, %v", s, err)
		}
		takes(t, d.Manager, 2)
		if strings.HasPrefix(place, "postgres") {
			takes(t, openAt(t, place, Repo{}, settings{Lease: 2 * time.Second}).Manager, 2)
		}
		for _, one := range all {
			d.until(one.AttemptID, "completed", func(s AttemptStatus) bool { return s.State == Completed })
			if runs, err := d.Processes(t.Context(), one.AttemptID); err != nil || len(runs) != 1 {
				t.Errorf("attempt %s has processes %+v, %v; want one", one.AttemptID, runs, err)
			}
		}
	})
}

// What a host has taken and not begun goes to another when it dies; what runs on it is
// lost, and what waits is taken by another.
func TestADeadHostsQueueIsTakenOver(t *testing.T) {
	d := openAt(t, storetest.Postgres(t), Repo{}, settings{Lease: 2 * time.Second})
	dead := openAt(t, d.place, Repo{}, settings{Lease: 2 * time.Second}).Manager
	stop := takes(t, dead, 1)
	running := d.enqueued("say hello", "hang")
	d.until(running.AttemptID, "began", func(s AttemptStatus) bool { return s.SessionID != "" })
	waits, taken := d.enqueued("write b.txt y"), d.enqueued("write c.txt z")
	host := ""
	err := d.db.ReadRow(t.Context(), "SELECT host FROM attempts WHERE id = ?", []any{running.AttemptID}, &host)
	if err != nil {
		t.Fatal(err)
	}

	// The host dies: its processes end, and none of them says so.
	stop()
	runner := d.running(running.AttemptID).runner
	d.change("UPDATE processes SET runner_born = 'another-boot/1', agent_born = 'another-boot/2' WHERE host = ?", host)
	proc.LeaderOf(runner).Kill()
	dead.Close()
	d.change("UPDATE attempts SET host = ? WHERE id = ?", host, taken.AttemptID)
	d.change("UPDATE processes SET host = ?, launched_at = 1 WHERE attempt_id = ?", host, taken.AttemptID)

	takes(t, d.Manager, 2)
	for _, one := range []Started{waits, taken} {
		d.until(one.AttemptID, "completed elsewhere", func(s AttemptStatus) bool { return s.State == Completed })
	}
	if s := d.ended(running.AttemptID); s.State != Failed || !strings.HasPrefix(s.Failure, "lost: ") {
		t.Errorf("the running attempt is %+v, want it lost", s)
	}
}

func TestWhatNoHostCanRunWaits(t *testing.T) {
	d := openAt(t, storetest.Postgres(t), Repo{}, settings{Lease: 2 * time.Second})
	made := task(t, d.Manager, d.project.ID, "Do it")
	r := d.request(made.ID, "write a.txt x")
	r.On = []string{"gpu and more"}
	_, err := d.Start(t.Context(), r)
	refused(t, "Start with a bad label", err, InvalidArgument)

	r.On = []string{"GPU", "tpu"}
	away, err := d.Start(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	takes(t, d.Manager, 1)
	here := d.enqueued("write a.txt x") // it does not wait behind the other one
	d.until(here.AttemptID, "completed", func(s AttemptStatus) bool { return s.State == Completed })
	d.change("UPDATE repos SET path = '/nowhere/at/all'")
	d.change("UPDATE repo_places SET path = '/nowhere/at/all'") // and it has no remote
	lacking := d.enqueued("write a.txt x")
	if s, err := d.Status(t.Context(), lacking.AttemptID); err != nil || s.State != Running {
		t.Errorf("Status without the repository = %+v, %v; want it to wait", s, err)
	}
	if _, err := d.Stop(t.Context(), away.AttemptID, false); err != nil {
		t.Errorf("Stop of what waits: %v", err)
	}
	if s := d.ended(away.AttemptID); s.Failure != "killed" {
		t.Errorf("Status = %+v, want it killed", s)
	}
	if found, err := d.Takers(t.Context(), []string{"gpu"}); err != nil || len(found) != 1 {
		t.Errorf("Takers = %+v, %v; want one", found, err)
	}
}
