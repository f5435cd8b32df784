package tasks_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/racetest"
	"github.com/deskhand/deskhand/runtime/store"
	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/usage"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// desk is a manager with a project. Its runners are this test binary.
type desk struct {
	*Manager
	db      *store.DB
	options Options
	place   string
	project Project
	repo    Repo
	t       testing.TB
}

// settings holds the options of a test, and the settings for its runners.
type settings struct {
	Dir        string
	MaxRunning int
	Lease      time.Duration
	Silence    time.Duration
	WallClock  time.Duration
	MaxOutput  int64
	Env        []string
	Config     Configuration
	Answer     string // path of a file with the answer to every question of an agent; empty if no person is available
	Elsewhere  string // address of the remote agent, over A2A; empty if there is none
	Sandbox    box.Mode
	Write      []string // additional paths that agents may write
	Prices     map[string]string
	Budgets    []string
	Of         map[string]int // slots of single executors
	Executors  []string       // additional fake executors
	Agents     map[string]executor.Config
	Serves     bool // agents get tools at an address that names the person
}

func (s settings) options(place string) Options {
	job, _ := json.Marshal(s)
	prices, err := usage.NewTable(s.Prices)
	if err != nil {
		panic(err)
	}
	budgets, err := ParseBudgets(s.Budgets)
	if err != nil {
		panic(err)
	}
	configs := map[string]executor.Config{"far": {Kind: "a2a", URL: s.Elsewhere, Disabled: s.Elsewhere == ""}}
	for _, id := range s.Executors {
		configs[id] = executor.Config{Kind: "fake"}
	}
	maps.Copy(configs, s.Agents)
	agents, err := executor.New(configs)
	if err != nil {
		panic(err)
	}
	o := Options{Agents: agents, Config: s.Config, Dir: s.Dir, MaxRunning: s.MaxRunning, Lease: s.Lease, Silence: s.Silence, WallClock: s.WallClock, MaxOutput: s.MaxOutput, Env: s.Env,
		Prices: prices, Budgets: budgets, MaxRunningOf: s.Of, Sandbox: s.Sandbox, SandboxWrite: s.Write,
		Runner: []string{racetest.Program(), "runner"}, Origin: inherited, RunnerEnv: []string{"TASKS_TEST_CHILD=" + place + "\nrunner\n" + string(job)}}
	if s.Serves {
		o.Serve = func(_ context.Context, _ Attempt, p Process) (string, string, func(), error) {
			return "http://127.0.0.1:9/for-" + p.Person, rand.Text(), func() {}, nil
		}
	}
	if s.Answer != "" {
		o.Ask = func(ctx context.Context, _ Attempt, _ Process, q executor.Question) (executor.Answer, error) {
			for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
				if text, err := os.ReadFile(s.Answer); err == nil {
					return executor.Answer{Outcome: "accept", Option: strings.TrimSpace(string(text))}, nil
				}
			}
			return executor.Answer{}, ctx.Err()
		}
	}
	return o
}

// runner runs a runner process in these tests.
func runner(ctx context.Context, db *store.DB, place string, args []string) error {
	var s settings
	if err := json.Unmarshal([]byte(args[0]), &s); err != nil {
		return err
	}
	m := New(db, s.options(place))
	defer m.Close()
	return m.Run(ctx)
}

func open(t testing.TB, r Repo, s settings) *desk {
	t.Helper()
	return openAt(t, t.TempDir(), r, s)
}

func openAt(t testing.TB, place string, r Repo, s settings) *desk {
	t.Helper()
	if s.Dir == "" {
		s.Dir = t.TempDir()
	}
	if s.MaxRunning == 0 {
		s.MaxRunning = 50
	}
	d := &desk{options: s.options(place), place: place, t: t}
	t.Cleanup(d.gone)
	d.Manager, d.db = peerAndStore(t, place, d.options)
	d.project, d.repo = project(t, d.Manager, r)
	t.Cleanup(d.quiet)
	return d
}

