package phrases

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// bench is a manager whose agents are this test binary, which it runs by itself.
type bench struct {
	*tasks.Manager
	t       *testing.T
	project string
	runs    sync.WaitGroup
	turn    sync.Mutex // a manager is one runner
	// held keeps agents from being run.
	held bool

	mu      sync.Mutex
	started []tasks.Started
}

func (b *bench) ProjectAt(ctx context.Context, dir string) (tasks.Project, tasks.Repo, error) {
	p, r, err := b.Manager.ProjectAt(ctx, dir)
	b.project = p.ID
	return p, r, err
}

func (b *bench) Start(ctx context.Context, r tasks.StartRequest) (tasks.Started, error) {
	s, err := b.Manager.Start(ctx, r)
	if err != nil {
		return s, err
	}
	b.mu.Lock()
	b.started = append(b.started, s)
	b.mu.Unlock()
	if !b.held {
		b.run()
	}
	return s, nil
}

// run runs the agents that are queued.
func (b *bench) run() {
	b.runs.Go(func() {
		b.turn.Lock()
		defer b.turn.Unlock()
		if err := b.Run(b.t.Context()); err != nil && b.t.Context().Err() == nil {
			b.t.Errorf("Run = %v", err)
		}
	})
}

// newBench is a bench and a repository that has nothing but a readme.
func newBench(t *testing.T) (*bench, string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT TESTED: there is no git")
	}
	repo := t.TempDir()
	put(t, filepath.Join(repo, "README.md"), "# Harbour\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-q", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = repo
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	agents, err := executor.New(map[string]executor.Config{"writer": {Kind: "shell", Command: []string{os.Args[0], scripted}}})
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), t.TempDir(), tasks.Schemas()...)
	if err != nil {
		t.Fatal(err)
	}
	m := tasks.New(db, tasks.Options{Dir: t.TempDir(), MaxRunning: -1, Agents: agents})
	b := &bench{Manager: m, t: t}
	t.Cleanup(func() { b.runs.Wait(); m.Close(); db.Close() })
	return b, repo
}

// states are the tasks of the project by title, with their status.
func (b *bench) states() map[string]tasks.Status {
	b.t.Helper()
	page, err := b.Tasks(b.t.Context(), tasks.TaskQuery{ProjectID: b.project})
	if err != nil {
		b.t.Fatal(err)
	}
	all := map[string]tasks.Status{}
	for _, t := range page.Tasks {
		all[strings.TrimPrefix(t.Title, taskTitle)] = t.Status
	}
	return all
}

func TestAgentsOfTheBenchWritePhrases(t *testing.T) {
	index, engine := harbour(t, map[string]string{"notes/README.md": "# Broken\n\nNobody can say anything of what is in this part.\n"})
	f := opened(t, filepath.Join(t.TempDir(), "phrases.jsonl"))
	p := planned(t, f, index, engine)
	for i := range p.Todo { // of which the agent fails
		if p.Todo[i].Folder() == "notes" {
			p.Todo[i].IDs[0] = "notes/README.md#broken"
		}
	}
	b, repo := newBench(t)
	report, err := WriteByAgents(t.Context(), f, p, Agents{Bench: b, Dir: repo, Executor: "writer"}, Options{Each: 2})
	if err != nil || report.Todo != 6 || report.Written != 4 || report.Refused != 4 || report.Usage.Requests != 4 {
		t.Errorf("%+v, %v", report, err)
	}
	var failed []string
	for _, f := range report.Failed {
		failed = append(failed, f.ChunkID+": "+f.Reason)
	}
	slices.Sort(failed)
	if len(failed) != 2 || !strings.HasPrefix(failed[0], "gear/pump.md#_preamble: the answer contains no phrases for it") || !strings.Contains(failed[1], "notes, 1 section") {
		t.Errorf("failed: %q", failed)
	}
	if want := (map[string]tasks.Status{"., 2 sections": tasks.Done, "gear, 2 sections": tasks.Done, "notes, 1 section": tasks.Cancelled, "v1, 1 section": tasks.Done}); !equal(b.states(), want) {
		t.Errorf("tasks %v, want %v", b.states(), want)
	}
	if l, _ := opened(t, f.Path()).get("tides.md#tides/gauge"); !slices.Equal(l.Phrases, []string{"what do I do about gauge"}) || l.Digest == "" {
		t.Errorf("the gauge has %+v", l)
	}
	if entries, err := os.ReadDir(repo); err != nil || len(entries) != 2 {
		t.Errorf("the repository has %v, %v; want the readme and .git alone", entries, err)
	}
}

