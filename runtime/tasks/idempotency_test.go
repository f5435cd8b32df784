package tasks_test

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/deskhand/deskhand/runtime/racetest"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	. "github.com/deskhand/deskhand/runtime/tasks"
)

// TestARequestIDMakesOneTask: T-186, T-187, T-191, T-193, T-194, T-195.
func TestARequestIDMakesOneTask(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		ctx := t.Context()
		m, db := peerAndStore(t, place, Options{})
		p, _ := project(t, m, Repo{})
		create := func(m *Manager, n NewTask) Task {
			t.Helper()
			n.ProjectID = p.ID
			made, err := m.CreateTask(ctx, n)
			if err != nil {
				t.Fatalf("CreateTask(%+v) = %v", n, err)
			}
			return made
		}
		first := create(m, NewTask{Title: "one", RequestID: "r1"})
		restarted := peer(t, place, Options{})
		for name, again := range map[string]Task{
			"the same call":                  create(m, NewTask{Title: "one", RequestID: "r1"}),
			"with spaces and an empty field": create(m, NewTask{Title: " one ", Description: " ", RequestID: "r1"}),
			"in another process":             create(restarted, NewTask{Title: "one", RequestID: "r1"}),
		} {
			if again != first {
				t.Errorf("%s = %+v, want %+v", name, again, first)
			}
		}
		_, err := m.CreateTask(ctx, NewTask{ProjectID: p.ID, Title: "two", RequestID: "r1"})
		refused(t, "CreateTask of something else by the same request id", err, Conflict)
		_, err = m.CreateTask(ctx, NewTask{ProjectID: p.ID, Title: "two", RequestID: strings.Repeat("r", 300)})
		refused(t, "CreateTask with a long request id", err, InvalidArgument)
		if a, b := create(m, NewTask{Title: "free"}), create(m, NewTask{Title: "free"}); a.ID == b.ID {
			t.Error("two calls without a request id made one task")
		}
		_, err = m.CreateTask(ctx, NewTask{ProjectID: nobody, Title: "x", RequestID: "r2"})
		refused(t, "CreateTask in no project", err, NotFound)
		create(m, NewTask{Title: "a request that failed can be made", RequestID: "r2"})
		page, err := m.Tasks(ctx, TaskQuery{ProjectID: p.ID})
		if err != nil || len(page.Tasks) != 4 {
			t.Errorf("Tasks = %d, %v; want 4", len(page.Tasks), err)
		}

		// An earlier version stored only the digest of the second half.
		err = db.Update(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, "UPDATE once SET digest = substr(digest, 65)")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if again := create(m, NewTask{Title: "one", RequestID: "r1"}); again != first {
			t.Errorf("with a digest of an earlier version = %+v, want %+v", again, first)
		}

		// After a week, clients no longer retry.
		old := time.Now().Add(-8 * 24 * time.Hour).UnixMilli()
		err = db.Update(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, "UPDATE once SET created_at = ? WHERE key = ?", old, "r1")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		create(m, NewTask{Title: "another", RequestID: "r3"})
		if again := create(m, NewTask{Title: "two", RequestID: "r1"}); again.ID == first.ID {
			t.Error("a request id of last week was remembered")
		}
		if again := create(m, NewTask{Title: "a request that failed can be made", RequestID: "r2"}); again.ID == "" {
			t.Error("a request id of today was forgotten")
		}
	})
}

// TestTwoProcessesRacingOneRequestIDDoOneThing: T-192.
func TestTwoProcessesRacingOneRequestIDDoOneThing(t *testing.T) {
	const rounds = 50
	place := t.TempDir()
	m := peer(t, place, Options{MaxRunning: -1})
	p, r := project(t, m, Repo{})
	a, aIn := spawn(t, place, "create", p.ID, r.ID)
	b, bIn := spawn(t, place, "create", p.ID, r.ID)
	for round := range rounds {
		fmt.Fprintln(aIn, round)
		fmt.Fprintln(bIn, round)
		if !a.Scan() || !b.Scan() {
			t.Fatalf("round %d: a process ended", round)
		}
		if a.Text() != b.Text() || len(a.Text()) != 3*36+2 {
			t.Fatalf("round %d: one process made %q, the other %q", round, a.Text(), b.Text())
		}
	}
	page, err := m.Tasks(t.Context(), TaskQuery{ProjectID: p.ID, Page: Page{Limit: 500}})
	if err != nil || len(page.Tasks) != rounds {
		t.Errorf("there are %d tasks, %v; want %d", len(page.Tasks), err, rounds)
	}
	for _, made := range page.Tasks {
		if list, err := m.Attempts(t.Context(), made.ID); err != nil || len(list) != 1 {
			t.Errorf("task %s has %d attempts, %v; want 1", made.ID, len(list), err)
		}
	}
}

