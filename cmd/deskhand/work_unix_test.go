//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// What a person says when the agent has ended, and no call of its has got, is
// told to it as a follow-up, once, whoever serves and if nobody does.
func TestAnAnswerThatNoCallGotBecomesAFollowUp(t *testing.T) {
	answers := []string{"answer", "#1=Endurance"}
	for name, c := range map[string]follows{
		"late, two serve":                    {2, "DESKHAND_ELICITATION_TIMEOUT=300ms", answers, elicit.ExpiredOpen, "Question: What is it called?\nAnswer: Endurance"},
		"late, nobody serves":                {0, "DESKHAND_ELICITATION_TIMEOUT=300ms", answers, elicit.ExpiredOpen, "Question: What is it called?\nAnswer: Endurance"},
		"in time, to a call that was let go": {1, "DESKHAND_ELICITATION_HOLD=1s", answers, elicit.Open, "Question: What is it called?\nAnswer: Endurance"},
		"with a note":                        {0, "DESKHAND_ELICITATION_HOLD=1s", append(answers, "--note", "for now"), elicit.Open, "Answer: Endurance\n\nThe person's note: for now"},
		"declined with a note, one serves":   {1, "DESKHAND_ELICITATION_HOLD=1s", []string{"decline", "--note", "ask Grace"}, elicit.Open, "declined on the command line and gave no answer. Do not assume one.\n\nThe person's note: ask Grace"},
	} {
		t.Run(name, func(t *testing.T) { c.test(t) })
	}
}

// follows is how an answer comes that becomes a follow-up.
type follows struct {
	servers int
	setting string // of the attempt
	says    []string
	status  elicit.Status // when the agent has ended
	prompt  string        // in that of the follow-up
}

func (c follows) test(t *testing.T) {
	t.Setenv("CI", "")
	name, value, _ := strings.Cut(c.setting, "=")
	t.Setenv(name, value)
	state := lingering(t)
	t.Setenv("DESKHAND_STATE", state)
	repo := gitRepo(t, map[string]string{"README.md": "# Shop\n"})
	done(t, repo, "tasks", "project", "add", ".", "--name", "shop")
	task := strings.TrimSpace(done(t, repo, "tasks", "add", "Name it"))
	done(t, repo, "tasks", "start", task, "--executor", "fake", "--follow", "--prompt",
		`run mcpcall ask_user '{"questions":[{"question":"What is it called?"}]}'`)
	for range c.servers {
		overPipe(t, "--tools", "work")
	}
	hub := inboxOf(t, state)
	r := newest(t, hub, "What is it called?")
	if r.Status != c.status || r.Context.AttemptID == "" {
		t.Fatalf("the question is %s, of attempt %q; want %s", r.Status, r.Context.AttemptID, c.status)
	}
	done(t, repo, append([]string{"ask", c.says[0], r.ID}, c.says[1:]...)...)
	var out struct {
		Page struct{ Entries []struct{ Prompt string } }
	}
	eventually(t, "follow-up", func() error {
		if err := json.Unmarshal([]byte(done(t, repo, "tasks", "messages", task, "--json")), &out); err != nil || len(out.Page.Entries) < 2 {
			return fmt.Errorf("turns %+v, %w", out.Page.Entries, err)
		}
		return nil
	})
	if n := len(out.Page.Entries); n != 2 || !strings.Contains(out.Page.Entries[1].Prompt, c.prompt) {
		t.Errorf("turns %q, want two and %q", out.Page.Entries, c.prompt)
	}
	done(t, repo, "tasks", "show", task, "--follow")
	if now, err := hub.Get(t.Context(), r.ID); err != nil || now.Undelivered() {
		t.Errorf("the request is %+v, %v; want it delivered", now, err)
	}
}

// onTask makes a project and a task in a state folder of the test's own, and
// returns the folder of the repository and the task.
func onTask(t *testing.T) (repo, task string) {
	t.Helper()
	t.Setenv("CI", "")
	t.Setenv("DESKHAND_STATE", lingering(t))
	repo = gitRepo(t, map[string]string{"README.md": "# Shop\n"})
	done(t, repo, "tasks", "project", "add", ".", "--name", "shop")
	return repo, strings.TrimSpace(done(t, repo, "tasks", "add", "Round prices"))
}

