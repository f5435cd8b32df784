package tasks_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	. "github.com/deskhand/deskhand/runtime/tasks"
)

// TestTheLatestAttemptIsTheNewest: T-040, T-041, T-044, T-051, T-052, T-058,
// T-088, on both databases.
func TestTheLatestAttemptIsTheNewest(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		ctx := t.Context()
		dir := t.TempDir()
		m, db := peerAndStore(t, place, Options{MaxRunning: -1, Dir: dir})
		p, _ := project(t, m, Repo{})
		made := task(t, m, p.ID, "many")
		host := ""
		if store.IsPostgres(db.Place()) {
			id, err := os.ReadFile(filepath.Join(dir, "host-id"))
			if err != nil {
				t.Fatal(err)
			}
			host = strings.TrimSpace(string(id))
		}
		at := time.Now().Add(time.Hour).UnixMilli()
		ids := []string{uuid.Must(uuid.NewV7()).String(), uuid.Must(uuid.NewV7()).String(), uuid.Must(uuid.NewV7()).String()}
		for i, created := range []int64{at, at + 5, at + 5} {
			insert(t, db, "attempts", "id, task_id, branch, dir, host, removed, repos, created_at, updated_at",
				[][]any{{ids[i], made.ID, "b", "/nowhere/" + ids[i], host, 0, "[]", created, created}})
		}
		session := func(attempt string, created int64) string {
			id := uuid.Must(uuid.NewV7()).String()
			insert(t, db, "sessions", "id, attempt_id, executor, variant, agent_session, created_at, updated_at",
				[][]any{{id, attempt, "fake", "", "", created, created}})
			return id
		}
		session(ids[0], at)
		list, err := m.Attempts(ctx, made.ID)
		if err != nil || len(list) != 3 || list[0].ID != ids[1] || list[1].ID != ids[2] || list[2].ID != ids[0] {
			t.Fatalf("Attempts = %+v, %v; want newest first, and of one time the smaller id", list, err)
		}
		if list[0].SessionID != "" || list[2].SessionID == "" {
			t.Errorf("Attempts = %+v, want a session for the oldest alone", list)
		}
		page, err := m.Tasks(ctx, TaskQuery{ProjectID: p.ID})
		if err != nil || page.Tasks[0].AttemptID != ids[1] || page.Tasks[0].SessionID != "" {
			t.Errorf("Tasks = %+v, %v; want the latest attempt %s, without a session", page.Tasks, err, ids[1])
		}
		if s, err := m.Status(ctx, ids[1]); err != nil || s.State != Idle || s.SessionID != "" || s.ProcessID != "" || !s.Active.IsZero() || s.Failure != "" {
			t.Errorf("Status of an attempt with nothing = %+v, %v", s, err)
		}
		session(ids[1], at+10)
		latest := session(ids[1], at+20)
		f, err := m.FollowUp(ctx, FollowUpRequest{Action: Queue, AttemptID: ids[1], Prompt: "go on"})
		if err != nil || f.SessionID != latest {
			t.Errorf("FollowUp by attempt = %+v, %v; want session %s", f, err, latest)
		}
		page, err = m.Tasks(ctx, TaskQuery{ProjectID: p.ID})
		if err != nil || page.Tasks[0].SessionID != latest || page.Tasks[0].Executor != "fake" || !page.Tasks[0].InProgress {
			t.Errorf("Tasks = %+v, %v; want session %s in progress", page.Tasks, err, latest)
		}
		// The clock was set back an hour. New records are still the newest.
		r, err := m.Repos(ctx, p.ID)
		if err != nil {
			t.Fatal(err)
		}
		started, err := m.Start(ctx, StartRequest{TaskID: made.ID, Executor: "fake", Repos: []RepoTarget{{RepoID: r[0].ID}}})
		if err != nil {
			t.Fatal(err)
		}
		if list, err := m.Attempts(ctx, made.ID); err != nil || list[0].ID != started.AttemptID {
			t.Errorf("Attempts = %+v, %v; want the one that was just started first", list, err)
		}
	})
}

// TestAttemptsRunOverPostgreSQL runs one attempt from start to end, and one whose
// runner dies.
func TestAttemptsRunOverPostgreSQL(t *testing.T) {
	d := openAt(t, storetest.Postgres(t), Repo{Cleanup: "echo clean > clean.txt"}, settings{Lease: 4 * time.Second})
	started := d.start("say hello", "write a.txt x", "sleep 0.3")
	d.until(started.AttemptID, "began", func(s AttemptStatus) bool { return s.SessionID != "" })
	if _, err := d.FollowUp(t.Context(), FollowUpRequest{Action: Queue, AttemptID: started.AttemptID, Prompt: "write b.txt y"}); err != nil {
		t.Fatal(err)
	}
	s := d.until(started.AttemptID, "ended", func(s AttemptStatus) bool { return s.State != Running })
	if got := d.changes(started.AttemptID); s.State != Completed || len(got) != 3 {
		t.Errorf("Status = %+v, changed %q; want a, b and clean\n%s", s, got, d.said())
	}
	hung := d.start("hang")
	d.until(hung.AttemptID, "began", func(s AttemptStatus) bool { return s.SessionID != "" })
	if stopped, err := d.Stop(context.Background(), hung.AttemptID, true); err != nil || stopped.State != Failed {
		t.Errorf("Stop = %+v, %v", stopped, err)
	}
	if err := d.DeleteTask(t.Context(), hung.TaskID); err != nil {
		t.Errorf("DeleteTask = %v", err)
	}
}

func TestEventsTellWhatHappens(t *testing.T) {
	d := open(t, Repo{}, settings{})
	w, err := d.Watch(t.Context(), -1, "")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	started := d.start("say x")
	want := []EventType{TaskCreated, AttemptStarted, ProcessQueued, TaskUpdated, ProcessStarted, SessionStarted, ProcessEnded, TaskUpdated}
	for len(want) > 0 {
		events, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if len(want) == 0 || e.Type != want[0] {
				t.Fatalf("event %+v came, want %v", e, want)
			}
			want = want[1:]
			if e.TaskID != started.TaskID || e.Type == ProcessEnded && (e.State != Completed || e.ProcessID != started.ProcessID) {
				t.Errorf("event %+v is not of task %s", e, started.TaskID)
			}
		}
	}
}
