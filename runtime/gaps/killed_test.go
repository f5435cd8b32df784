package gaps

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/search"
)

// recorder is the argument with which this test binary records questions. The others
// are the state folder, a name, how many, and the size at which a log is full.
const recorder = "gaps-recorder"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == recorder {
		os.Exit(record(os.Args[2], os.Args[3], os.Args[4], os.Args[5]))
	}
	os.Exit(m.Run())
}

// record prints the number of each question once it is recorded.
func record(state, name, many, full string) int {
	l := In(state)
	l.max, _ = strconv.ParseInt(full, 10, 64)
	n, _ := strconv.Atoi(many)
	for i := range n {
		if err := l.Add("index", fmt.Sprintf("%s %d", name, i), nil, search.FoundAbsent); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(i)
	}
	return 0
}

// recording starts a process that records questions, and returns the number of those it
// said are recorded when it has ended. It is killed that long after it said so for the
// first time, unless alive is 0.
func recording(t *testing.T, state, name string, many int, full int64, alive time.Duration) (ended func() int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], recorder, state, name, strconv.Itoa(many), strconv.FormatInt(full, 10))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan int, 1)
	go func() {
		n := 0
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if n++; n == 1 && alive > 0 {
				time.AfterFunc(alive, func() { _ = cmd.Process.Kill() })
			}
		}
		said <- n
	}()
	return func() int {
		n := <-said
		_ = cmd.Wait()
		return n
	}
}

// Two processes record questions and are killed in the middle, again and again. What
// they said is recorded is there, and a line that one has begun spoils no other.
func TestKilledRecordersLoseNothing(t *testing.T) {
	state := t.TempDir()
	said := map[string]int{}
	const rounds = 12
	for i := range rounds {
		ends := map[string]func() int{}
		for _, of := range []string{"one", "two"} {
			name := fmt.Sprintf("%s%d", of, i)
			ends[name] = recording(t, state, name, 1_000_000, maxBytes*100, time.Duration(1+3*i)*time.Millisecond)
		}
		for name, ended := range ends {
			said[name] = ended()
		}
		// What a process leaves that is killed while it writes.
		f, err := os.OpenFile(filepath.Join(state, fileName), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(f, `{"at":"2026-11-01T12:00:00Z","query":"half a li`)
		f.Close()
	}
	entries, skipped, err := In(state).Read(time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if skipped == 0 || skipped > 3*rounds {
		t.Errorf("%d lines are unreadable, want at most one of each round and those cut by a kill", skipped)
	}
	found := map[string]int{}
	for _, e := range entries {
		name, number, _ := strings.Cut(e.Query, " ")
		if number != strconv.Itoa(found[name]) {
			t.Fatalf("after %d questions of %s comes %q", found[name], name, e.Query)
		}
		found[name]++
	}
	for name, n := range said {
		if n == 0 {
			t.Errorf("%s ended before it recorded anything", name)
		}
		if found[name] < n {
			t.Errorf("%s said it recorded %d questions, and %d are there", name, n, found[name])
		}
	}
}

// Only a full file is set aside, so the log never has fewer questions than fit in one.
func TestAFullLogIsSetAsideOnce(t *testing.T) {
	state := t.TempDir()
	const full, many = 2000, 1500
	var ends []func() int
	for _, name := range []string{"one", "two", "three", "four"} {
		ends = append(ends, recording(t, state, name, many, full, 0))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, ended := range ends {
			if n := ended(); n != many {
				t.Errorf("a process recorded %d questions, want %d", n, many)
			}
		}
	}()
	smallest := int64(full)
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if info, err := os.Stat(filepath.Join(state, fileName+".1")); err == nil {
			smallest = min(smallest, info.Size())
		}
	}
	if smallest < full {
		t.Errorf("a file of %d bytes was set aside and replaced a full one, want %d or more", smallest, full)
	}
	if entries, skipped, err := In(state).Read(time.Time{}); err != nil || skipped != 0 || len(entries) < 10 {
		t.Errorf("%d entries, %d skipped, %v", len(entries), skipped, err)
	}
}
