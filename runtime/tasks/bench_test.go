package tasks_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/deskhand/deskhand/runtime/store"
	. "github.com/deskhand/deskhand/runtime/tasks"
)

// insert writes many rows with few statements.
func insert(b testing.TB, db *store.DB, table, columns string, rows [][]any) {
	b.Helper()
	err := db.UpdateFast(context.Background(), func(tx *store.Tx) error {
		n := len(strings.Split(columns, ","))
		one := "(" + strings.TrimSuffix(strings.Repeat("?, ", n), ", ") + ")"
		for len(rows) > 0 {
			k := min(len(rows), 200)
			var args []any
			for _, r := range rows[:k] {
				args = append(args, r...)
			}
			values := strings.TrimSuffix(strings.Repeat(one+", ", k), ", ")
			if _, err := tx.Exec(context.Background(), "INSERT INTO "+table+" ("+columns+") VALUES "+values, args...); err != nil {
				return err
			}
			rows = rows[k:]
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// fill creates tasks with the given number of attempts each, and a session and the
// given number of processes for every attempt.
func fill(b testing.TB, db *store.DB, projectID string, tasks, attempts, each int) {
	b.Helper()
	id := func() string { return uuid.Must(uuid.NewV7()).String() }
	start := time.Now().Add(-24 * time.Hour).UnixMilli()
	var taskRows, attemptRows, sessionRows, processRows [][]any
	for i := range tasks {
		task, at := id(), start+int64(i)
		taskRows = append(taskRows, []any{task, projectID, fmt.Sprintf("task %d", i), "what is to be done", Statuses[i%5], at, at})
		for range attempts {
			attempt, session := id(), id()
			attemptRows = append(attemptRows, []any{attempt, task, "deskhand/x", "/nowhere/" + attempt, "", 1, "[]", at, at})
			sessionRows = append(sessionRows, []any{session, attempt, "fake", "", "", at, at})
			for p := range each {
				processRows = append(processRows, []any{id(), attempt, task, session, int64(i*100 + p), Agent, Completed, "fake", "", "do it", 0, "",
					0, 0, 0, at, at, at, at, "", at, "", 0, 0, "", 0, "", "", ""})
			}
		}
	}
	insert(b, db, "tasks", "id, project_id, title, description, status, created_at, updated_at", taskRows)
	insert(b, db, "attempts", "id, task_id, branch, dir, host, removed, repos, created_at, updated_at", attemptRows)
	insert(b, db, "sessions", "id, attempt_id, executor, variant, agent_session, created_at, updated_at", sessionRows)
	insert(b, db, "processes", `id, attempt_id, task_id, session_id, ordinal, reason, state, executor, variant, prompt, exit_code, failure,
		tokens_in, tokens_out, cost, created_at, started_at, completed_at, updated_at,
		host, launched_at, owner, lease_until, runner_pid, runner_born, agent_pid, agent_born, stop, token`, processRows)
}

// BenchmarkTasks lists 100 of 100,000 tasks with their attempts. The promise is less
// than 5 ms.
func BenchmarkTasks(b *testing.B) {
	m, db := peerAndStore(b, b.TempDir(), Options{})
	p, _ := project(b, m, Repo{})
	fill(b, db, p.ID, 100_000, 1, 1)
	for name, q := range map[string]TaskQuery{
		"newest": {}, "status": {Status: InReview},
	} {
		q.ProjectID, q.Limit = p.ID, 100
		second, err := m.Tasks(b.Context(), q)
		if err != nil || len(second.Tasks) != 100 || second.Tasks[0].AttemptID == "" || second.Tasks[0].Executor != "fake" {
			b.Fatalf("Tasks = %d, %v; want 100 with attempts", len(second.Tasks), err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := m.Tasks(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
		if q.Cursor = second.Next; q.Cursor != "" {
			b.Run(name+"-next", func(b *testing.B) {
				for b.Loop() {
					if _, err := m.Tasks(b.Context(), q); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// Benchmark100Attempts measures the time until 100 attempts have run that were started
// together, each with its own worktree, a file and a commit.
func Benchmark100Attempts(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		d := open(b, Repo{}, settings{MaxRunning: 100})
		b.StartTimer()
		since := time.Now()
		var all []Started
		for range 100 {
			all = append(all, d.start("say hello", "write a.txt x", "sleep 1"))
		}
		b.ReportMetric(time.Since(since).Seconds(), "s-to-start")
		for _, a := range all {
			if s := d.ended(a.AttemptID); s.State != Completed {
				b.Fatalf("Status = %+v\n%s", s, d.said())
			}
		}
	}
}

// BenchmarkSpam measures how many entries per second an agent gets into its logs, in
// both channels together, from its start to the end of the attempt.
func BenchmarkSpam(b *testing.B) {
	const entries = 100_000
	d := open(b, Repo{}, settings{})
	for b.Loop() {
		since := time.Now()
		started := d.start(fmt.Sprint("spam ", entries))
		if s := d.ended(started.AttemptID); s.State != Completed {
			b.Fatalf("Status = %+v\n%s", s, d.said())
		}
		b.ReportMetric(2*entries/time.Since(since).Seconds(), "entries/s")
	}
}

// BenchmarkLogPage reads the last 50 of 1,000,000 entries. The promise is less than 2
// ms.
func BenchmarkLogPage(b *testing.B) {
	d := open(b, Repo{}, settings{})
	started := d.start("say x")
	d.ended(started.AttemptID)
	var log int64
	err := d.db.View(b.Context(), func(tx *store.Tx) error {
		return tx.QueryRow(b.Context(), "SELECT id FROM logs WHERE process_id = ? AND channel = 'normalized'", started.ProcessID).Scan(&log)
	})
	if err != nil {
		b.Fatal(err)
	}
	var rows [][]any
	for i := range 1_000_000 {
		rows = append(rows, []any{log, i + 10, i + 10, 100, `{"type":"NORMALIZED_ENTRY","content":{"timestamp":"2026-01-01T00:00:00Z","entry_type":{"type":"assistant_message"},"content":"line"}}`})
		if len(rows) == 50_000 {
			insert(b, d.db, "log_entries", "log_id, entry_index, revision, size, entry", rows)
			rows = nil
		}
	}
	for name, q := range map[string]LogQuery{"newest": {}, "older": {Before: pointer(int64(500_000))}, "newer": {After: pointer(int64(500_000))}} {
		q.AttemptID, q.Limit = started.AttemptID, 50
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if page, err := d.Logs(b.Context(), q); err != nil || len(page.Entries) != 50 {
					b.Fatalf("Logs = %d, %v", len(page.Entries), err)
				}
			}
		})
	}
}