// quiet stops everything that is still running, so that a test leaves nothing behind.
func (d *desk) quiet() {
	page, err := d.Tasks(context.Background(), TaskQuery{ProjectID: d.project.ID, Page: Page{Limit: 500}})
	if err != nil {
		d.t.Error(err)
	}
	for _, found := range page.Tasks {
		attempts, err := d.Attempts(context.Background(), found.ID)
		if err != nil {
			d.t.Error(err)
		}
		for _, a := range attempts {
			if _, err := d.Stop(context.Background(), a.ID, true); err != nil {
				d.t.Errorf("Stop(%s) = %v", a.ID, err)
			}
		}
	}
}

// gone waits for the ends of runners that were stopped. One that is only just
// starting still writes to the test's folders, which could not be removed then.
func (d *desk) gone() {
	for since := time.Now(); time.Since(since) < 10*time.Second && len(d.runners()) > 0; time.Sleep(20 * time.Millisecond) {
	}
}

// runners returns the runners of this desk's folder, whether or not they hold a lease.
// Elsewhere than on Linux, there is nothing to see.
func (d *desk) runners() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		home, _ := os.Readlink("/proc/" + e.Name() + "/cwd")
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if pid, e := strconv.Atoi(e.Name()); e == nil && err == nil && home == d.options.Dir && bytes.HasSuffix(line, []byte("\x00runner\x00")) && !bytes.Contains(stat, []byte(") Z ")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// start starts an attempt whose agent executes the lines of the script.
func (d *desk) start(script ...string) Started {
	d.t.Helper()
	made := task(d.t, d.Manager, d.project.ID, "Do it well")
	started, err := d.Start(context.Background(), d.request(made.ID, script...))
	if err != nil {
		d.t.Fatalf("Start = %v", err)
	}
	return started
}

func (d *desk) request(taskID string, script ...string) StartRequest {
	return StartRequest{TaskID: taskID, Executor: "fake", Prompt: strings.Join(script, "\n"), Repos: []RepoTarget{{RepoID: d.repo.ID}}}
}

// until waits until ok returns true for an attempt.
func (d *desk) until(attemptID, what string, ok func(AttemptStatus) bool) AttemptStatus {
	d.t.Helper()
	var s AttemptStatus
	waittest.Until(d.t, "the attempt "+what, func() (bool, any) {
		var err error
		if s, err = d.Status(context.Background(), attemptID); err != nil {
			d.t.Fatalf("Status(%s) = %v", attemptID, err)
		}
		if ok(s) {
			return true, nil
		}
		return false, fmt.Sprintf("%+v\n%s", s, d.said())
	})
	return s
}

func (d *desk) ended(attemptID string) AttemptStatus {
	d.t.Helper()
	return d.until(attemptID, "ended", func(s AttemptStatus) bool { return s.State == Completed || s.State == Failed })
}

// said returns the output of the runners, which should be empty.
func (d *desk) said() string {
	out, _ := os.ReadFile(filepath.Join(d.options.Dir, "runner.log"))
	return string(out)
}

// entries returns the texts of a log.
func (d *desk) entries(attemptID string, c Channel) (texts []string) {
	d.t.Helper()
	page, err := d.Logs(context.Background(), LogQuery{AttemptID: attemptID, Channel: c, Limit: 1000})
	if err != nil {
		d.t.Fatalf("Logs(%s) = %v", attemptID, err)
	}
	for _, e := range page.Entries {
		var line struct {
			Type    string
			Content json.RawMessage
		}
		var entry logs.Entry
		var text string
		if json.Unmarshal(e.Entry, &line) == nil && json.Unmarshal(line.Content, &text) != nil && json.Unmarshal(line.Content, &entry) == nil {
			text = entry.Content
		}
		texts = append(texts, text)
	}
	return texts
}

func (d *desk) changes(attemptID string) (paths []string) {
	d.t.Helper()
	changes, err := d.Changes(context.Background(), attemptID, false)
	if err != nil || changes.Blocked.Reason != "" {
		d.t.Fatalf("Changes = %+v, %v", changes, err)
	}
	for _, f := range changes.Files {
		paths = append(paths, f.Path)
	}
	return paths
}

// TestAnAttemptRunsAndIsCommitted: T-023, T-034 to T-038, T-042, T-046 to T-054, T-079 to T-090, T-164.
func TestAnAttemptRunsAndIsCommitted(t *testing.T) {
	d := open(t, Repo{}, settings{})
	ctx := t.Context()
	started := d.start("say hello", "write notes/a.txt some text", "sleep 0.3")
	running := d.until(started.AttemptID, "ran", func(s AttemptStatus) bool { return s.State == Running && s.SessionID != "" })
	if running.ProcessID != started.ProcessID || running.Executor != "fake" || running.Active.IsZero() || running.Failure != "" {
		t.Errorf("Status while it runs = %+v", running)
	}
	page, err := d.Tasks(ctx, TaskQuery{ProjectID: d.project.ID})
	if err != nil || len(page.Tasks) != 1 {
		t.Fatalf("Tasks = %+v, %v", page, err)
	}
	if s := page.Tasks[0]; s.AttemptID != started.AttemptID || s.Branch != started.Branch || s.SessionID != running.SessionID ||
		s.Executor != "fake" || !s.InProgress || s.LastFailed || s.Status != InProgress {
		t.Errorf("the task while it runs = %+v", s)
	}
	s := d.ended(started.AttemptID)
	if s.State != Completed || s.Failure != "" || s.SessionID != running.SessionID {
		t.Errorf("Status at the end = %+v\n%s", s, d.said())
	}
	if got, want := d.changes(started.AttemptID), []string{d.repo.Name + "/notes/a.txt"}; !slices.Equal(got, want) {
		t.Errorf("Changes = %q, want %q", got, want)
	}
	if got := git(t, d.repo.Path, "show", started.Branch+":notes/a.txt"); got != "some text" {
		t.Errorf("on the branch notes/a.txt is %q", got)
	}
	if got := d.entries(started.AttemptID, Raw); !slices.Contains(got, "hello") {
		t.Errorf("the raw log = %q, want hello in it", got)
	}
	read, err := d.Task(ctx, started.TaskID)
	if err != nil || read.Status != InReview {
		t.Errorf("the task at the end = %+v, %v; want it in review", read, err)
	}
	turns, err := d.Messages(ctx, MessageQuery{AttemptID: started.AttemptID})
	if err != nil || len(turns.Turns) != 1 || !strings.HasPrefix(turns.Turns[0].Prompt, "say hello") || turns.Turns[0].Summary == "" || turns.More {
		t.Errorf("Messages = %+v, %v; want one turn with prompt and summary", turns, err)
	}
	if locked := git(t, d.repo.Path, "worktree", "list", "--porcelain"); strings.Contains(locked, "locked") {
		t.Errorf("a worktree is still locked:\n%s", locked)
	}
	list, err := d.Attempts(ctx, started.TaskID)
	if err != nil || len(list) != 1 || list[0].SessionID != s.SessionID || list[0].Updated.Before(list[0].Created) {
		t.Errorf("Attempts = %+v, %v", list, err)
	}
	if id, err := d.AttemptAt(ctx, filepath.Join(s.Dir, d.repo.Name, "notes")); err != nil || id != started.AttemptID {
		t.Errorf("AttemptAt a folder of the worktree = %q, %v", id, err)
	}
}

// TestAFailureIsTold: T-039, T-091, T-092, and launch errors.
func TestAFailureIsTold(t *testing.T) {
	d := open(t, Repo{}, settings{})
	for _, c := range []struct{ name, line, want string }{
		{"an exit code", "fail no such thing", "no such thing"},
		{"a crash", "crash", "failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			started := d.start("write half.txt done", c.line)
			s := d.ended(started.AttemptID)
			if s.State != Failed || !strings.Contains(s.Failure, c.want) {
				t.Errorf("Status = %+v, want failed with %q", s, c.want)
			}
			page, err := d.Tasks(t.Context(), TaskQuery{ProjectID: d.project.ID, Page: Page{Limit: 1}})
			if err != nil || !page.Tasks[0].LastFailed || page.Tasks[0].InProgress {
				t.Errorf("the task = %+v, %v; want the last attempt failed", page.Tasks, err)
			}
			if got := d.changes(started.AttemptID); len(got) != 1 {
				t.Errorf("what was done before = %q, want half.txt", got)
			}
		})
	}
}

