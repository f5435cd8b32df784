package work

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// oneRun is a manager with one run.
type oneRun struct {
	Manager
	run     tasks.Run
	queued  bool // a follow-up waits, and starts nothing
	stopped string
}

const (
	anAttempt = "01a203a4-1e4a-7820-bce1-85c5ffc80f0c"
	aProcess  = "01a203a4-20ef-7539-8da3-780ae048f0ea"
	aSession  = "01a203a4-1f8d-7c27-9ffd-50f155d90dd2"
)

func (r *oneRun) Start(context.Context, tasks.StartRequest) (tasks.Started, error) {
	return tasks.Started{TaskID: anAttempt, AttemptID: anAttempt, Branch: "b", ProcessID: aProcess}, nil
}

func (r *oneRun) FollowUp(_ context.Context, f tasks.FollowUpRequest) (tasks.FollowUp, error) {
	if r.queued {
		return tasks.FollowUp{SessionID: aSession, Action: f.Action, Status: "queued", Queued: &tasks.QueuedMessage{SessionID: aSession, Message: "m"}}, nil
	}
	return tasks.FollowUp{SessionID: aSession, Action: f.Action, Status: "started", ProcessID: aProcess}, nil
}

func (r *oneRun) RunFrom(_ context.Context, process string) (tasks.Run, error) {
	if process != aProcess {
		return tasks.Run{}, fault.New(tasks.NotFound, "no such process", "")
	}
	return r.run, nil
}

func (r *oneRun) Stop(_ context.Context, attempt string, _ bool) (tasks.Stopped, error) {
	r.stopped = attempt
	return tasks.Stopped{}, nil
}

func runIn(state tasks.State) tasks.Run {
	now := time.Now()
	p := tasks.Process{ID: aProcess, AttemptID: anAttempt, SessionID: aSession, Reason: tasks.Agent, State: state, Created: now, Updated: now}
	if state == tasks.Failed {
		p.Failure = "failed (exit_code=3)"
	}
	return tasks.Run{Attempt: tasks.Attempt{ID: anAttempt, TaskID: anAttempt, Branch: "b"}, Began: p, Newest: p}
}

func laterOf(t *testing.T, o Options, name string) contract.Tool {
	t.Helper()
	for _, tool := range Tools(o) {
		if tool.Name == name && tool.Later != nil {
			return tool
		}
	}
	t.Fatalf("%s has no Later", name)
	return contract.Tool{}
}

const (
	startArgs = `{"task_id":"` + anAttempt + `","executor":"fake","repos":[{"repo_id":"` + anAttempt + `"}]}`
	sendArgs  = `{"action":"send","attempt_id":"` + anAttempt + `","prompt":"go on"}`
	queueArgs = `{"action":"queue","attempt_id":"` + anAttempt + `","prompt":"go on"}`
)

func TestARunIsAPendingCallUntilItEnds(t *testing.T) {
	for name, c := range map[string]struct{ tool, args, want string }{
		"start": {"start_task_attempt", startArgs, `"attempt_id":"` + anAttempt + `"`},
		"send":  {"follow_up", sendArgs, `"action":"send","execution_process_id":"` + aProcess + `","status":"started"`},
		"queue": {"follow_up", queueArgs, `"action":"queue","execution_process_id":"` + aProcess + `","status":"queued"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := &oneRun{run: runIn(tasks.Running)}
			shown := 0
			o := Options{Open: func(context.Context) (Manager, error) { return r, nil },
				Show: func(_ context.Context, attempt string, _ any) error { shown++; return nil }}
			later := laterOf(t, o, c.tool).Later
			p, err := later.Start(t.Context(), contract.Caller{}, json.RawMessage(c.args))
			if err != nil || !strings.HasPrefix(p.ID, later.Kind) || p.State != contract.Working || shown != 0 {
				t.Fatalf("Start = %+v, %v; want a call that works", p, err)
			}
			look := func(state tasks.State) contract.Pending {
				t.Helper()
				r.run = runIn(state)
				p, err := later.Calls.Look(t.Context(), contract.Caller{Client: "somebody"}, p.ID)
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			if got := look(tasks.Running); got.State != contract.Working || shown != 1 {
				t.Errorf("at work Look = %+v, questions were shown %d times", got, shown)
			}
			done := look(tasks.Completed)
			raw, _ := done.Result.Structured.(json.RawMessage)
			if done.State != contract.Ended || done.Err != nil || !strings.Contains(string(raw), c.want) || !strings.Contains(string(raw), aSession) ||
				done.Result.Text[0] != string(raw) || !strings.Contains(done.Result.Text[1], "get_attempt_changes") {
				t.Errorf("at the end Look = %+v, %s; want %s and the session", done, raw, c.want)
			}
			failed := look(tasks.Failed)
			if f := fault.Of(failed.Err); failed.State != contract.Ended || !failed.Envelope || f == nil || f.Code != "attempt_failed" ||
				!strings.Contains(f.Message, "exit_code=3") || f.Details["attempt_id"] != anAttempt || !strings.Contains(f.Hint, "tail_attempt_logs") {
				t.Errorf("failed, Look = %+v, %+v", failed, f)
			}
			if got := look(tasks.Killed); got.State != contract.Cancelled {
				t.Errorf("stopped, Look = %+v, want cancelled", got)
			}
			if err := later.Calls.Cancel(t.Context(), contract.Caller{}, p.ID); err != nil || r.stopped != "" {
				t.Errorf("Cancel of an ended run = %v, and stopped %q", err, r.stopped)
			}
			r.run = runIn(tasks.Running)
			if err := later.Calls.Cancel(t.Context(), contract.Caller{}, p.ID); err != nil || r.stopped != anAttempt {
				t.Errorf("Cancel = %v, and stopped %q; want the attempt", err, r.stopped)
			}
		})
	}
}

func TestACallThatStartsNoRunEndsAtOnce(t *testing.T) {
	r := &oneRun{queued: true}
	o := Options{Open: func(context.Context) (Manager, error) { return r, nil }}
	p, err := laterOf(t, o, "follow_up").Later.Start(t.Context(), contract.Caller{}, json.RawMessage(queueArgs))
	if err != nil || p.ID != "" || len(p.Result.Text) == 0 {
		t.Errorf("Start of a follow-up that waits = %+v, %v; want its result", p, err)
	}
	_, err = laterOf(t, o, "follow_up").Later.Start(t.Context(), contract.Caller{}, json.RawMessage(`{"action":"send"}`))
	if f := fault.Of(err); f == nil || f.Hint == "" {
		t.Errorf("Start of a bad call = %v, want the fault of the tool", err)
	}
	for _, id := range []string{"run_", "run_s", "run_sx", "run_x" + anAttempt} {
		if _, err := laterOf(t, o, "follow_up").Later.Calls.Look(t.Context(), contract.Caller{}, id); fault.Of(err) == nil || fault.Of(err).Code != contract.UnknownCall {
			t.Errorf("Look(%q) = %v, want %s", id, err, contract.UnknownCall)
		}
	}
}
