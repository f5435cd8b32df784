package tasks_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// inProcess runs an attempt in this process, for tests with hook functions.
func inProcess(t *testing.T, o Options, r Repo, script ...string) (*desk, Started, AttemptStatus) {
	t.Helper()
	place := t.TempDir()
	o.Dir = t.TempDir()
	o.MaxRunning = -1
	d := &desk{options: o, place: place, t: t}
	d.Manager, d.db = peerAndStore(t, place, o)
	d.project, d.repo = project(t, d.Manager, r)
	started := d.start(script...)
	if err := d.Run(t.Context()); err != nil {
		t.Errorf("Run = %v", err)
	}
	if err := d.Run(t.Context()); err != nil {
		t.Errorf("Run with nothing to do = %v, want nil", err)
	}
	s, err := d.Status(t.Context(), started.AttemptID)
	if err != nil {
		t.Fatal(err)
	}
	return d, started, s
}

func TestAnAgentAsksAPerson(t *testing.T) {
	var asked []executor.Question
	var by Process
	o := Options{Silence: 1500 * time.Millisecond, Ask: func(ctx context.Context, a Attempt, p Process, q executor.Question) (executor.Answer, error) {
		asked, by = append(asked, q), p
		since := time.Now()
		waittest.Until(t, "a person takes longer than an agent may be silent", func() (bool, any) { return time.Since(since) > 2*time.Second, nil })
		if q.Permission {
			return executor.Answer{Outcome: "accept", Option: "allow"}, nil
		}
		return executor.Answer{Outcome: "accept", Text: "blue"}, nil
	}}
	d, started, s := inProcess(t, o, Repo{}, "ask Which colour?", "permit paint the wall", "write wall.txt painted")
	if s.State != Completed || len(asked) != 2 || asked[0].Title != "Which colour?" || by.AttemptID != started.AttemptID || by.SessionID != s.SessionID {
		t.Errorf("Status = %+v, asked %+v by %+v", s, asked, by)
	}
	if got := d.entries(started.AttemptID, Normalized); !slices.Contains(got, "answer: blue") {
		t.Errorf("the log = %q, want the answer in it", got)
	}
}

func TestAnAgentIsGivenATokenThatDiesWithIt(t *testing.T) {
	const token = "a-token-of-many-letters"
	d := &desk{}
	var during string
	stopped := false
	o := Options{
		Serve: func(ctx context.Context, a Attempt, p Process) (string, string, func(), error) {
			return "http://127.0.0.1:1/mcp", token, func() { stopped = true }, nil
		},
		Ask: func(ctx context.Context, a Attempt, p Process, q executor.Question) (executor.Answer, error) {
			during, _ = d.AttemptOf(ctx, token)
			return executor.Answer{Outcome: "decline"}, nil
		},
	}
	place := t.TempDir()
	o.Dir, o.MaxRunning = t.TempDir(), -1
	d.Manager, d.db = peerAndStore(t, place, o)
	d.t = t
	d.project, d.repo = project(t, d.Manager, Repo{})
	started := d.start("ask anything", "run echo $DESKHAND_URL; echo $DESKHAND_TOKEN")
	if err := d.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if during != started.AttemptID || !stopped {
		t.Errorf("while it ran the token was of attempt %q, want %s; stopped: %v", during, started.AttemptID, stopped)
	}
	if id, err := d.AttemptOf(t.Context(), token); err != nil || id != "" {
		t.Errorf("AttemptOf after the end = %q, %v; want none", id, err)
	}
	out := strings.Join(d.entries(started.AttemptID, Raw), "\n")
	if !strings.Contains(out, "http://127.0.0.1:1/mcp") || strings.Contains(out, token) {
		t.Errorf("the log = %q, want the URL in it and not the token", out)
	}
}