// TestScriptsComeBeforeAndAfter: setup, agent and cleanup, and no session before the
// agent: T-054, T-070, T-181.
func TestScriptsComeBeforeAndAfter(t *testing.T) {
	path := gitRepo(t)
	write(t, filepath.Join(path, ".env"), "KEY=1\n")
	git(t, path, "config", "core.excludesFile", filepath.Join(path, "ignored"))
	write(t, filepath.Join(path, "ignored"), ".env\nignored\nsetup.log\n")
	d := open(t, Repo{Path: path, Setup: "cat .env > setup.log; sleep 0.5", Cleanup: "echo cleaned > cleaned.txt", CopyFiles: []string{".env"}}, settings{})
	started := d.start("run cat setup.log", "write a.txt x")
	_, err := d.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: started.AttemptID, Prompt: "say more"})
	refused(t, "FollowUp before the agent has started", err, NoSession)
	s := d.until(started.AttemptID, "ended", func(s AttemptStatus) bool {
		return s.State != Running
	})
	if s.State != Completed {
		t.Errorf("Status = %+v\n%s", s, d.said())
	}
	processes, err := d.Processes(t.Context(), started.AttemptID)
	var reasons []Reason
	for _, p := range processes {
		reasons = append(reasons, p.Reason)
	}
	if want := []Reason{Setup, Agent, Cleanup}; err != nil || !slices.Equal(reasons, want) || processes[0].ID != started.ProcessID {
		t.Errorf("Processes = %v, %v; want %v", reasons, err, want)
	}
	if got := git(t, d.repo.Path, "ls-tree", "--name-only", started.Branch); got != "README.md\na.txt\ncleaned.txt" {
		t.Errorf("the branch has %q", got)
	}

	// Nothing has changed, so no cleanup runs. A setup that fails ends the run.
	d.repo.Setup = "echo broken >&2; exit 3"
	if _, d.repo, err = d.AddRepo(t.Context(), "desk", d.repo); err != nil {
		t.Fatal(err)
	}
	broken := d.start("say never")
	if s := d.ended(broken.AttemptID); s.Failure != "failed (exit_code=3): broken" || s.SessionID != "" {
		t.Errorf("Status after a setup that failed = %+v", s)
	}
	_, err = d.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: broken.AttemptID, Prompt: "say more"})
	refused(t, "FollowUp of an attempt whose agent never started", err, NoSession)
	if f := fault.Of(err); f != nil && (f.Retryable || f.Case != NoSessionEver || f.Values["attempt"] == "") {
		t.Errorf("FollowUp of it = %+v, want the case of an attempt that never has a session", f)
	}
	d.repo.Setup = ""
	if _, d.repo, err = d.AddRepo(t.Context(), "desk", d.repo); err != nil {
		t.Fatal(err)
	}
	idle := d.start("say nothing changes")
	d.ended(idle.AttemptID)
	if processes, err := d.Processes(t.Context(), idle.AttemptID); err != nil || len(processes) != 1 {
		t.Errorf("Processes of a run without changes = %+v, %v; want the agent alone", processes, err)
	}
}

