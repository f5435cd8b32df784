package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	. "github.com/deskhand/deskhand/runtime/tasks"
)

// serverJob describes the work of a server in these tests.
type serverJob struct {
	Settings       settings
	Project, Repo  string
	Effects, Round string
}

// server starts attempts, sends follow-ups, and prints the results of its calls.
func server(ctx context.Context, db *store.DB, place, args string) error {
	var job serverJob
	if err := json.Unmarshal([]byte(args), &job); err != nil {
		return err
	}
	m := New(db, job.Settings.options(place))
	defer m.Close()
	for i := range 3 {
		name := fmt.Sprintf("%s-%d", job.Round, i)
		attempt, err := job.do(ctx, m, name)
		if err != nil {
			return err
		}
		fmt.Println(name, attempt)
	}
	fmt.Println("done")
	<-ctx.Done() // until it is killed
	return nil
}

// do creates a task, starts it and queues a message, each with a request ID. Any
// process may repeat it.
func (job serverJob) do(ctx context.Context, m *Manager, name string) (attemptID string, err error) {
	t, err := m.CreateTask(ctx, NewTask{ProjectID: job.Project, Title: name, RequestID: "task-" + name})
	if err != nil {
		return "", err
	}
	started, err := m.Start(ctx, StartRequest{TaskID: t.ID, Executor: "fake", Prompt: strings.Join(lines(job.Effects, "start-"+name), "\n"),
		Repos: []RepoTarget{{RepoID: job.Repo}}, RequestID: "start-" + name})
	if err != nil {
		return "", err
	}
	for {
		_, err := m.FollowUp(ctx, FollowUpRequest{Action: Queue, AttemptID: started.AttemptID, Prompt: strings.Join(lines(job.Effects, "queue-"+name), "\n"),
			RequestID: "queue-" + name})
		if code(err) != NoSession {
			return started.AttemptID, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// lines returns an agent's script in these tests: it leaves an effect that must not
// happen twice, writes lines, and starts a child process.
func lines(effects, name string) []string {
	return []string{
		"run echo " + name + " >> " + effects,
		"run sleep 30 >/dev/null 2>&1 & i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo line-$i; done; sleep 0.05; echo line-201; echo line-202; sleep 0.1",
		"write " + name + ".txt done",
	}
}

// tidyJob is the job of a process that is killed while it removes folders.
type tidyJob struct {
	Settings      settings
	Attempt, Task string
}

func tidyUp(ctx context.Context, db *store.DB, place, data string) error {
	var job tidyJob
	if err := json.Unmarshal([]byte(data), &job); err != nil {
		return err
	}
	m := New(db, job.Settings.options(place))
	defer m.Close()
	fmt.Println("begins")
	if _, err := m.GC(ctx, GC{AttemptID: job.Attempt}); err != nil {
		return err
	}
	if err := m.DeleteTask(ctx, job.Task); err != nil && fault.Of(err) == nil {
		return err
	}
	fmt.Println("done")
	return nil
}

// heir cleans up what was left behind, as any command does, and exits.
func heir(_ context.Context, db *store.DB, place, data string) error {
	var s settings
	if err := json.Unmarshal([]byte(data), &s); err != nil {
		return err
	}
	fmt.Println("begins")
	m := New(db, s.options(place))
	fmt.Println("done")
	m.Close()
	return nil
}

// rounds returns how often each kind of process is killed. SURVIVE sets it, for example
// in `make survive`, which takes some minutes.
func rounds(t *testing.T, usual int) int {
	if n, err := strconv.Atoi(os.Getenv("SURVIVE")); err == nil {
		return n
	}
	if testing.Short() {
		return 2
	}
	return usual
}
