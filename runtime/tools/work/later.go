package work

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// For a client that fetches results later, a call to start_task_attempt or
// follow_up lasts as long as the run that it starts. The call's ID consists of a
// letter for the cause of the run and the ID of the run's first process, so the
// task store's rows are the only state that is needed.

// kind is the prefix of a run's ID.
const kind = "run_"

// pollEvery is how often a client should poll. Runs take minutes.
const pollEvery = 5 * time.Second

// Values for the cause of a run.
const (
	byStart = "s"
	bySend  = "f"
	byQueue = "q" // nothing was running, so the run began immediately
)

// started is the result of a call that started a run; it names that run.
type started interface {
	// run returns the run's ID, or "" if none was started.
	run() string
}

func (s Started) run() string { return runID(byStart, s.ProcessID) }

func (f FollowUp) run() string {
	if f.Action == string(tasks.Queue) {
		return runID(byQueue, f.ProcessID)
	}
	return runID(bySend, f.ProcessID)
}

func runID(by string, process *contract.UUID) string {
	if process == nil {
		return ""
	}
	return kind + by + string(*process)
}

// lasting makes each call to a tool with result T last as long as the run that it
// starts. A call that starts no run ends immediately.
func lasting[T started](o Options, tool contract.Tool) contract.Tool {
	tool.Later = &contract.Later{Kind: kind, Calls: pendingCalls{o},
		Start: func(ctx context.Context, caller contract.Caller, args json.RawMessage) (contract.Pending, error) {
			result, err := tool.Call(ctx, caller, args)
			if err != nil {
				return contract.Pending{}, err
			}
			var out T
			raw, _ := result.Structured.(json.RawMessage)
			if err := json.Unmarshal(raw, &out); err != nil {
				return contract.Pending{}, fmt.Errorf("read the result of %s: %w", tool.Name, err)
			}
			if out.run() == "" {
				return contract.Pending{Result: result}, nil
			}
			return pendingCalls{o}.Look(ctx, contract.Caller{}, out.run())
		}}
	return tool
}

// pendingCalls implements [contract.PendingCalls] for runs.
type pendingCalls struct{ o Options }

func (k pendingCalls) find(ctx context.Context, id string) (m Manager, run tasks.Run, by string, err error) {
	if m, err = k.o.Open(ctx); err != nil {
		return nil, run, "", err
	}
	rest := strings.TrimPrefix(id, kind)
	if len(rest) < 2 {
		return nil, run, "", contract.NoCall()
	}
	run, err = m.RunFrom(ctx, rest[1:])
	if fault.Of(err) != nil {
		err = contract.NoCall()
	}
	return m, run, rest[:1], err
}

// Look implements [contract.PendingCalls].
func (k pendingCalls) Look(ctx context.Context, caller contract.Caller, id string) (contract.Pending, error) {
	_, run, by, err := k.find(ctx, id)
	if err != nil {
		return contract.Pending{}, err
	}
	p := contract.Pending{ID: id, Created: run.Began.Created, Updated: run.Newest.Updated, Poll: pollEvery, Envelope: true}
	if run.Newest.Completed.After(p.Updated) {
		p.Updated = run.Newest.Completed
	}
	switch run.Newest.State {
	case tasks.Completed:
		p.State, p.Message = contract.Ended, "The attempt has completed."
		p.Result, p.Err = k.result(run, by)
	case tasks.Failed:
		p.State, p.Message, p.Err = contract.Ended, "The attempt has failed.", k.failed(run)
	case tasks.Killed:
		p.State, p.Message = contract.Cancelled, "The attempt was stopped."
	case tasks.Queued:
		p.Message = "The attempt is waiting for a free slot."
	default:
		p.Message = fmt.Sprintf("The attempt is running: %s.", run.Newest.Reason)
		if k.o.Show != nil && caller.Client != nil {
			err = k.o.Show(ctx, run.Attempt.ID, caller.Client)
		}
	}
	return p, err
}

// result returns an updated result of the tool that started the run, and a line
// with the next step.
func (k pendingCalls) result(run tasks.Run, by string) (contract.Result, error) {
	session, process := run.Newest.SessionID, run.Began.ID
	var out any
	switch by {
	case byStart:
		out = startedOf(tasks.Started{TaskID: run.TaskID, AttemptID: run.Attempt.ID, Branch: run.Branch, SessionID: session, ProcessID: process})
	case byQueue:
		out = followUpOf(tasks.FollowUp{SessionID: session, Action: tasks.Queue, Status: "queued", ProcessID: process})
	default:
		out = followUpOf(tasks.FollowUp{SessionID: session, Action: tasks.Send, Status: "started", ProcessID: process})
	}
	raw, err := encode(out)
	if err != nil {
		return contract.Result{}, fmt.Errorf("encode result: %w", err)
	}
	next := k.o.named("The attempt has completed. Call get_attempt_changes with attempt_id " + run.Attempt.ID + " to list its changes.")
	return contract.Result{Text: []string{string(raw), next}, Structured: raw}, nil
}

// failed returns the fault that says why a run failed.
func (k pendingCalls) failed(run tasks.Run) *fault.Fault {
	return fault.New("attempt_failed", "the attempt has failed: "+run.Failure(),
		k.o.named("call tail_attempt_logs with attempt_id "+run.Attempt.ID+" to see why, then follow_up to continue")).
		With("attempt_id", run.Attempt.ID).With("execution_process_id", run.Newest.ID).With("session_id", run.Newest.SessionID)
}

// Answer implements [contract.PendingCalls].
func (k pendingCalls) Answer(ctx context.Context, caller contract.Caller, id string) error {
	_, run, _, err := k.find(ctx, id)
	if err != nil || k.o.Take == nil || run.Newest.State.Ended() {
		return err
	}
	return k.o.Take(ctx, run.Attempt.ID, caller.Client)
}

// Cancel implements [contract.PendingCalls]. It stops the attempt if this run is
// its current one.
func (k pendingCalls) Cancel(ctx context.Context, _ contract.Caller, id string) error {
	m, run, _, err := k.find(ctx, id)
	if err != nil || run.Newest.State.Ended() {
		return err
	}
	_, err = m.Stop(ctx, run.Attempt.ID, false)
	return err
}

// Watch implements [contract.PendingCalls].
func (k pendingCalls) Watch(ctx context.Context, id string) (contract.Watcher, error) {
	m, run, _, err := k.find(ctx, id)
	if err != nil {
		return nil, err
	}
	w, err := m.Watch(ctx, -1, run.Attempt.ID)
	if err != nil {
		return nil, err
	}
	return w, nil
}
