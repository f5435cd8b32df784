package tasks

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

// Executors returns the supported agents, installed or not, sorted by ID.
func (m *Manager) Executors(context.Context) (list []Executor, err error) {
	for _, i := range m.options.Agents.List() {
		e := Executor{ID: i.ID, Variants: i.Variants, Default: i.Default, Protocol: i.Kind,
			MCP: i.MCP, FollowUp: i.FollowUp, Approvals: i.Approvals, Missing: i.Missing}
		if c, ok := m.options.Agents.Container(i.ID); ok {
			e.Container = &c
		}
		list = append(list, e)
	}
	return list, nil
}

// agent runs the agent with the process's prompt.
func (r *run) agent() ending {
	r.log.Append(logs.User(r.p.Prompt))
	spec := executor.Spec{ID: r.p.ID, Dir: r.c.home(), Prompt: r.p.Prompt, Variant: r.p.Variant, Env: r.env,
		Log: activityLog{r.log, r}, Session: r.agentSession, Usage: r.reported}
	var err error
	if spec.Resume, spec.Before, err = r.resumeSession(); err != nil {
		return failed(err.Error())
	}
	if spec.Used, err = r.usedBefore(spec.Resume); err != nil {
		return failed(err.Error())
	}
	if r.url != "" {
		spec.MCP = executor.MCP{URL: r.url, Token: r.token}
	}
	if r.m.options.Ask != nil {
		spec.Ask = r.ask
	}
	if r.box != nil {
		spec.Box, spec.Kill = r.box.command, r.box.kill
	}
	if err := r.withImages(&spec); err != nil {
		return failed(err.Error())
	}
	if e := r.gate(); e != nil {
		return *e
	}
	t := r.turn(spec, r.beginTurn)
	if t.lost && r.ctx.Err() == nil {
		r.log.Append(logs.System("the agent no longer has its session"))
		spec.Resume = ""
		t = r.turn(spec, continuing)
	}
	for t.paused && r.ctx.Err() == nil {
		if e := r.gate(); e != nil {
			return *e
		}
		if err := r.continueAfterPause(&spec); err != nil {
			return failed(err.Error())
		}
		t = r.turn(spec, continuing)
	}
	return t.ending
}

// continuing is the begin function of a turn that continues the process's first one.
func continuing() error { return nil }

// pausedPrompt is the prompt that continues an interrupted turn.
const pausedPrompt = "You were interrupted because a budget was used up. A person has allowed more. Continue where you stopped."

// continueAfterPause prepares the spec of a turn that continues an interrupted one.
func (r *run) continueAfterPause(spec *executor.Spec) (err error) {
	if spec.Resume, spec.Before, err = r.resumeSession(); err != nil {
		return err
	}
	if spec.Used, err = r.usedBefore(spec.Resume); err != nil {
		return err
	}
	spec.Prompt, spec.Images = pausedPrompt, nil
	if spec.Resume == "" || !r.m.resumes(r.p.Executor) { // the agent does not know what it was doing
		spec.Prompt += "\n\n" + r.p.Prompt
		if err := r.withImages(spec); err != nil {
			return err
		}
	}
	r.log.Append(logs.User(pausedPrompt))
	return nil
}

// resumes reports whether an executor can resume its own sessions.
func (m *Manager) resumes(id string) bool {
	for _, i := range m.options.Agents.List() {
		if i.ID == id {
			return i.FollowUp
		}
	}
	return false
}

// turnResult is how a turn ended. lost reports that the agent no longer has its session,
// and paused that it was interrupted because a budget is used up.
type turnResult struct {
	ending
	lost, paused bool
}

// turn starts the agent and waits until it exits. It calls begin once the agent is
// running.
func (r *run) turn(spec executor.Spec, begin func() error) turnResult {
	notRun := func(why string) turnResult { return turnResult{ending: failed(why)} }
	r.prepareUsage()
	run, err := r.m.options.Agents.Start(r.ctx, r.p.Executor, spec)
	if err != nil {
		r.log.Append(logs.Failed(errorText(err)))
		return notRun("cannot start the agent: " + errorText(err))
	}
	var leader proc.Leader // zero for a remote agent
	if pid := run.Pid(); pid > 0 {
		leader = proc.LeaderOf(pid)
	}
	if err := errors.Join(r.noteAgent(leader), begin(), r.beginUsage()); err != nil {
		run.Kill()
		run.Wait()
		return notRun(err.Error())
	}
	paused := r.awaitTurn(run.Done(), run)
	res := run.Wait()
	if err := r.storeUsage(context.WithoutCancel(r.ctx)); err != nil {
		r.m.options.Log.Warn("cannot store what an agent consumed", "attempt_id", r.attemptID, "error", err)
	}
	e := agentEnding(res)
	return turnResult{e, res.Lost, paused && e.State != Completed}
}

