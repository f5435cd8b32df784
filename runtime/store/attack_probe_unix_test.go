//go:build unix

package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// soon bounds a probe: 2 s, on a busy machine.
const soon = 4 * time.Second

func probed(t *testing.T, db *store.DB) error {
	t.Helper()
	start := time.Now()
	err := db.Probe(t.Context())
	if took := time.Since(start); took > soon {
		t.Errorf("Probe took %v, want 2s at most", took)
	}
	return err
}

// eventuallyProbed waits for a probe that ends as wanted: an answer is good for a
// second.
func eventuallyProbed(t *testing.T, db *store.DB, good bool) (err error) {
	t.Helper()
	waittest.Until(t, fmt.Sprintf("a probe is good: %v", good), func() (bool, any) {
		err = probed(t, db)
		return (err == nil) == good, err
	})
	return err
}

// A probe tells, in time, whether the store takes what is written.
func TestAttackDoorsProbesTellWhenTheStoreIsAway(t *testing.T) {
	t.Run("a database whose processes are stopped", func(t *testing.T) {
		place := storetest.Postgres(t)
		db := open(t, place)
		eventuallyProbed(t, db, true)
		all := processesOf(t, place)
		signal := func(s syscall.Signal) {
			for _, pid := range all {
				syscall.Kill(pid, s) // one may have ended
			}
		}
		t.Cleanup(func() { signal(syscall.SIGCONT) })
		signal(syscall.SIGSTOP)
		if err := eventuallyProbed(t, db, false); !errors.Is(err, store.ErrSlow) {
			t.Errorf("Probe = %v, want that it was slow", err)
		}
		var asks sync.WaitGroup
		for range 20 {
			asks.Go(func() {
				if err := probed(t, db); err == nil {
					t.Error("Probe = nil while the database is stopped")
				}
			})
		}
		asks.Wait()
		signal(syscall.SIGCONT)
		eventuallyProbed(t, db, true)
	})
	t.Run("a process that does not let go of the store", func(t *testing.T) {
		place := t.TempDir()
		db, other := open(t, place), open(t, place)
		held, free := make(chan struct{}), make(chan struct{})
		ended := make(chan error)
		go func() {
			ended <- other.Update(t.Context(), func(*store.Tx) error { close(held); <-free; return nil })
		}()
		<-held
		if err := eventuallyProbed(t, db, false); !errors.Is(err, store.ErrSlow) {
			t.Errorf("Probe = %v, want that it was slow", err)
		}
		close(free)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		eventuallyProbed(t, db, true)
	})
}

// processesOf are the server and all of its children.
func processesOf(t *testing.T, place string) (pids []int) {
	t.Helper()
	pool, err := sql.Open("pgx", place)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var dir string
	if err := pool.QueryRow("SHOW data_directory").Scan(&dir); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(file), "\n")
	server, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("ps", "-e", "-o", "pid=,ppid=").Output()
	if err != nil {
		t.Skipf("NOT TESTED: ps: %v", err)
	}
	pids = []int{server}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 2 && f[1] == first {
			pid, _ := strconv.Atoi(f[0])
			pids = append(pids, pid)
		}
	}
	return pids
}