// child runs a job in this test binary, which was started as another process.
func child(job string) int {
	part := strings.Split(job, "\n")
	place, what, rest := part[0], part[1], part[2:]
	if err := work(context.Background(), place, what, rest); err != nil {
		fmt.Println("error:", err)
		return 1
	}
	return 0
}

func work(ctx context.Context, place, what string, args []string) error {
	db, err := store.Open(ctx, place, Schemas()...)
	if err != nil {
		return err
	}
	defer db.Close()
	switch what {
	case "runner":
		return runner(ctx, db, place, args)
	case "server":
		return server(ctx, db, place, args[0])
	case "landing":
		return landAndUndo(ctx, db, place, args[0])
	case "dev":
		return serveDev(ctx, db, place, args[0])
	case "heir":
		return heir(ctx, db, place, args[0])
	case "tidy":
		return tidyUp(ctx, db, place, args[0])
	case "begin", "visit":
		return inShell(ctx, db, place, what, args[0])
	}
	m := New(db, Options{Dir: place, MaxRunning: -1})
	defer m.Close()
	switch what {
	case "create": // creates a task and an attempt for each input line
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			t, err := m.CreateTask(ctx, NewTask{ProjectID: args[0], Title: "race", RequestID: in.Text()})
			if err != nil {
				return err
			}
			s, err := m.Start(ctx, StartRequest{TaskID: t.ID, Executor: "fake", Repos: []RepoTarget{{RepoID: args[1]}}, RequestID: in.Text()})
			if err != nil {
				return err
			}
			fmt.Println(t.ID, s.AttemptID, s.ProcessID)
		}
	case "flood": // creates tasks until it is killed
		for i := 0; ; i++ {
			t, err := m.CreateTask(ctx, NewTask{ProjectID: args[0], Title: "flood", RequestID: fmt.Sprint(os.Getpid(), "/", i)})
			if err != nil {
				return err
			}
			fmt.Println(t.ID)
		}
	}
	return nil
}

// spawn starts another process that reads lines from this one.
func spawn(t testing.TB, place string, job ...string) (*bufio.Scanner, *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_, out := startWith(t, read, place, job)
	read.Close()
	t.Cleanup(func() { write.Close() })
	return out, write
}

// start starts another process.
func start(t testing.TB, place string, job ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	return startWith(t, nil, place, job)
}

func startWith(t testing.TB, in *os.File, place string, job []string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(racetest.Program())
	cmd.Env = append(os.Environ(), "TASKS_TEST_CHILD="+strings.Join(append([]string{place}, job...), "\n"))
	cmd.Stderr = os.Stderr
	if in != nil {
		cmd.Stdin = in
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

// A request ID that an earlier version stored under the tool's name still finds its
// result.
func TestRequestIDsOutliveTheNamesOfTools(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		old := Schemas()
		files := fstest.MapFS{}
		names, err := fs.Glob(old[0].Migrations, "*.sql")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if name < "0007" {
				text, err := fs.ReadFile(old[0].Migrations, name)
				if err != nil {
					t.Fatal(err)
				}
				files[name] = &fstest.MapFile{Data: text}
			}
		}
		old[0].Migrations = files
		db, err := store.Open(t.Context(), place, old...)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(t.Context(), func(tx *store.Tx) error {
			for _, scope := range []string{"create_task", "start_task_attempt", "follow_up"} {
				if _, err := tx.Exec(t.Context(), "INSERT INTO once (scope, key, digest, result, created_at) VALUES (?, 'r1', 'd', '{}', 1)", scope); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		_, db = peerAndStore(t, place, Options{})
		err = db.View(t.Context(), func(tx *store.Tx) error {
			for _, scope := range []string{"task", "start", "follow-up"} {
				var n int
				if err := tx.QueryRow(t.Context(), "SELECT COUNT(*) FROM once WHERE scope = ? AND key = 'r1'", scope).Scan(&n); err != nil || n != 1 {
					t.Errorf("scope %s has %d requests, %v; want 1", scope, n, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
