package tasks

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/usage"
)

// Usage is what runs of agents consumed, as far as the agents report it.
type Usage struct {
	// TokensIn includes CacheRead and CacheWrite.
	TokensIn, TokensOut, CacheRead, CacheWrite int64
	// Cost is in millionths of a US dollar. It is a minimum unless [Usage.Known].
	Cost int64
	// Runs is the number of runs. Silent is the number of those whose agent reported no
	// tokens, Partial of those for which it reported only some, and Unpriced of those
	// with tokens and without a known price.
	Runs, Silent, Partial, Unpriced int
}

// Known reports whether the cost of every run is known.
func (u Usage) Known() bool { return u.Silent+u.Partial+u.Unpriced == 0 }

// Tokens returns the number of tokens read and written.
func (u Usage) Tokens() int64 { return u.TokensIn + u.TokensOut }

func (u *Usage) add(v Usage) {
	u.TokensIn, u.TokensOut, u.CacheRead, u.CacheWrite = u.TokensIn+v.TokensIn, u.TokensOut+v.TokensOut, u.CacheRead+v.CacheRead, u.CacheWrite+v.CacheWrite
	u.Cost, u.Runs, u.Silent, u.Partial, u.Unpriced = u.Cost+v.Cost, u.Runs+v.Runs, u.Silent+v.Silent, u.Partial+v.Partial, u.Unpriced+v.Unpriced
}

// UsageBy is what usage is grouped by.
type UsageBy string

// Values of UsageBy.
const (
	UsageByProcess UsageBy = "process"
	UsageByAttempt UsageBy = "attempt"
	UsageByTask    UsageBy = "task"
	UsageByProject UsageBy = "project"
	UsageByAgent   UsageBy = "agent"
	UsageByDay     UsageBy = "day"
)

// UsageBys lists all values of UsageBy.
var UsageBys = []UsageBy{UsageByDay, UsageByAgent, UsageByTask, UsageByProject, UsageByAttempt, UsageByProcess}

// UsageQuery selects runs. Empty fields select all.
type UsageQuery struct {
	By                           UsageBy // required
	ProjectID, TaskID, AttemptID string
	Since                        time.Time // when a run started
}

// UsageGroup is the usage of one group.
type UsageGroup struct {
	// Key is the ID of a process, attempt, task or project; the executor of an agent;
	// or the day as 2006-01-02 in local time.
	Key string
	// Name is the task's title or the project's name. For a process it is the model, if
	// it is known, and empty for an agent or a day.
	Name string
	// Last is when the group's last run started.
	Last time.Time
	Usage
}

// groupColumns maps the groups to the columns of their key and name. A day is found by
// quarter hours, because time zones differ by these.
var groupColumns = map[UsageBy][2]string{
	UsageByProcess: {"process_id", "model"}, UsageByAttempt: {"attempt_id", "task"}, UsageByTask: {"task_id", "task"},
	UsageByProject: {"project_id", "project"}, UsageByAgent: {"executor", "CAST('' AS TEXT)"}, UsageByDay: {"CAST(started_at / 900000 AS TEXT)", "CAST('' AS TEXT)"},
}

const usageSums = `COALESCE(SUM(tokens_in), 0), COALESCE(SUM(tokens_out), 0), COALESCE(SUM(cache_read), 0), COALESCE(SUM(cache_write), 0), COALESCE(SUM(cost), 0),
	COUNT(*), COALESCE(SUM(CASE WHEN coverage = '' THEN 1 ELSE 0 END), 0), COALESCE(SUM(CASE WHEN coverage = 'part' THEN 1 ELSE 0 END), 0),
	COALESCE(SUM(CASE WHEN coverage <> '' AND cost_from = '' THEN 1 ELSE 0 END), 0)`

func (u *Usage) fields() []any {
	return []any{&u.TokensIn, &u.TokensOut, &u.CacheRead, &u.CacheWrite, &u.Cost, &u.Runs, &u.Silent, &u.Partial, &u.Unpriced}
}

// Usage returns what the selected runs consumed, group by group, and in all. The last
// group to start a run comes first; days are sorted, newest first. Runs of deleted tasks
// count too.
func (m *Manager) Usage(ctx context.Context, q UsageQuery) (groups []UsageGroup, total Usage, err error) {
	columns, ok := groupColumns[q.By]
	if !ok {
		return nil, total, refuse(InvalidArgument, "group usage by day, agent, task, project, attempt or process", "usage cannot be grouped by %q", brief(string(q.By)))
	}
	within, args := withinRows(ctx, "project_id", millis(q.Since))
	where := []string{"started_at >= ?", within}
	for _, one := range [][2]string{{"project_id", q.ProjectID}, {"task_id", q.TaskID}, {"attempt_id", q.AttemptID}} {
		if one[1] == "" {
			continue
		}
		id, err := parseID(one[0], one[1])
		if err != nil {
			return nil, total, err
		}
		where, args = append(where, one[0]+" = ?"), append(args, id)
	}
	err = m.db.View(ctx, func(tx *store.Tx) (err error) {
		groups, err = all(ctx, tx, scanGroup, "SELECT "+columns[0]+", MAX("+columns[1]+"), MAX(started_at), "+usageSums+
			" FROM run_usage WHERE "+strings.Join(where, " AND ")+" GROUP BY "+columns[0]+" ORDER BY MAX(started_at) DESC, 1", args...)
		return err
	})
	if err != nil {
		return nil, total, fmt.Errorf("read usage: %w", err)
	}
	if q.By == UsageByDay {
		groups = days(groups)
	}
	for _, g := range groups {
		total.add(g.Usage)
	}
	return groups, total, nil
}

