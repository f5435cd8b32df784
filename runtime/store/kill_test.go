package store_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

// child is what a test binary does when it is started again as another
// process: it writes as fast as it can and says what it was told is written.
func child(job string) int {
	place, n, _ := strings.Cut(job, "\n")
	db, err := store.Open(context.Background(), place, notes)
	if err != nil {
		fmt.Println("open:", err)
		return 1
	}
	defer db.Close()
	each, _ := strconv.Atoi(n)
	for i := range each {
		if err := write(context.Background(), db, fmt.Sprintf("%d/%d", os.Getpid(), i), "x"); err != nil {
			fmt.Println("write:", err)
			return 1
		}
		fmt.Println(i)
	}
	return 0
}

func spawn(t testing.TB, place string, n int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("STORE_TEST_CHILD=%s\n%d", place, n))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

func TestProcessesShareAStoreWithoutErrors(t *testing.T) {
	place := t.TempDir()
	db := open(t, place, notes)
	w := watch(t, db, 0, store.Filter{})
	const each = 300
	done := make(chan string)
	for range 2 {
		cmd, out := spawn(t, place, each)
		go func() {
			last := ""
			for out.Scan() {
				last = out.Text()
			}
			if err := cmd.Wait(); err != nil {
				last += ": " + err.Error()
			}
			done <- last
		}()
	}
	for i := range each {
		mustWrite(t, db, fmt.Sprint(i), "x")
	}
	for range 2 {
		if last := <-done; last != fmt.Sprint(each-1) {
			t.Errorf("a process ended with %q, want %d", last, each-1)
		}
	}
	read(t, w, 3*each, true)
}

// TestAKilledProcessLosesNothingItWasPromised kills a writer at a moment that
// differs from round to round: before, between and inside of its transactions.
func TestAKilledProcessLosesNothingItWasPromised(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	place := t.TempDir()
	db := open(t, place, notes)
	random := rand.New(rand.NewPCG(1, 2))
	for round := range rounds {
		cmd, out := spawn(t, place, 1_000_000)
		after := time.Duration(random.IntN(30_000)) * time.Microsecond
		timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		promised := -1
		for out.Scan() {
			n, err := strconv.Atoi(out.Text())
			if err != nil {
				t.Fatalf("round %d: the writer says %q", round, out.Text())
			}
			if promised < 0 {
				time.AfterFunc(after, func() { cmd.Process.Kill() })
			}
			promised = n
		}
		cmd.Wait()
		timer.Stop()
		err := db.View(t.Context(), func(tx *store.Tx) error {
			var rows, events int
			like := fmt.Sprintf("%d/%%", cmd.Process.Pid)
			if err := tx.QueryRow(t.Context(), "SELECT COUNT(*) FROM notes WHERE id LIKE ?", like).Scan(&rows); err != nil {
				return err
			}
			if err := tx.QueryRow(t.Context(), "SELECT COUNT(*) FROM events WHERE key LIKE ?", like).Scan(&events); err != nil {
				return err
			}
			if rows < promised+1 || rows != events {
				t.Errorf("round %d: %d promised, %d rows and %d events found", round, promised+1, rows, events)
			}
			var all int64
			if err := tx.QueryRow(t.Context(), "SELECT COUNT(*) FROM events").Scan(&all); err != nil {
				return err
			}
			if all != tx.Seq {
				t.Errorf("round %d: %d events, numbered up to %d", round, all, tx.Seq)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}