func TestWhatCannotStartSaysWhy(t *testing.T) {
	t.Run("a runner that cannot run", func(t *testing.T) {
		d := &desk{t: t}
		d.Manager, d.db = peerAndStore(t, t.TempDir(), Options{Runner: []string{"sh", "-c", "echo bad setting >&2; exit 1"}})
		d.project, d.repo = project(t, d.Manager, Repo{})
		if s := d.ended(d.start("say x").AttemptID); s.State != Failed || !strings.Contains(s.Failure, "bad setting") {
			t.Errorf("Status = %+v", s)
		}
	})
	t.Run("no runner", func(t *testing.T) {
		d := &desk{t: t}
		d.Manager, d.db = peerAndStore(t, t.TempDir(), Options{Runner: []string{filepath.Join(t.TempDir(), "gone")}})
		d.project, d.repo = project(t, d.Manager, Repo{})
		if s := d.ended(d.start("say x").AttemptID); s.State != Failed || !strings.Contains(s.Failure, "cannot start a runner") {
			t.Errorf("Status = %+v", s)
		}
	})
	t.Run("no tools", func(t *testing.T) {
		o := Options{Serve: func(context.Context, Attempt, Process) (string, string, func(), error) {
			return "", "", nil, errors.New("no port is free")
		}}
		if _, _, s := inProcess(t, o, Repo{}, "say x"); s.State != Failed || !strings.Contains(s.Failure, "no port is free") {
			t.Errorf("Status = %+v", s)
		}
	})
	t.Run("no program", func(t *testing.T) {
		program := filepath.Join(t.TempDir(), "agent")
		write(t, program, "no program at all")
		if err := os.Chmod(program, 0o755); err != nil {
			t.Fatal(err)
		}
		agents, err := executor.New(map[string]executor.Config{"broken": {Kind: "shell", Command: []string{program}}, "gone": {Kind: "shell", Command: []string{program + "-gone"}}})
		if err != nil {
			t.Fatal(err)
		}
		d := &desk{t: t}
		d.Manager, d.db = peerAndStore(t, t.TempDir(), Options{Agents: agents, MaxRunning: -1})
		d.project, d.repo = project(t, d.Manager, Repo{})
		made := task(t, d.Manager, d.project.ID, "x")
		r := d.request(made.ID, "say x")
		r.Executor = "GONE"
		_, err = d.Start(t.Context(), r)
		refused(t, "Start of an executor that is not installed", err, ExecutorMissing)
		r.Executor = "BROKEN"
		started, err := d.Start(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err := d.Status(t.Context(), started.AttemptID)
		if err != nil || s.State != Failed || !strings.Contains(s.Failure, "cannot start the agent") || s.SessionID != "" {
			t.Errorf("Status = %+v, %v; want a failure that says why, and no session", s, err)
		}
		if d.project.ID == "" || s.Executor != "" {
			t.Errorf("Status = %+v", s)
		}
	})
	t.Run("a branch that is gone", func(t *testing.T) {
		d := &desk{t: t}
		d.Manager, d.db = peerAndStore(t, t.TempDir(), Options{MaxRunning: -1})
		path := gitRepo(t)
		git(t, path, "branch", "feature")
		d.project, d.repo = project(t, d.Manager, Repo{Path: path, TargetBranch: "feature"})
		started := d.start("say x")
		git(t, path, "branch", "-D", "feature")
		if err := d.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err := d.Status(t.Context(), started.AttemptID)
		if err != nil || s.State != Failed || !strings.Contains(s.Failure, "feature") {
			t.Errorf("Status = %+v, %v", s, err)
		}
		made := task(t, d.Manager, d.project.ID, "x")
		_, err = d.Start(t.Context(), d.request(made.ID, "say x"))
		refused(t, "Start from a branch that is gone", err, NotFound)
	})
}

// TestStartRefuses: T-150 and other invalid requests.
func TestStartRefuses(t *testing.T) {
	m := peer(t, t.TempDir(), Options{MaxRunning: -1})
	p, r := project(t, m, Repo{})
	made := task(t, m, p.ID, "x")
	for name, c := range map[string]struct {
		change func(*StartRequest)
		code   string
	}{
		"no executor":             {func(s *StartRequest) { s.Executor = " " }, MissingRequired},
		"an unknown executor":     {func(s *StartRequest) { s.Executor = "nope" }, InvalidArgument},
		"an unknown variant":      {func(s *StartRequest) { s.Variant = "nope" }, InvalidArgument},
		"no repositories":         {func(s *StartRequest) { s.Repos = nil }, MissingRequired},
		"an unknown repository":   {func(s *StartRequest) { s.Repos[0].RepoID = nobody }, NotFound},
		"a repository twice":      {func(s *StartRequest) { s.Repos = append(s.Repos, s.Repos[0]) }, InvalidArgument},
		"an unknown branch":       {func(s *StartRequest) { s.Repos[0].TargetBranch = "nope" }, NotFound},
		"a branch like an option": {func(s *StartRequest) { s.Repos[0].TargetBranch = "--upload-pack=x" }, NotFound},
		"a branch of a megabyte":  {func(s *StartRequest) { s.Repos[0].TargetBranch = strings.Repeat("a", 1<<20) }, InvalidArgument},
		"an unknown task":         {func(s *StartRequest) { s.TaskID = nobody }, NotFound},
		"a prompt with NUL":       {func(s *StartRequest) { s.Prompt = "a\x00b" }, InvalidArgument},
		"a prompt of a megabyte":  {func(s *StartRequest) { s.Prompt = strings.Repeat("a", 1<<20) }, InvalidArgument},
	} {
		request := StartRequest{TaskID: made.ID, Executor: "fake", Repos: []RepoTarget{{RepoID: r.ID, TargetBranch: "main"}}}
		c.change(&request)
		_, err := m.Start(t.Context(), request)
		refused(t, "Start with "+name, err, c.code)
	}
	if page, err := m.Tasks(t.Context(), TaskQuery{ProjectID: p.ID}); err != nil || page.Tasks[0].AttemptID != "" || page.Tasks[0].Status != Todo {
		t.Errorf("the task after refusals = %+v, %v; want it untouched", page.Tasks, err)
	}
}

// TestARequestIDStartsOneAttempt: T-188, T-194.
func TestARequestIDStartsOneAttempt(t *testing.T) {
	d := open(t, Repo{}, settings{})
	made := task(t, d.Manager, d.project.ID, "once")
	request := StartRequest{TaskID: made.ID, Executor: "fake", Repos: []RepoTarget{{RepoID: d.repo.ID}}, RequestID: "r"}
	first, err := d.Start(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	request.Executor, request.Repos[0].TargetBranch, request.Prompt = "FAKE", "main", "once"
	for _, m := range []*Manager{d.Manager, peer(t, d.place, d.options)} {
		if again, err := m.Start(t.Context(), request); err != nil || again != first {
			t.Errorf("Start again, with the defaults spelled out = %+v, %v; want %+v", again, err, first)
		}
	}
	request.Prompt = "twice"
	_, err = d.Start(t.Context(), request)
	refused(t, "Start of something else", err, Conflict)
	d.ended(first.AttemptID)
	// A default of the first call has changed since.
	request.Executor, request.Repos[0].TargetBranch, request.Prompt = "fake", "", ""
	title := "another"
	if _, err := d.UpdateTask(t.Context(), made.ID, TaskChange{Title: &title}); err != nil {
		t.Fatal(err)
	}
	if again, err := d.Start(t.Context(), request); err != nil || again != first {
		t.Errorf("the first call again, after its task was changed = %+v, %v; want %+v", again, err, first)
	}
	if list, err := d.Attempts(t.Context(), made.ID); err != nil || len(list) != 1 {
		t.Errorf("Attempts = %+v, %v; want one", list, err)
	}
}

// TestAnAttemptOfManyReposHasThemSideBySide: T-120, T-134.
func TestAnAttemptOfManyReposHasThemSideBySide(t *testing.T) {
	d := open(t, Repo{Path: gitRepo(t, "same.txt"), Name: "app"}, settings{})
	_, lib, err := d.AddRepo(t.Context(), "desk", Repo{Path: gitRepo(t, "same.txt"), Name: "lib"})
	if err != nil {
		t.Fatal(err)
	}
	made := task(t, d.Manager, d.project.ID, "both")
	request := d.request(made.ID, "write app/same.txt 1", "write lib/same.txt 2")
	request.Repos = append(request.Repos, RepoTarget{RepoID: lib.ID, TargetBranch: "main"})
	started, err := d.Start(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	d.ended(started.AttemptID)
	if got, want := d.changes(started.AttemptID), []string{"app/same.txt", "lib/same.txt"}; !slices.Equal(got, want) {
		t.Errorf("Changes = %q, want %q", got, want)
	}
	patch, err := d.Patch(t.Context(), PatchQuery{AttemptID: started.AttemptID, Paths: []string{"lib/same.txt"}})
	if err != nil || !strings.Contains(patch.Text, "+2") || strings.Contains(patch.Text, "+1\n") {
		t.Errorf("Patch = %+v, %v", patch, err)
	}
	file, err := d.File(t.Context(), FileQuery{AttemptID: started.AttemptID, Path: "app/same.txt"})
	if err != nil || string(file.Content) != "1\n" {
		t.Errorf("File = %+v, %v", file, err)
	}
	c, err := d.Context(t.Context(), started.AttemptID)
	if err != nil || c.Project.Name != "desk" || c.Task.Title != "both" || len(c.Attempt.Repos) != 2 || c.Attempt.Repos[1].TargetBranch != "main" {
		t.Errorf("Context = %+v, %v", c, err)
	}
}

// TestLogsGoOnWithTheNextProcess: T-099, T-106, T-107.
func TestLogsGoOnWithTheNextProcess(t *testing.T) {
	d := open(t, Repo{}, settings{})
	ctx := t.Context()
	started := d.start("spam 100")
	if page, err := d.Logs(ctx, LogQuery{AttemptID: started.AttemptID, After: pointer(int64(-1)), Wait: 20 * time.Second}); err != nil || len(page.Entries) == 0 {
		t.Errorf("Logs with a wait = %+v, %v; want what came first", page, err)
	}
	d.ended(started.AttemptID)
	page, err := d.Logs(ctx, LogQuery{AttemptID: started.AttemptID, Limit: 10})
	if err != nil || len(page.Entries) != 10 || !page.More || page.Next == nil || !page.Ended || page.Entries[0].Index != *page.Next {
		t.Fatalf("Logs = %+v, %v", page, err)
	}
	seen := len(page.Entries)
	for page.Next != nil {
		next, err := d.Logs(ctx, LogQuery{AttemptID: started.AttemptID, Limit: 10, Before: page.Next})
		if err != nil || next.Entries[len(next.Entries)-1].Index != *page.Next-1 {
			t.Fatalf("Logs before %d = %+v, %v", *page.Next, next, err)
		}
		seen += len(next.Entries)
		page = next
	}
	if seen != 101 { // including the prompt
		t.Errorf("page by page there are %d entries, want 101", seen)
	}
	if _, err := d.FollowUp(ctx, FollowUpRequest{Action: Send, AttemptID: started.AttemptID, Prompt: "say more"}); err != nil {
		t.Fatal(err)
	}
	d.ended(started.AttemptID)
	old, err := d.Logs(ctx, LogQuery{AttemptID: started.AttemptID, ProcessID: started.ProcessID, After: pointer(int64(100))})
	if err != nil || old.Newer == "" || old.Newer == started.ProcessID || len(old.Entries) != 0 {
		t.Errorf("Logs of the older process = %+v, %v; want the newer one named", old, err)
	}
	for name, c := range map[string]struct {
		q    LogQuery
		code string
	}{
		"two ways of paging":   {LogQuery{Before: pointer(int64(1)), After: pointer(int64(1))}, MixedPagination},
		"an unknown channel":   {LogQuery{Channel: "x"}, InvalidArgument},
		"a long wait":          {LogQuery{After: pointer(int64(1)), Wait: time.Hour}, WaitTooLong},
		"a wait for old lines": {LogQuery{Wait: time.Second}, InvalidArgument},
		"another's process":    {LogQuery{ProcessID: nobody}, NotFound},
	} {
		c.q.AttemptID = started.AttemptID
		_, err := d.Logs(ctx, c.q)
		refused(t, "Logs with "+name, err, c.code)
	}
}

// If the agent has lost its session, never had one, or cannot resume it, the run
// continues anyway: the agent gets a summary of the conversation.
func TestAFollowUpWithoutASessionOfTheAgentIsToldWhatWasSaid(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skipf("NOT TESTED: no sh here: %v", err)
	}
	const isTold = "the agent starts a new session, which receives a summary of the conversation"
	agent := func(session string) executor.Config {
		return executor.Config{Kind: "stream", Events: "claude", Lost: "No conversation",
			Command: []string{"sh", "-c", `cat >>told.txt; echo '{"type":"system","subtype":"init","session_id":"` + session + `"}'
				echo '{"type":"result","subtype":"success","is_error":false,"result":"I have painted it."}'`},
			Resume: []string{"sh", "-c", `echo "No conversation found with session ID: {{session}}" >&2; exit 1`}}
	}
	sessions := agent("s1")
	sessions.Resume = nil
	binary := executor.Config{Kind: "shell", Command: []string{"sh", "-c", `printf %s "$1" >>told.txt; printf 'I have\000 painted\377 it.'`, "sh", "{{prompt}}"}}
	plain := executor.Config{Kind: "shell", Command: []string{"sh", "-c", "cat >>told.txt; echo I have painted it."}}
	agents, err := executor.New(map[string]executor.Config{"forgetful": agent("s1"), "nameless": agent(""), "resumes-nothing": sessions, "plain": plain, "binary": binary})
	if err != nil {
		t.Fatal(err)
	}
	for id, notes := range map[string][]string{"forgetful": {"no longer has its session", isTold}, "nameless": {isTold}, "resumes-nothing": {isTold}, "plain": {isTold}, "binary": {isTold}} {
		d, _, _ := inProcess(t, Options{Agents: agents}, Repo{}, "say nothing")
		made := task(t, d.Manager, d.project.ID, "Paint it")
		request := d.request(made.ID, "Paint the wall blue.")
		request.Executor = id
		started, err := d.Start(t.Context(), request)
		if err == nil {
			err = d.Run(t.Context())
		}
		if err == nil {
			_, err = d.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: started.AttemptID, Prompt: "And the door."})
		}
		if err == nil {
			err = d.Run(t.Context())
		}
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		s, err := d.Status(t.Context(), started.AttemptID)
		if err != nil || s.State != Completed {
			t.Errorf("%s: Status = %+v, %v; want completed", id, s, err)
		}
		told, err := os.ReadFile(filepath.Join(s.Dir, d.repo.Name, "told.txt"))
		was := "I have painted it."
		if id == "binary" {
			was = "I have\uFFFD painted\uFFFD it."
		}
		if want := "The person:\n> Paint the wall blue.\n\nYou:\n> " + was + "\n\nNow the person says:\n\nAnd the door."; err != nil || !strings.HasSuffix(string(told), want) {
			t.Errorf("%s was told %q, %v; want it to end with %q", id, told, err, want)
		}
		log := strings.Join(d.entries(started.AttemptID, Normalized), "\n")
		for _, note := range notes {
			if strings.Count(log, note) != 1 {
				t.Errorf("%s: the log = %q, want %q in it, once", id, log, note)
			}
		}
		if page, err := d.Messages(t.Context(), MessageQuery{AttemptID: started.AttemptID}); err != nil || len(page.Turns) != 2 || page.Turns[1].Prompt != "And the door." {
			t.Errorf("%s: Messages = %+v, %v; want two turns as they were typed", id, page, err)
		}
	}
}
