package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// askedTurn is an attempt whose agent has asked a person.
type askedTurn struct {
	t                   *testing.T
	kind                string
	repo, task, attempt string
	hub                 *elicit.Hub
	request             string
	dir                 string // where the agent looks for what to do
}

// Kinds of asking. Only pending is not waited for by a call.
const (
	byPermission = "permission" // over ACP
	byForm       = "form"       // over ACP
	byHeldCall   = "held"       // ask_user of the attempt's own door
	byPending    = "pending"    // the same, once its call has ended with the id
)

// turnOf starts an attempt and waits until its question is there.
func turnOf(t *testing.T, kind string) *askedTurn {
	t.Helper()
	a := &askedTurn{t: t, kind: kind, dir: t.TempDir()}
	scripts, err := filepath.Abs("testdata/agents")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(a.dir, "settings.yaml")
	write(t, a.dir, map[string]string{"settings.yaml": fmt.Sprintf(`
tasks:
  executors:
    permission: {kind: acp, command: [sh, %[1]q, permission], env: {GO: %[2]q}}
    form: {kind: acp, command: [sh, %[1]q, form], env: {GO: %[2]q}}
    held: {kind: shell, command: [sh, %[3]q, "{{prompt}}"], resume: [sh, %[3]q, "{{prompt}}"], env: {GO: %[2]q}}
    pending: {kind: shell, command: [sh, %[3]q, "{{prompt}}"], resume: [sh, %[3]q, "{{prompt}}"], env: {GO: %[2]q}}
`, filepath.Join(scripts, "asks.sh"), filepath.Join(a.dir, "go"), filepath.Join(scripts, "does.sh"))})
	t.Setenv("DESKHAND_CONFIG", config)
	t.Setenv("DESKHAND_TASKS_SANDBOX", "none") // the agent looks outside its folder for what to do
	if kind == byPending {
		t.Setenv("DESKHAND_ELICITATION_HOLD", "1s")
	}
	a.repo, a.task = onTask(t)
	const prompt = `do:complete() { exit 0; }
fail() { exit 3; }
crash() { kill -9 $$; }
setsid mcpcall ask_user '{"questions":[{"question":"Which one?"}]}' >"$GO.held" 2>&1 &
while [ ! -e "$GO" ]; do sleep 0.05; done
. "$GO"`
	a.attempt = strings.Fields(done(t, a.repo, "tasks", "start", a.task, "--executor", kind, "--prompt", prompt))[0]
	a.hub = inboxOf(t, os.Getenv("DESKHAND_STATE"))
	eventually(t, "the agent to ask", func() error {
		list, err := a.hub.List(t.Context(), elicit.Filter{})
		if err != nil || len(list.Requests) == 0 {
			return fmt.Errorf("open: %d, %v\n%s", len(list.Requests), err, deskhand(t, a.repo, "tasks", "logs", a.attempt).stdout)
		}
		a.request = list.Requests[0].ID
		if kind == byPending && !list.Requests[0].HandedBack {
			return fmt.Errorf("its call is held")
		}
		return nil
	})
	return a
}

// does has the agent do something.
func (a *askedTurn) does(what string) {
	a.t.Helper()
	write(a.t, a.dir, map[string]string{"next": what + "\n"})
	if err := os.Rename(filepath.Join(a.dir, "next"), filepath.Join(a.dir, "go")); err != nil {
		a.t.Fatal(err)
	}
}

// killRunner kills the runner of the attempt.
func (a *askedTurn) killRunner() { a.t.Helper(); a.signalRunner(syscall.SIGKILL) }

func (a *askedTurn) signalRunner(s syscall.Signal) {
	a.t.Helper()
	if err := syscall.Kill(runnerOf(a.t, os.Getenv("DESKHAND_STATE")), s); err != nil {
		a.t.Fatal(err)
	}
}

type shownStatus struct {
	State     string
	Questions int `json:"pending_questions"`
}

func (a *askedTurn) status() (s shownStatus) {
	a.t.Helper()
	if err := json.Unmarshal([]byte(done(a.t, a.repo, "tasks", "show", a.attempt, "--json")), &s); err != nil {
		a.t.Fatal(err)
	}
	return s
}