// TestFollowUpsRunOneAfterTheOther: T-063 to T-069, T-189, T-190.
func TestFollowUpsRunOneAfterTheOther(t *testing.T) {
	d := open(t, Repo{}, settings{})
	ctx := t.Context()
	started := d.start("sleep 0.5", "say one")
	first := d.until(started.AttemptID, "began", func(s AttemptStatus) bool { return s.SessionID != "" })
	_, err := d.FollowUp(ctx, FollowUpRequest{Action: Send, AttemptID: started.AttemptID, Prompt: "say two"})
	refused(t, "FollowUp send while it runs", err, AttemptRunning)
	queue := func(prompt, id string) FollowUp {
		t.Helper()
		f, err := d.FollowUp(ctx, FollowUpRequest{Action: Queue, SessionID: first.SessionID, Prompt: prompt, RequestID: id})
		if err != nil || f.Status != "queued" || f.SessionID != first.SessionID {
			t.Fatalf("FollowUp queue = %+v, %v", f, err)
		}
		return f
	}
	queue("say dropped", "")
	if f, err := d.FollowUp(ctx, FollowUpRequest{Action: Cancel, SessionID: first.SessionID}); err != nil || f.Status != "empty" {
		t.Errorf("FollowUp cancel = %+v, %v", f, err)
	}
	queue("say replaced", "")
	queue("write two.txt 2", "q1")
	d.until(started.AttemptID, "went on", func(s AttemptStatus) bool { return s.ProcessID != first.ProcessID })
	queue("write two.txt 2", "q1") // a retry after the message was taken
	s := d.ended(started.AttemptID)
	if s.State != Completed || s.Queued != nil {
		t.Errorf("Status = %+v\n%s", s, d.said())
	}
	send := FollowUpRequest{Action: Send, AttemptID: started.AttemptID, Prompt: "say three", RequestID: "s1"}
	f, err := d.FollowUp(ctx, send)
	if err != nil || f.Status != "started" || f.ProcessID == "" {
		t.Fatalf("FollowUp send = %+v, %v", f, err)
	}
	if again, err := d.FollowUp(ctx, send); err != nil || again != f {
		t.Errorf("FollowUp send again = %+v, %v; want %+v", again, err, f)
	}
	d.ended(started.AttemptID)
	idle, err := d.FollowUp(ctx, FollowUpRequest{Action: Queue, AttemptID: started.AttemptID, Prompt: "say four"})
	if err != nil || idle.Status != "queued" || idle.ProcessID == "" {
		t.Errorf("FollowUp queue with nothing running = %+v, %v; want queued, and a process", idle, err)
	}
	d.ended(started.AttemptID)
	turns, err := d.Messages(ctx, MessageQuery{SessionID: first.SessionID})
	var prompts []string
	for _, turn := range turns.Turns {
		prompts = append(prompts, turn.Prompt)
	}
	if want := []string{"sleep 0.5\nsay one", "write two.txt 2", "say three", "say four"}; err != nil || !slices.Equal(prompts, want) {
		t.Errorf("the prompts were %q, %v; want %q", prompts, err, want)
	}
	page, err := d.Messages(ctx, MessageQuery{SessionID: first.SessionID, Limit: 3})
	if err != nil || len(page.Turns) != 3 || !page.More || page.Next == nil {
		t.Fatalf("Messages = %+v, %v", page, err)
	}
	if rest, err := d.Messages(ctx, MessageQuery{SessionID: first.SessionID, Before: page.Next}); err != nil || len(rest.Turns) != 1 || rest.More || rest.Next != nil {
		t.Errorf("Messages before = %+v, %v; want the first turn", rest, err)
	}
	if newer, err := d.Messages(ctx, MessageQuery{SessionID: first.SessionID, After: pointer(int64(1)), Limit: 1}); err != nil || len(newer.Turns) != 1 || newer.Turns[0].Index != 2 || !newer.More {
		t.Errorf("Messages after = %+v, %v; want turn 2", newer, err)
	}
	_, err = d.Messages(ctx, MessageQuery{SessionID: first.SessionID, After: pointer(int64(1)), Before: pointer(int64(2))})
	refused(t, "Messages before and after", err, MixedPagination)
	_, err = d.Messages(ctx, MessageQuery{SessionID: first.SessionID, AttemptID: started.AttemptID})
	refused(t, "Messages of both", err, AmbiguousTarget)
}

