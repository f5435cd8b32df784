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

// serverJob is what a server of these tests is to do.
type serverJob struct {
	Settings       settings
	Project, Repo  string
	Effects, Round string
}

// server starts attempts and follows them up, and says what it was promised.
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

// do makes a task, starts it and queues a message, each with a request id: it
// may be done again, by anybody.
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

// lines is what an agent does in these tests: it leaves an effect that must not
// come twice, writes lines, and has a child.
func lines(effects, name string) []string {
	return []string{
		"run echo " + name + " >> " + effects,
		"run sleep 30 >/dev/null 2>&1 & i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo line-$i; done; sleep 0.05; echo line-201; echo line-202; sleep 0.1",
		"write " + name + ".txt done",
	}
}

// tidyJob is what a process does that is killed while it takes folders away.
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

// heir looks for what was left behind, as any command does, and ends.
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

// rounds is how often each kind of process is killed: SURVIVE says, as in
// `make survive`, which takes some minutes.
func rounds(t *testing.T, usual int) int {
	if n, err := strconv.Atoi(os.Getenv("SURVIVE")); err == nil {
		return n
	}
	if testing.Short() {
		return 2
	}
	return usual
}