// What an agent asks itself, and what it wants permission for, is in the inbox
// with the attempt that it is about.
func TestQuestionsOfAnAgentAreInTheInbox(t *testing.T) { // I-034: our own ways need no header
	repo, task := onTask(t)
	done(t, repo, "tasks", "start", task, "--executor", "fake", "--prompt", "ask What is it called?\npermit launch it\npermit sink it\nsay never")
	hub := inboxOf(t, os.Getenv("DESKHAND_STATE"))
	for _, c := range []struct {
		asks, answer string
		trigger      elicit.Trigger
		kind         elicit.Kind
	}{
		{"What is it called?", "Endurance", elicit.ACPElicitation, elicit.Text},
		{"Allow launch it?", "Allow", elicit.ACPPermission, elicit.SingleSelect},
		{"Allow sink it?", "Reject", elicit.ACPPermission, elicit.SingleSelect},
	} {
		r := newest(t, hub, c.asks)
		if r.Trigger != c.trigger || r.Questions[0].Kind != c.kind || r.Source.Kind != "attempt" || r.Source.Name != "fake" ||
			r.Context.TaskID != task || !strings.HasPrefix(r.Context.Branch, "deskhand/") || !r.Deadline.IsZero() {
			t.Errorf("%s is asked as %+v", c.asks, r)
		}
		if shown := done(t, repo, "tasks", "show", r.Context.AttemptID); !strings.Contains(shown, "asks") || !strings.Contains(shown, r.ID) {
			t.Errorf("tasks show says %s", shown)
		}
		done(t, repo, "ask", "answer", r.ID, "#1="+c.answer)
	}
	log := done(t, repo, "tasks", "logs", task, "--follow")
	for _, want := range []string{"\nanswer: Endurance\n", "\npermitted: launch it\n", "\nnot permitted: sink it\n"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	if strings.Contains(log, "\nnever") {
		t.Errorf("it went on without permission:\n%s", log)
	}
}

// Names of variables in deskhand.yaml keep their case, an agent sees them and
// nothing that it was not given, and runs behind tasks.wrap.
func TestExecutorsAreConfigured(t *testing.T) {
	repo, task := onTask(t)
	t.Setenv("MY_SECRET", "hidden")
	t.Setenv("MY_SHARED", "shared")
	write(t, repo, map[string]string{"deskhand.yaml": `
tasks:
  branch_prefix: agents
  env: [MY_SHARED]
  wrap: [env, WRAPPED=yes]
  executors:
    Mine:
      kind: shell
      command: [sh, -c, "env; echo said $0; cat README.md", "{{prompt}}"]
      env: {myCase: Kept}
`})
	done(t, repo, "trust", "--yes")
	if list := done(t, repo, "tasks", "executors"); !strings.Contains(list, "mine ") {
		t.Errorf("executors %s", list)
	}
	done(t, repo, "tasks", "start", task, "--executor", "mine", "--prompt", "$(echo no shell)", "--follow")
	log := done(t, repo, "tasks", "logs", task, "--raw", "-n", "1000")
	for _, want := range []string{"myCase=Kept", "MY_SHARED=shared", "WRAPPED=yes", "said $(echo no shell)", "# Shop", "DESKHAND_TASK_ID=" + task, "DESKHAND_BRANCH=agents/", "DESKHAND_URL=http://127.0.0.1:", "DESKHAND_STATE="} {
		if !strings.Contains(log, want) {
			t.Errorf("the agent does not see %s:\n%s", want, log)
		}
	}
	if strings.Contains(log, "MY_SECRET") {
		t.Errorf("the agent sees MY_SECRET:\n%s", log)
	}
	if shown := done(t, repo, "config"); strings.Contains(shown, "Kept") || !strings.Contains(shown, "myCase") || !strings.Contains(shown, "agents") {
		t.Errorf("config shows %s", shown)
	}
}

func TestSettingsOfAttemptsThatCannotBe(t *testing.T) {
	for text, says := range map[string]string{
		"max_running: many":                     "tasks.max-running",
		"time_limit: soon":                      "tasks.time-limit",
		"idle_limit: 0s":                        "tasks.idle-limit",
		"diff_guard: strict":                    "tasks.diff-guard",
		"branch_prefix: 'a b'":                  "tasks.branch-prefix",
		"retain: [done=soon]":                   "tasks.retain",
		"retain: [started=7d]":                  "tasks.retain",
		"executors: [a, b]":                     "tasks.executors",
		"executors: {a: {kind: magic}}":         "magic",
		"executors: {a: {kind: shell, run: x}}": "run",
		"executors: {a: {kind: shell}}":         "command",
		"wrap: bwrap":                           "tasks.wrap",
	} {
		dir := t.TempDir()
		write(t, dir, map[string]string{"deskhand.yaml": "tasks: {" + text + "}\n"})
		for _, args := range [][]string{{"config", "--config", "deskhand.yaml"}, {"tasks", "ls", "--config", "deskhand.yaml", "--state", filepath.Join(dir, "state")}} {
			if r := deskhand(t, dir, args...); r.code != 2 || !strings.Contains(r.stderr, says) || !strings.Contains(r.stderr, "\nhint: ") {
				t.Errorf("deskhand %s with %s: exit %d, %q", args[0], text, r.code, r.stderr)
			}
		}
	}
}

// --json is the answer of the tool, to the last value.
func TestJSONOfTasksIsTheToolsAnswer(t *testing.T) {
	repo, task := onTask(t)
	attempt := strings.Fields(done(t, repo, "tasks", "start", task, "--executor", "fake", "--prompt", "write a.txt a"))[0]
	done(t, repo, "tasks", "show", attempt, "--follow")
	p := overPipe(t, "--tools", "work")
	d := door{t, "stdio", p.ask}
	var list struct {
		ProjectID string `json:"project_id"`
		Tasks     []struct {
			Latest string `json:"latest_attempt_id"`
		}
	}
	if err := json.Unmarshal([]byte(done(t, repo, "tasks", "ls", "--json")), &list); err != nil || len(list.Tasks) != 1 {
		t.Fatalf("tasks ls: %+v, %v", list, err)
	}
	id := list.Tasks[0].Latest
	for tool, c := range map[string]struct {
		args    string
		command []string
	}{
		"list_projects":         {`{"limit":500}`, []string{"project", "ls"}},
		"list_executors":        {`{}`, []string{"executors"}},
		"list_tasks":            {`{"project_id":"` + list.ProjectID + `"}`, []string{"ls"}},
		"get_task":              {`{"task_id":"` + task + `"}`, []string{"show", task}},
		"get_attempt_status":    {`{"attempt_id":"` + id + `"}`, []string{"show", id}},
		"tail_attempt_logs":     {`{"attempt_id":"` + id + `","limit":50,"channel":"normalized"}`, []string{"logs", id}},
		"tail_session_messages": {`{"attempt_id":"` + id + `","limit":20}`, []string{"messages", id}},
		"get_attempt_changes":   {`{"attempt_id":"` + id + `"}`, []string{"diff", id}},
	} {
		var a, b any
		said := done(t, repo, append(append([]string{"tasks"}, c.command...), "--json")...)
		answered := d.succeed(tool, c.args)
		if json.Unmarshal([]byte(said), &a) != nil || json.Unmarshal([]byte(answered), &b) != nil {
			t.Errorf("deskhand tasks %s --json is\n%s\n%s answers\n%s", strings.Join(c.command, " "), said, tool, answered)
			continue
		}
		if tool == "get_task" { // the command also shows the attempts, and how far the newest is from its target
			for _, name := range []string{"attempts", "ahead", "behind", "conflicts", "landed"} {
				if _, there := a.(map[string]any)[name]; !there {
					t.Errorf("deskhand tasks show TASK --json has no %s: %s", name, said)
				}
				delete(a.(map[string]any), name)
			}
		}
		if encoded(t, a) != encoded(t, b) {
			t.Errorf("deskhand tasks %s --json is\n%s\n%s answers\n%s", strings.Join(c.command, " "), said, tool, answered)
		}
	}
}

// The docs of an attempt are those of now, also if its agent has worked for
// long.
func TestAnAttemptSeesAnIndexThatWasBuiltMeanwhile(t *testing.T) {
	repo, task := onTask(t)
	corpus := acme(t, nil)
	index := indexed(t, corpus)
	t.Setenv("DESKHAND_INDEX", index)
	search := `run mcpcall search_docs '{"query":"zanzibar"}' >`
	done(t, repo, "tasks", "start", task, "--executor", "fake", "--prompt", search+"before.txt\nask Is it built?\nsleep 2\n"+search+"then.txt")
	r := newest(t, inboxOf(t, os.Getenv("DESKHAND_STATE")), "Is it built?")
	write(t, corpus, map[string]string{"zanzibar.md": "# Zanzibar\n\nAn island with spices.\n"})
	done(t, repo, "index", corpus, "-o", index)
	done(t, repo, "ask", "answer", r.ID, "#1=yes")
	done(t, repo, "tasks", "show", task, "--follow")
	before, then, _ := strings.Cut(done(t, repo, "tasks", "diff", task), "b/then.txt")
	if strings.Contains(before, "zanzibar.md#") || !strings.Contains(then, "zanzibar.md#") {
		t.Errorf("it found\n%s\n--- after the build\n%s\nwant the page only there", before, then)
	}
}

// A permission that nobody waits for any more is asked of nobody: it ends with the
// run, however that ends.
func TestAPermissionEndsWithItsRun(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, repo, attempt string){
		"stop":  func(t *testing.T, repo, attempt string) { done(t, repo, "tasks", "stop", attempt) },
		"force": func(t *testing.T, repo, attempt string) { done(t, repo, "tasks", "stop", attempt, "--force") },
	} {
		t.Run(name, func(t *testing.T) {
			repo, task := onTask(t)
			done(t, repo, "tasks", "start", task, "--executor", "fake", "--prompt", "permit launch it")
			hub := inboxOf(t, os.Getenv("DESKHAND_STATE"))
			r := newest(t, hub, "Allow launch it?")
			end(t, repo, r.Context.AttemptID)
			eventually(t, "the question to end", func() error {
				now, err := hub.Get(t.Context(), r.ID)
				if err == nil && now.Status != elicit.Completed {
					err = fmt.Errorf("it is %s", now.Status)
				}
				return err
			})
			if out := deskhand(t, repo, "ask", "answer", r.ID, "#1=Allow"); out.code == 0 || strings.Contains(out.stderr, "answered\n") {
				t.Errorf("answering it: exit %d, %s", out.code, out.stderr)
			}
		})
	}
}