// TestStopEndsTheAgentAndItsChildren: T-153, T-154, T-156, T-157.
func TestStopEndsTheAgentAndItsChildren(t *testing.T) {
	d := open(t, Repo{}, settings{})
	for _, force := range []bool{false, true} {
		started := d.start("run trap '' INT TERM; echo $$ > pids; sleep 1000 & echo $! >> pids; wait")
		pids := ""
		d.until(started.AttemptID, "began", func(s AttemptStatus) bool {
			out, _ := os.ReadFile(filepath.Join(s.Dir, d.repo.Name, "pids"))
			pids = strings.TrimSpace(string(out))
			return strings.Count(pids, "\n") == 1 && s.SessionID != ""
		})
		if force {
			f, err := d.FollowUp(t.Context(), FollowUpRequest{Action: Queue, AttemptID: started.AttemptID, Prompt: "say never"})
			if err != nil || f.Status != "queued" {
				t.Fatalf("FollowUp = %+v, %v", f, err)
			}
		}
		since := time.Now()
		stopped, err := d.Stop(t.Context(), started.AttemptID, force)
		if err != nil || !stopped.Stopped || stopped.State != Failed || stopped.Force != force {
			t.Errorf("Stop(force=%v) = %+v, %v", force, stopped, err)
		}
		if took := time.Since(since); force && took > 7*time.Second {
			t.Errorf("Stop with force took %v", took)
		}
		for pid := range strings.Lines(pids) {
			if out, err := exec.Command("ps", "-o", "stat=", "-p", strings.TrimSpace(pid)).Output(); err == nil && !strings.HasPrefix(string(out), "Z") {
				t.Errorf("Stop(force=%v) left process %s", force, pid)
			}
		}
		s := d.ended(started.AttemptID)
		if s.Failure != "killed" {
			t.Errorf("Status after Stop = %+v", s)
		}
		if force && (s.Queued == nil || s.Queued.Discarded == "") {
			t.Errorf("the message that waited is %+v, want it discarded", s.Queued)
		}
		if again, err := d.Stop(t.Context(), started.AttemptID, force); err != nil || again.Stopped || again.State != Failed {
			t.Errorf("Stop again = %+v, %v; want nothing to stop", again, err)
		}
	}
}

