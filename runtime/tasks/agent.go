package tasks

import (
	"errors"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

// agent runs the agent with the prompt of the process.
func (r *run) agent() ending {
	r.log.Append(logs.User(r.p.Prompt))
	if err := r.converse(""); err != nil {
		return failed(err.Error())
	}
	e := r.script(r.c.home(), translate(r.p.Prompt))
	if e.State == Completed {
		e.Summary = "did it"
	}
	return e
}

func translate(prompt string) string {
	var b strings.Builder
	for line := range strings.Lines(prompt) {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		q := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "'\\''") + "'" }
		switch verb {
		case "say":
			fmt.Fprintf(&b, "echo %s\n", q(rest))
		case "write":
			path, text, _ := strings.Cut(rest, " ")
			fmt.Fprintf(&b, "mkdir -p $(dirname %s); echo %s > %s\n", path, q(text), path)
		case "run":
			fmt.Fprintln(&b, rest)
		case "sleep":
			fmt.Fprintln(&b, "sleep", rest)
		case "spam":
			fmt.Fprintf(&b, "for i in $(seq %s); do echo $i; done\n", rest)
		case "fail":
			fmt.Fprintf(&b, "echo %s >&2; exit 1\n", q(rest))
		case "crash":
			fmt.Fprintln(&b, "kill -9 $$")
		case "hang":
			fmt.Fprintln(&b, "sleep 100000")
		}
	}
	return b.String()
}

// converse begins the turn, and the session if this is its first: an agent has
// been started.
func (r *run) converse(agentSession string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.p
	err := r.m.db.Update(r.ctx, func(tx *store.Tx) error {
		p = r.p
		if p.SessionID == "" {
			newest, err := latestSession(r.ctx, tx, p.AttemptID)
			if err != nil {
				return err
			}
			created := after(tx.Now, newest.Created)
			p.SessionID = newID()
			_, err = tx.Exec(r.ctx, "INSERT INTO sessions (id, attempt_id, executor, variant, agent_session, created_at, updated_at) VALUES ("+marks(7)+")",
				p.SessionID, p.AttemptID, p.Executor, p.Variant, agentSession, millis(created), millis(created))
			if err != nil {
				return err
			}
			if _, err := note(tx, Event{Type: SessionStarted, ProjectID: r.task.ProjectID, TaskID: p.taskID, AttemptID: p.AttemptID, SessionID: p.SessionID, ProcessID: p.ID}); err != nil {
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
	if err == nil {
		r.p = p
	}
	return err
}
