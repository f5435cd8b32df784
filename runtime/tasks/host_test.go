package tasks_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// change runs SQL on the store of a desk.
func (d *desk) change(query string, args ...any) {
	d.t.Helper()
	err := d.db.Update(d.t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(d.t.Context(), query, args...)
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

// another returns a manager of another machine that shares the store. It has its own
// folders.
func (d *desk) another() *Manager {
	d.t.Helper()
	o := d.options
	o.Dir = d.t.TempDir()
	return peer(d.t, d.place, o)
}

// A machine is identified by an ID in its folders, whatever its name and other
// machines' names.
func TestAttackDoorsMachinesAreKnownByAnID(t *testing.T) {
	overBoth := settings{Lease: 2 * time.Second}
	hang := func(t *testing.T) (*desk, Started) {
		d := openAt(t, storetest.Postgres(t), Repo{}, overBoth)
		started := d.start("say hello", "hang")
		d.until(started.AttemptID, "began", func(s AttemptStatus) bool { return s.SessionID != "" })
		return d, started
	}
	completed := func(t *testing.T) (*desk, Started) {
		d := openAt(t, storetest.Postgres(t), Repo{}, overBoth)
		started := d.start("write a.txt x")
		d.until(started.AttemptID, "ended", func(s AttemptStatus) bool { return s.State == Completed })
		return d, started
	}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	// This makes a runner look as if it ran on another machine.
	const notHere = "UPDATE processes SET runner_pid = 999999999, runner_born = 'another-boot/1', agent_pid = 999999999, agent_born = 'another-boot/2'"

	t.Run("a second machine of the same name leaves a live attempt alone", func(t *testing.T) {
		d, started := hang(t)
		d.change(notHere)
		other := d.another()
		if err := other.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s, err := other.Status(t.Context(), started.AttemptID); err != nil || s.State != Running {
			t.Errorf("Status = %+v, %v; want it running", s, err)
		}
	})
	t.Run("a machine with a copy of the state folder leaves a live attempt alone", func(t *testing.T) {
		d, started := hang(t)
		d.change(notHere)
		copied := t.TempDir()
		id, err := os.ReadFile(filepath.Join(d.options.Dir, "host-id"))
		if err == nil {
			err = os.WriteFile(filepath.Join(copied, "host-id"), id, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		o := d.options
		o.Dir = copied
		other := peer(t, d.place, o)
		for range 3 {
			if err := other.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if s, err := other.Status(t.Context(), started.AttemptID); err != nil || s.State != Running {
			t.Errorf("Status = %+v, %v; want it running", s, err)
		}
	})
	t.Run("what was made under a name is its machine's, and no other's of that name", func(t *testing.T) {
		d, started := completed(t)
		d.change("UPDATE attempts SET host = ?", name)
		d.change("UPDATE processes SET host = ?", name)
		d.Close() // it takes care of its folders meanwhile
		attempts := filepath.Join(d.options.Dir, "attempts")
		if err := os.Rename(attempts, attempts+"-hidden"); err != nil { // the other machine does not see the folders
			t.Fatal(err)
		}
		other := d.another()
		if err := os.Rename(attempts+"-hidden", attempts); err != nil {
			t.Fatal(err)
		}
		d.change("DELETE FROM shared") // as if it had shared nothing
		_, err := other.Changes(t.Context(), started.AttemptID, false)
		refused(t, "Changes on another machine", err, WorktreeMissing)
		again := peer(t, d.place, d.options)
		if c, err := again.Changes(t.Context(), started.AttemptID, false); err != nil || c.Count != 1 {
			t.Errorf("Changes = %+v, %v; want one file", c, err)
		}
	})
	t.Run("a follow-up to a machine that is away says which", func(t *testing.T) {
		d, started := completed(t)
		d.Close()
		other := d.another()
		own := d.Manager
		d.Manager = other // the manager that the desk uses from now on
		defer func() { d.Manager = own }()
		for _, action := range []Action{Send, Queue} {
			_, err := other.FollowUp(t.Context(), FollowUpRequest{Action: action, AttemptID: started.AttemptID, Prompt: "say more"})
			refused(t, fmt.Sprintf("FollowUp(%s)", action), err, HostAway)
			if f := fault.Of(err); f != nil && (!strings.Contains(f.Message, "is on another machine named "+name) || !f.Retryable) {
				t.Errorf("FollowUp(%s) = %+v, want it to name %s and to be retried", action, f, name)
			}
		}
		if s, err := other.Status(t.Context(), started.AttemptID); err != nil || s.State != Completed {
			t.Errorf("Status = %+v, %v; want it as it was", s, err)
		}
		peer(t, d.place, d.options) // the machine is back
		waittest.Until(t, "FollowUp is taken once the machine is back", func() (bool, any) {
			_, err := other.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: started.AttemptID, Prompt: "write b.txt y"})
			return err == nil, err
		})
		d.until(started.AttemptID, "ended again", func(s AttemptStatus) bool { return s.State == Completed })
	})
	t.Run("what waits for a machine that is away ends", func(t *testing.T) {
		d, started := completed(t)
		const gone = "AAAAAAAAAAAAAAAAAAAAAAAAAA"
		d.change("UPDATE attempts SET host = ?", gone)
		d.change("UPDATE processes SET host = ?, state = 'queued', completed_at = 0, updated_at = 1, launched_at = 0", gone)
		s := d.until(started.AttemptID, "given up", func(s AttemptStatus) bool { return s.State != Running })
		if s.State != Failed || !strings.Contains(s.Failure, "a machine with the ID "+gone) {
			t.Errorf("Status = %+v, want it lost with the machine's id", s)
		}
	})
	t.Run("a repository of another machine is not said to have moved", func(t *testing.T) {
		d := openAt(t, storetest.Postgres(t), Repo{}, overBoth)
		d.change("UPDATE repos SET path = '/nowhere/at/all'")
		d.change("UPDATE repo_places SET path = '/nowhere/at/all'")
		made := task(t, d.Manager, d.project.ID, "Do it")
		_, err := d.Start(t.Context(), d.request(made.ID, "say x"))
		refused(t, "Start", err, NotFound)
		if f := fault.Of(err); f != nil && (!strings.Contains(f.Message, "is not on this machine ("+name+"; looked in ") || strings.Contains(f.Message, "no longer")) {
			t.Errorf("Start = %q, want it to name this machine", f.Message)
		}
	})
	t.Run("eight processes make one id", func(t *testing.T) {
		place, dir := storetest.Postgres(t), t.TempDir()
		db, err := store.Open(t.Context(), place, Schemas()...)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { New(db, Options{Dir: dir, MaxRunning: -1}).Close() })
		}
		all.Wait()
		files, err := filepath.Glob(filepath.Join(dir, "host-id*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("files %q, %v; want one", files, err)
		}
		if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 27 {
			t.Errorf("%s is %v, %v; want 27 bytes for its owner alone", files[0], info, err)
		}
	})
	t.Run("an id that somebody has changed starts nothing", func(t *testing.T) {
		d := openAt(t, storetest.Postgres(t), Repo{}, overBoth)
		if err := os.WriteFile(filepath.Join(d.options.Dir, "host-id"), []byte("me\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		again := peer(t, d.place, d.options)
		made := task(t, again, d.project.ID, "Do it")
		_, err := again.Start(context.Background(), d.request(made.ID, "say x"))
		refused(t, "Start", err, InvalidArgument)
	})
}

func (d *desk) attempt(id string) Attempt {
	d.t.Helper()
	a, err := d.Attempt(context.Background(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return a
}