// TestMoreThanTheLimitWait checks that attempts over the limit are queued, not
// rejected.
func TestMoreThanTheLimitWait(t *testing.T) {
	d := open(t, Repo{}, settings{MaxRunning: 2})
	var all []Started
	for range 5 {
		all = append(all, d.start("sleep 0.3"))
	}
	if s, err := d.Status(t.Context(), all[4].AttemptID); err != nil || s.State != Running || !s.Waiting {
		t.Errorf("Status of the fifth = %+v, %v; want it waiting", s, err)
	}
	last := d.start("say never")
	if stopped, err := d.Stop(t.Context(), last.AttemptID, false); err != nil || !stopped.Stopped || stopped.State != Failed {
		t.Errorf("Stop of one that waits = %+v, %v", stopped, err)
	}
	type span struct{ from, to time.Time }
	var spans []span
	for _, a := range all {
		if s := d.ended(a.AttemptID); s.State != Completed {
			t.Errorf("Status = %+v\n%s", s, d.said())
		}
		p, err := d.Processes(t.Context(), a.AttemptID)
		if err != nil {
			t.Fatal(err)
		}
		spans = append(spans, span{p[0].Started, p[0].Completed})
	}
	for _, s := range spans {
		at := 0
		for _, o := range spans {
			if !o.from.After(s.from) && o.to.After(s.from) {
				at++
			}
		}
		if at > 2 {
			t.Errorf("%d ran at once, want 2 at most", at)
		}
	}
}