func agentEnding(res executor.Result) ending {
	e := ending{State: Completed, ExitCode: res.Exit, Summary: res.Summary}
	if res.Failure == "" {
		return e
	}
	e.State, e.Failure = Failed, "failed: "+res.Failure
	if code := res.Exit; code != nil && *code != 0 {
		e.Failure = fmt.Sprintf("failed (exit_code=%d)", *code)
		if why := strings.TrimPrefix(strings.TrimPrefix(res.Failure, fmt.Sprintf("exit status %d", *code)), ": "); why != "" {
			e.Failure += ": " + why
		}
	}
	return e
}

// resumeSession returns the ID of the agent's own session to resume, or "" for
// a new session. For an agent that cannot resume a session, it also returns the
// text to put before the prompt.
func (r *run) resumeSession() (id, before string, err error) {
	if r.p.SessionID == "" {
		return "", "", nil
	}
	err = r.m.db.View(r.ctx, func(tx *store.Tx) error {
		s, err := readSession(r.ctx, tx, r.p.SessionID)
		if err != nil {
			return err
		}
		page, err := readTurns(r.ctx, tx, s.ID, MessageQuery{Limit: maxTurns})
		id, before = s.AgentSession, transcriptPrompt(page)
		return err
	})
	return id, before, err
}

// agentSession stores the agent's own session ID. The agent may report that ID
// before our session has begun.
func (r *run) agentSession(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.agentSessionID = storable(id)
	if r.p.SessionID == "" {
		return
	}
	if err := r.m.db.UpdateFast(r.ctx, func(tx *store.Tx) error { return r.noteSession(tx) }); err != nil && r.ctx.Err() == nil {
		r.m.options.Log.Warn("cannot record the agent's session", "process_id", r.p.ID, "error", err)
	}
}

func (r *run) noteSession(tx *store.Tx) error {
	_, err := tx.Exec(r.ctx, "UPDATE sessions SET agent_session = ? WHERE id = ?", r.agentSessionID, r.p.SessionID)
	return err
}

// ask puts the agent's question to a person, and stops the run's clock until
// the answer arrives.
func (r *run) ask(ctx context.Context, q executor.Question) (executor.Answer, error) {
	r.addQuestions(1)
	defer r.addQuestions(-1)
	defer r.touch()
	r.mu.Lock()
	p := r.p.Process
	r.mu.Unlock()
	return r.m.options.Ask(ctx, r.c.Attempt, p, q)
}

// beginTurn stores the turn after the agent has started. If this is the
// session's first turn, it stores the session too.
func (r *run) beginTurn() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var p process
	err := r.m.db.Update(r.ctx, func(tx *store.Tx) (err error) {
		p = r.p
		if p.SessionID == "" {
			if p.SessionID, err = r.newSession(tx); err != nil {
				return err
			}
		}
		done, err := tx.Exec(r.ctx, "UPDATE processes SET session_id = ? WHERE id = ? AND owner = ? AND state = ?", p.SessionID, p.ID, p.owner, Running)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errLost
		}
		_, err = tx.Exec(r.ctx, `INSERT INTO turns (session_id, entry_index, id, process_id, prompt, summary, created_at, updated_at)
			SELECT ?, (SELECT COUNT(*) FROM turns WHERE session_id = ?), ?, ?, ?, '', ?, ?`,
			p.SessionID, p.SessionID, newID(), p.ID, p.Prompt, millis(tx.Now), millis(tx.Now))
		return err
	})
	if errors.Is(err, errLost) {
		r.cancel(errLost)
	}
	if err != nil {
		return fmt.Errorf("begin turn: %w", err)
	}
	r.p = p
	if r.agentSessionID != "" {
		return r.m.db.UpdateFast(r.ctx, func(tx *store.Tx) error { return r.noteSession(tx) })
	}
	return nil
}

// newSession stores a new session of the attempt.
func (r *run) newSession(tx *store.Tx) (id string, err error) {
	newest, err := latestSession(r.ctx, tx, r.p.AttemptID)
	if err != nil {
		return "", err
	}
	id, created := newID(), after(tx.Now, newest.Created)
	_, err = tx.Exec(r.ctx, "INSERT INTO sessions (id, attempt_id, executor, variant, agent_session, created_at, updated_at) VALUES ("+marks(7)+")",
		id, r.p.AttemptID, r.p.Executor, r.p.Variant, "", millis(created), millis(created))
	if err != nil {
		return "", err
	}
	_, err = note(tx, Event{Type: SessionStarted, ProjectID: r.task.ProjectID, TaskID: r.p.taskID, AttemptID: r.p.AttemptID, SessionID: id, ProcessID: r.p.ID})
	return id, err
}

// activityLog is a log whose entries count as activity.
type activityLog struct {
	*logs.Writer
	r *run
}

func (n activityLog) Raw(s logs.Stream, p []byte) { n.r.raw(s, p) }

func (n activityLog) Append(e logs.Entry) int64 {
	n.r.touch()
	return n.Writer.Append(e)
}

func (n activityLog) Replace(index int64, e logs.Entry) {
	n.r.touch()
	n.Writer.Replace(index, e)
}