// turnEnds are the ways in which a turn ends. gone says that the task is over
// with it, so that no answer starts a follow-up.
var turnEnds = map[string]struct {
	end    func(a *askedTurn)
	reason string
	gone   bool
	setup  string // NAME=value of the attempt
}{
	"completes":                   {end: func(a *askedTurn) { a.does("complete") }, reason: elicit.TurnCompleted},
	"fails":                       {end: func(a *askedTurn) { a.does("fail") }, reason: elicit.TurnFailed},
	"crashes":                     {end: func(a *askedTurn) { a.does("crash") }, reason: elicit.TurnFailed},
	"is cut by the time limit":    {end: func(*askedTurn) {}, reason: elicit.TurnFailed, setup: "DESKHAND_TASKS_TIME_LIMIT=8s"},
	"loses its runner":            {end: (*askedTurn).killRunner, reason: elicit.TurnFailed},
	"loses its runner and server": {end: (*askedTurn).killRunnerAndServer, reason: elicit.TurnFailed},
	"is stopped":                  {end: func(a *askedTurn) { done(a.t, a.repo, "tasks", "stop", a.attempt) }, reason: elicit.TurnStopped},
	"is stopped with force":       {end: func(a *askedTurn) { done(a.t, a.repo, "tasks", "stop", a.attempt, "--force") }, reason: elicit.TurnStopped},
	"is replaced by a follow-up":  {end: (*askedTurn).replace, reason: elicit.TurnCompleted},
	"ends with its task": {end: func(a *askedTurn) {
		done(a.t, a.repo, "tasks", "stop", a.attempt, "--force")
		done(a.t, a.repo, "tasks", "rm", a.task)
	}, reason: elicit.TaskDeleted, gone: true},
	"is cancelled with its task": {end: func(a *askedTurn) { done(a.t, a.repo, "tasks", "set", a.task, "--status", "cancelled") }, reason: elicit.TaskCancelled, gone: true},
}

// killRunnerAndServer leaves nobody but whoever looks next.
func (a *askedTurn) killRunnerAndServer() {
	server := exec.Command("deskhand", "serve", "--http", "127.0.0.1:0", "--tools", "work,ask")
	server.Env = append(server.Environ(), "DESKHAND_TOKEN="+bearer)
	socketOf(a.t, server).kill()
	a.killRunner()
}

// replace has a follow-up wait that runs when the agent has ended.
func (a *askedTurn) replace() {
	done(a.t, a.repo, "tasks", "say", a.attempt, "--queue", "You asked a person; echo replaced")
	a.does("complete")
}

// A question ends with what asked it. Its answer is refused, and no later run
// is held up by it. One that was handed back as pending stays, says so, and its
// answer starts a follow-up.
func TestAttackApprovalsAQuestionEndsWithItsTurn(t *testing.T) {
	for i, kind := range []string{byPermission, byForm, byHeldCall, byPending} {
		for j, name := range slices.Sorted(maps.Keys(turnEnds)) {
			c := turnEnds[name]
			if !wholeAttack() && (i+j)%4 != 0 && !(kind == byPending && name == "is cut by the time limit") {
				continue // each end once, and each kind of question some times
			}
			if kind == byPending && name == "is replaced by a follow-up" {
				continue // of a pending question the follow-up is no end
			}
			if kind != byPending && name == "is cut by the time limit" {
				continue // the clock stands still while the run waits for a person
			}
			t.Run(kind+"/"+name, func(t *testing.T) {
				if c.setup != "" {
					variable, value, _ := strings.Cut(c.setup, "=")
					t.Setenv(variable, value)
				}
				a := turnOf(t, kind)
				c.end(a)
				if kind == byPending && !c.gone {
					a.stays()
					return
				}
				a.ends(c.reason, c.gone)
			})
		}
	}
}

// ends checks that the question has ended and is refused.
func (a *askedTurn) ends(reason string, gone bool) {
	t := a.t
	t.Helper()
	var r elicit.Request
	eventually(t, "the question to end", func() (err error) {
		if strings.Contains(done(t, a.repo, "ask", "list"), a.request) {
			return fmt.Errorf("it is listed")
		}
		if r, err = a.hub.Get(t.Context(), a.request); err == nil && r.Status != elicit.Completed {
			err = fmt.Errorf("it is %s", r.Status)
		}
		return err
	})
	reasons := []string{reason, "asker_gone"} // its run ends it, or before that the end of its agent
	if gone {
		reasons = append(reasons, elicit.TurnStopped)
	}
	if c := r.Completion; c.Outcome != elicit.Abandoned || !slices.Contains(reasons, c.Reason) {
		t.Errorf("the question ended %+v, want abandoned for %s", c, reason)
	}
	out := deskhand(t, a.repo, "ask", "answer", a.request, "#1=allow")
	if out.code != 1 || !strings.Contains(out.stderr, "this question was withdrawn") || strings.Contains(out.stdout+out.stderr, "answered") || !strings.Contains(out.stderr, "\nhint: ") {
		t.Errorf("answering it: exit %d, %q %q; want 1 and that it was withdrawn", out.code, out.stdout, out.stderr)
	}
	if !gone {
		eventually(t, "the attempt to end", func() error {
			if s := a.status(); s.State == "running" || s.Questions != 0 {
				return fmt.Errorf("%+v", s)
			}
			return nil
		})
	}
	if a.kind == byHeldCall && reason == elicit.TurnCompleted {
		eventually(t, "the held call to get its envelope", func() error {
			if got, err := os.ReadFile(filepath.Join(a.dir, "go.held")); err != nil || !strings.Contains(string(got), `"answered":false`) || !strings.Contains(string(got), "withdrawn") {
				return fmt.Errorf("%q, %v", got, err)
			}
			return nil
		})
	}
}