func equal(a, b map[string]tasks.Status) bool {
	for title, status := range a {
		if b[title] != status {
			return false
		}
	}
	return len(a) == len(b)
}

// An interrupt leaves agents running; the next run waits for them and starts no
// others for their sections.
func TestTasksOfAnEarlierRunAreReadFirst(t *testing.T) {
	f, p, _ := desk(t)
	b, repo := newBench(t)
	b.held = true
	ctx, stop := context.WithCancel(t.Context())
	agents := Agents{Bench: b, Dir: repo, Executor: "writer", Concurrent: 9}
	done := make(chan error, 1)
	go func() {
		_, err := WriteByAgents(ctx, f, p.Some(4), agents, Options{Each: 2})
		done <- err
	}()
	waittest.Until(t, "all tasks", func() (bool, any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.started) == len(grouped(p.Some(4), nil)), len(b.started)
	})
	stop()
	if err := <-done; err == nil {
		t.Fatal("an interrupted run ended well")
	}
	earlier := len(b.started)
	b.held = false
	b.run()
	report, err := WriteByAgents(t.Context(), f, p, agents, Options{Each: 2})
	if err != nil || report.Written != 5 || len(report.Failed) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	texts := map[string]int{}
	page, err := b.Tasks(t.Context(), tasks.TaskQuery{ProjectID: b.project})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range page.Tasks {
		for line := range strings.Lines(task.Description) {
			if strings.HasPrefix(line, `{"chunk_id":"`) {
				texts[line]++
			}
		}
	}
	if len(texts) != 6 || len(b.started) <= earlier {
		t.Errorf("%d sections were given to %d agents, %d of them earlier", len(texts), len(b.started), earlier)
	}
	for line, n := range texts {
		if n > 1 {
			t.Errorf("%d agents were given %s", n, line)
		}
	}
}

func TestAgentsStopAtTheBudget(t *testing.T) {
	f, p, _ := desk(t)
	b, repo := newBench(t)
	report, err := WriteByAgents(t.Context(), f, p, Agents{Bench: b, Dir: repo, Executor: "writer"}, Options{Each: 2, MaxTokens: 700})
	if err != nil || report.Stopped == "" || report.Written == 0 || report.Usage.Requests == len(grouped(p, nil)) {
		t.Errorf("%+v, %v", report, err)
	}
	if _, err := WriteByAgents(t.Context(), f, p, Agents{Bench: b, Dir: t.TempDir(), Executor: "writer"}, Options{}); err == nil {
		t.Error("a folder without a repository was accepted")
	}
}

func TestATaskHasOnlySoMuch(t *testing.T) {
	var p Plan
	for i := range 2*perTask + 1 {
		p.Todo = append(p.Todo, Section{IDs: []string{"a/page.md#" + strings.Repeat("x", i+1)}, Digest: strings.Repeat("x", i+1), Text: strings.Repeat(`"quoted" `, 400)})
	}
	total := 0
	for _, g := range grouped(p, map[string]bool{"x": true}) {
		w := &working{writing: start(nil, Options{}, 0)}
		if n := len(w.task(g)); len(g) > perTask || n > 90_000 {
			t.Errorf("a task has %d sections and %d bytes", len(g), n)
		}
		total += len(g)
	}
	if total != 2*perTask {
		t.Errorf("%d sections in tasks, want all but the one that is taken", total)
	}
}