// TestLimitsEndARun: wall clock, silence and output.
func TestLimitsEndARun(t *testing.T) {
	for name, s := range map[string]settings{
		"took too long":                   {WallClock: 300 * time.Millisecond},
		"produced no output for too long": {Silence: 300 * time.Millisecond},
		"wrote too much":                  {MaxOutput: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, Repo{}, s)
			if got := d.ended(d.start("spam 1000", "hang").AttemptID); !strings.Contains(got.Failure, name) {
				t.Errorf("Status = %+v", got)
			}
		})
	}
}

// TestTheEnvironmentIsShort checks that an agent only gets listed variables, and that
// secrets among them are in no log.
func TestTheEnvironmentIsShort(t *testing.T) {
	t.Setenv("MY_PROVIDER_KEY", "a-very-secret-value")
	t.Setenv("OTHER_KEY", "not-for-agents")
	d := open(t, Repo{}, settings{Env: []string{"MY_PROVIDER_*"}})
	started := d.start("run env", "run echo $MY_PROVIDER_KEY | wc -c")
	d.ended(started.AttemptID)
	out := strings.Join(d.entries(started.AttemptID, Raw), "\n")
	for _, want := range []string{"DESKHAND_ATTEMPT_ID=" + started.AttemptID, "DESKHAND_TASK_ID=" + started.TaskID,
		"DESKHAND_PROJECT_ID=" + d.project.ID, "DESKHAND_PROJECT=" + d.project.Name, "DESKHAND_BRANCH=" + started.Branch, "DESKHAND_URL=", "DESKHAND_TOKEN=", "PATH=", "20"} {
		if !strings.Contains(out, want) {
			t.Errorf("the environment has no %s:\n%s", want, out)
		}
	}
	for _, not := range []string{"a-very-secret-value", "not-for-agents", "TASKS_TEST_CHILD"} {
		if strings.Contains(out, not) {
			t.Errorf("the log has %q:\n%s", not, out)
		}
	}
	spool, err := os.ReadFile(filepath.Join(d.options.Dir, "runs", started.ProcessID, "spool"))
	if err != nil || strings.Contains(string(spool), "a-very-secret-value") {
		t.Errorf("the spool has the secret, or is not there: %v", err)
	}
}

// TestAStopCanBecomeOneWithForce checks that a second stop with force does not wait for
// the first.
func TestAStopCanBecomeOneWithForce(t *testing.T) {
	d := open(t, Repo{}, settings{})
	started := d.start("say ready\nhang")
	d.until(started.AttemptID, "ready, and so past the signals that end it", func(AttemptStatus) bool {
		return slices.ContainsFunc(d.entries(started.AttemptID, Normalized), func(e string) bool { return strings.Contains(e, "ready") && !strings.Contains(e, "hang") })
	})
	gentle := make(chan error, 1)
	since := time.Now()
	go func() {
		_, err := d.Stop(context.Background(), started.AttemptID, false)
		gentle <- err
	}()
	waittest.Nothing(t, "the end of a gentle stop of an agent that ignores it", gentle)
	if s, err := d.Status(t.Context(), started.AttemptID); err != nil || s.State != Running {
		t.Errorf("Status after the interrupt = %+v, %v; want it running: it ignores signals", s, err)
	}
	stopped, err := d.Stop(t.Context(), started.AttemptID, true)
	if took := time.Since(since); err != nil || stopped.State != Failed || took > 7*time.Second {
		t.Errorf("Stop with force = %+v, %v after %v; want it sooner than the gentle one's 7 s", stopped, err, took)
	}
	if err := <-gentle; err != nil {
		t.Errorf("Stop = %v", err)
	}
}

func TestAFailureHasNoSecrets(t *testing.T) {
	t.Setenv("MY_PROVIDER_KEY", "a-very-secret-value")
	d := open(t, Repo{Setup: "echo no access with $MY_PROVIDER_KEY >&2; exit 1"}, settings{Env: []string{"MY_PROVIDER_KEY"}})
	if s := d.ended(d.start("say x").AttemptID); s.Failure != "failed (exit_code=1): no access with [redacted]" {
		t.Errorf("Status = %+v", s)
	}
}