// stays checks that a pending question says what its answer does, and that it
// does so.
func (a *askedTurn) stays() {
	t := a.t
	t.Helper()
	const says = "The agent has finished; your answer starts a follow-up."
	eventually(t, "the question to outlive the turn", func() error {
		s := a.status()
		shown := done(t, a.repo, "ask", "show", a.request)
		if s.State == "running" || s.Questions != 0 || !strings.Contains(shown, says) || !strings.Contains(shown, "open, agent finished") {
			return fmt.Errorf("%+v, %s", s, shown)
		}
		return nil
	})
	if shown := done(t, a.repo, "tasks", "show", a.attempt); !strings.Contains(shown, says) || strings.Contains(shown, "asks ") {
		t.Errorf("tasks show says %s", shown)
	}
	out := deskhand(t, a.repo, "ask", "answer", a.request, "#1=the blue one")
	if out.code != 0 || !strings.Contains(out.stderr, "answered; the agent had finished, so the answer starts a follow-up") {
		t.Errorf("answering it: exit %d, %q", out.code, out.stderr)
	}
	eventually(t, "the follow-up", func() error {
		if said := done(t, a.repo, "tasks", "messages", a.task, "--json"); !strings.Contains(said, "Answer: the blue one") {
			return fmt.Errorf("messages %s", said)
		}
		return nil
	})
	done(t, a.repo, "tasks", "stop", a.attempt, "--force")
}

// A question of a run that has ended keeps no later run from its idle limit.
func TestAttackApprovalsAStaleQuestionDisablesNothing(t *testing.T) {
	t.Setenv("DESKHAND_TASKS_IDLE_LIMIT", "3s")
	for _, kind := range []string{byHeldCall, byPending} {
		t.Run(kind, func(t *testing.T) {
			a := turnOf(t, kind)
			a.does("complete")
			eventually(t, "the first run to end", func() error {
				if s := a.status(); s.State == "running" {
					return fmt.Errorf("%+v", s)
				}
				return nil
			})
			if err := os.Remove(filepath.Join(a.dir, "go")); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			done(t, a.repo, "tasks", "say", a.attempt, "do:while :; do sleep 1; done")
			eventually(t, "the idle limit to end the second run", func() error {
				if shown := done(t, a.repo, "tasks", "show", a.attempt); !strings.Contains(shown, "it produced no output for too long") {
					return fmt.Errorf("after %v: %s", time.Since(began), shown)
				}
				return nil
			})
		})
	}
}

// At a terminal a question that ends with its run closes and says why, and one
// that outlives it says what its answer does.
func TestAttackApprovalsAnEndedQuestionInTheTerminal(t *testing.T) {
	const says = "The agent has finished"
	for mode, env := range map[string][]string{"on a screen": nil, "line by line": {"TERM=dumb"}} {
		t.Run("held, "+mode, func(t *testing.T) {
			a := turnOf(t, byHeldCall)
			p := sits(t, nil, env, "inbox")
			p.sees("Which one?")
			if env != nil {
				p.types("1\n")
				p.sees("Type your answer.")
			} else {
				p.types("\r")
				p.sees("asked by")
			}
			a.does("complete")
			p.sees("withdrawn")
			p.types("\x03")
			p.ends()
			a.ends(elicit.TurnCompleted, false)
		})
		t.Run("pending, "+mode, func(t *testing.T) {
			a := turnOf(t, byPending)
			a.does("complete")
			eventually(t, "the run to end", func() error {
				if s := a.status(); s.State == "running" {
					return fmt.Errorf("%+v", s)
				}
				return nil
			})
			p := sits(t, nil, env, "inbox")
			p.sees(says)
			p.types("\x03")
			p.ends()
			a.stays()
		})
	}
}