func scanGroup(row scanner) (g UsageGroup, err error) {
	var last int64
	err = row.Scan(append([]any{&g.Key, &g.Name, &last}, g.Usage.fields()...)...)
	g.Last = at(last)
	return g, err
}

// days joins quarter hours into days. They are sorted, newest first.
func days(quarters []UsageGroup) (joined []UsageGroup) {
	for _, g := range quarters {
		g.Key = g.Last.Local().Format(time.DateOnly)
		if n := len(joined); n > 0 && joined[n-1].Key == g.Key {
			joined[n-1].add(g.Usage)
			continue
		}
		joined = append(joined, g)
	}
	return joined
}

// attemptUsage returns the usage of an attempt.
func attemptUsage(ctx context.Context, tx *store.Tx, attemptID string) (u Usage, err error) {
	err = tx.QueryRow(ctx, "SELECT "+usageSums+" FROM run_usage WHERE attempt_id = ?", attemptID).Scan(u.fields()...)
	return u, err
}

// turnUsage is the usage of the agent's current turn, which the agent reports while it
// works, and the heartbeat stores. Its fields are guarded by run.usageMu.
type turnUsage struct {
	turn    int // number of the turn in its process; 0 before the first
	started time.Time
	report  usage.Report
	held    bool // the agent has not started, so nothing is stored
	dirty   bool // the report is not stored
	stored  time.Time
}

// usageGap is the minimum time between two writes of the usage of one turn.
const usageGap = 200 * time.Millisecond

// prepareUsage begins to count a turn, before its agent starts.
func (r *run) prepareUsage() {
	r.usageMu.Lock()
	defer r.usageMu.Unlock()
	r.spent = turnUsage{turn: r.spent.turn + 1, started: time.Now(), held: true, dirty: true}
}

// beginUsage stores that a turn has begun, so that one without any report counts too.
func (r *run) beginUsage() error {
	r.usageMu.Lock()
	r.spent.held = false
	r.usageMu.Unlock()
	return r.storeUsage(r.ctx)
}

// reported takes the agent's report of its current turn.
func (r *run) reported(u usage.Report) {
	r.usageMu.Lock()
	r.spent.report, r.spent.dirty = u, true
	r.usageMu.Unlock()
	wake(r.checkNow)
}

// flushUsage stores a new report, but not several in a row.
func (r *run) flushUsage(ctx context.Context) {
	r.usageMu.Lock()
	due := r.spent.dirty && !r.spent.held && time.Since(r.spent.stored) >= usageGap
	r.usageMu.Unlock()
	if !due {
		return
	}
	if err := r.storeUsage(ctx); err != nil && ctx.Err() == nil {
		r.m.options.Log.Warn("cannot store what an agent consumed", "attempt_id", r.attemptID, "error", err)
		return
	}
	r.checkBudget(ctx)
}

// storeUsage stores the report of the current turn. Storing the same report again
// changes nothing.
func (r *run) storeUsage(ctx context.Context) error {
	r.mu.Lock()
	p, session := r.p.Process, r.agentSessionID
	r.mu.Unlock()
	r.usageMu.Lock()
	defer r.usageMu.Unlock()
	s := &r.spent
	if !s.dirty || s.held {
		return nil
	}
	t := s.report.Tokens()
	cost, from := r.m.options.Prices.Cost(s.report, p.Executor)
	err := r.m.db.UpdateFast(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO run_usage (process_id, turn, attempt_id, task_id, project_id, task, project, executor, agent_session, model,
			tokens_in, tokens_out, cache_read, cache_write, cost, cost_from, coverage, started_at) VALUES (`+marks(18)+`)
			ON CONFLICT (process_id, turn) DO UPDATE SET agent_session = excluded.agent_session, model = excluded.model, tokens_in = excluded.tokens_in,
			tokens_out = excluded.tokens_out, cache_read = excluded.cache_read, cache_write = excluded.cache_write, cost = excluded.cost,
			cost_from = excluded.cost_from, coverage = excluded.coverage`,
			p.ID, s.turn, p.AttemptID, r.task.ID, r.task.ProjectID, r.task.Title, r.project.Name, p.Executor, session, storable(s.report.MainModel()),
			t.In, t.Out, t.CacheRead, t.CacheWrite, cost, from, s.report.Coverage, millis(s.started))
		return err
	})
	if err != nil {
		return fmt.Errorf("store usage: %w", err)
	}
	s.dirty, s.stored = false, time.Now()
	return nil
}

// usedBefore returns what earlier turns of the agent's own session consumed.
func (r *run) usedBefore(agentSession string) (t usage.Tokens, err error) {
	if agentSession == "" {
		return t, nil
	}
	err = r.m.db.View(r.ctx, func(tx *store.Tx) error {
		return tx.QueryRow(r.ctx, `SELECT COALESCE(SUM(tokens_in), 0), COALESCE(SUM(tokens_out), 0), COALESCE(SUM(cache_read), 0), COALESCE(SUM(cache_write), 0)
			FROM run_usage WHERE agent_session = ? AND attempt_id = ?`, agentSession, r.attemptID).Scan(&t.In, &t.Out, &t.CacheRead, &t.CacheWrite)
	})
	if err != nil {
		return t, fmt.Errorf("read the session's usage: %w", err)
	}
	return t, nil
}
