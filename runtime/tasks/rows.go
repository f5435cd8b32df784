package tasks

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schemas returns the schemas that a Manager's store must be opened with.
func Schemas() []store.Schema {
	return []store.Schema{store.NewSchema("tasks", migrations), logs.Schema()}
}

// at converts a column to a time. 0 is the zero time.
func at(milliseconds int64) time.Time {
	if milliseconds == 0 {
		return time.Time{}
	}
	return time.UnixMilli(milliseconds).UTC()
}

// millis converts a time to a column in milliseconds. The zero time is 0.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// scanner is a row, or the current row of a result.
type scanner interface{ Scan(...any) error }

// one reads the row with an ID. If there is no such row, it returns the fault
// for an unknown ID. field is the name of the ID's field.
func one[T any](ctx context.Context, tx *store.Tx, field, id string, scan func(scanner) (T, error), query string) (T, error) {
	v, err := scan(tx.QueryRow(ctx, query, id))
	if errors.Is(err, sql.ErrNoRows) {
		return v, unknown(field, id)
	}
	if err != nil {
		return v, fmt.Errorf("read %s: %w", noun(field), err)
	}
	return v, nil
}

// all reads every row of a query.
func all[T any](ctx context.Context, tx *store.Tx, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, v)
	}
	return found, rows.Err()
}

// marks returns n placeholders for an SQL list.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

const projectColumns = "id, name, sandbox, sandbox_network, landing, commit_template, forge, forge_url, share, created_at, updated_at"

func scanProject(row scanner) (p Project, err error) {
	var created, updated int64
	var network string
	err = row.Scan(&p.ID, &p.Name, &p.Sandbox, &network, &p.Landing, &p.CommitTemplate, &p.Forge, &p.ForgeURL, &p.Share, &created, &updated)
	p.Network = hostsOf(network)
	p.Created, p.Updated = at(created), at(updated)
	return p, err
}

func readProject(ctx context.Context, tx *store.Tx, id string) (Project, error) {
	if err := within(ctx, id, "project_id", id); err != nil {
		return Project{}, err
	}
	return one(ctx, tx, "project_id", id, scanProject, "SELECT "+projectColumns+" FROM projects WHERE id = ?")
}

const repoColumns = "id, project_id, name, path, target_branch, setup, cleanup, dev_server, copy_files, root, hooks, created_at, updated_at"

func scanRepo(row scanner) (r Repo, err error) {
	var created, updated int64
	var globs string
	if err = row.Scan(&r.ID, &r.ProjectID, &r.Name, &r.Path, &r.TargetBranch, &r.Setup, &r.Cleanup, &r.DevServer, &globs, &r.root, &r.hooks, &created, &updated); err != nil {
		return r, err
	}
	r.Created, r.Updated = at(created), at(updated)
	return r, json.Unmarshal([]byte(globs), &r.CopyFiles)
}

func readRepo(ctx context.Context, tx *store.Tx, id string) (Repo, error) {
	r, err := one(ctx, tx, "repo_id", id, scanRepo, "SELECT "+repoColumns+" FROM repos WHERE id = ?")
	if err == nil {
		err = within(ctx, r.ProjectID, "repo_id", id)
	}
	return r, err
}

// writeRepo stores a repository. If several machines share the store, r.Path is where host
// has it, and the other machines keep their paths.
func writeRepo(ctx context.Context, tx *store.Tx, r Repo, host string) error {
	globs, err := json.Marshal(r.CopyFiles)
	if err != nil {
		return err
	}
	path := "excluded.path"
	if host != "" {
		path = "repos.path"
	}
	_, err = tx.Exec(ctx, `INSERT INTO repos (`+repoColumns+`) VALUES (`+marks(13)+`)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, path = `+path+`, root = excluded.root, hooks = excluded.hooks, target_branch = excluded.target_branch, setup = excluded.setup,
			cleanup = excluded.cleanup, dev_server = excluded.dev_server, copy_files = excluded.copy_files, updated_at = excluded.updated_at`,
		r.ID, r.ProjectID, r.Name, r.Path, r.TargetBranch, r.Setup, r.Cleanup, r.DevServer, string(globs), r.root, r.hooks, millis(r.Created), millis(r.Updated))
	if err == nil && host != "" {
		err = writePlace(ctx, tx, r.ID, host, r.Path)
	}
	if err != nil {
		return fmt.Errorf("write repo: %w", err)
	}
	return nil
}

// writePlace stores where a host has a repository.
func writePlace(ctx context.Context, tx *store.Tx, repoID, host, path string) error {
	_, err := tx.Exec(ctx, `INSERT INTO repo_places (repo_id, host, path) VALUES (?, ?, ?)
		ON CONFLICT (repo_id, host) DO UPDATE SET path = excluded.path`, repoID, host, path)
	return err
}

const taskColumns = "t.id, t.project_id, t.title, t.description, t.status, t.created_at, t.updated_at"

func scanTask(row scanner) (t Task, err error) {
	var created, updated int64
	err = row.Scan(&t.ID, &t.ProjectID, &t.Title, &t.Description, &t.Status, &created, &updated)
	t.Created, t.Updated = at(created), at(updated)
	return t, err
}

func readTask(ctx context.Context, tx *store.Tx, id string) (Task, error) {
	t, err := one(ctx, tx, "task_id", id, scanTask, "SELECT "+taskColumns+" FROM tasks t WHERE t.id = ?")
	if err == nil {
		err = within(ctx, t.ProjectID, "task_id", id)
	}
	return t, err
}

const attemptColumns = "a.id, a.task_id, a.branch, a.dir, a.host, a.removed, a.repos, a.work, a.sandbox, a.created_at, a.updated_at, a.person"

func scanAttempt(row scanner) (a attempt, err error) {
	var created, updated int64
	var repos, sandbox string
	if err = row.Scan(&a.ID, &a.TaskID, &a.Branch, &a.Dir, &a.host, &a.removed, &repos, &a.work, &sandbox, &created, &updated, &a.Person); err != nil {
		return a, err
	}
	a.Sandbox = readSandbox(sandbox)
	a.Created, a.Updated = at(created), at(updated)
	return a, json.Unmarshal([]byte(repos), &a.Repos)
}

// attempt is an attempt with its internal columns.
type attempt struct {
	Attempt
	host    string
	removed int
	work    string // a [Work] as JSON
}

func readAttempt(ctx context.Context, tx *store.Tx, id string) (attempt, error) {
	a, err := one(ctx, tx, "attempt_id", id, scanAttempt, "SELECT "+attemptColumns+" FROM attempts a WHERE a.id = ?")
	if err == nil {
		err = withinTask(ctx, tx, a.TaskID, "attempt_id", id)
	}
	return a, err
}

func insertAttempt(ctx context.Context, tx *store.Tx, a attempt) error {
	repos, err := json.Marshal(a.Repos)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "INSERT INTO attempts (id, task_id, branch, dir, host, removed, repos, created_at, updated_at, person) VALUES ("+marks(10)+")",
		a.ID, a.TaskID, a.Branch, a.Dir, a.host, a.removed, string(repos), millis(a.Created), millis(a.Updated), a.Person)
	if err != nil {
		return fmt.Errorf("write attempt: %w", err)
	}
	return nil
}

const sessionColumns = "s.id, s.attempt_id, s.executor, s.variant, s.agent_session, s.created_at, s.updated_at"

func scanSession(row scanner) (s Session, err error) {
	var created, updated int64
	err = row.Scan(&s.ID, &s.AttemptID, &s.Executor, &s.Variant, &s.AgentSession, &created, &updated)
	s.Created, s.Updated = at(created), at(updated)
	return s, err
}

func readSession(ctx context.Context, tx *store.Tx, id string) (Session, error) {
	s, err := one(ctx, tx, "session_id", id, scanSession, "SELECT "+sessionColumns+" FROM sessions s WHERE s.id = ?")
	if err == nil {
		err = withinAttempt(ctx, tx, s.AttemptID, "session_id", id)
	}
	return s, err
}

// latestSession returns an attempt's newest session, or the zero Session if there is
// none.
func latestSession(ctx context.Context, tx *store.Tx, attemptID string) (Session, error) {
	s, err := scanSession(tx.QueryRow(ctx, "SELECT "+sessionColumns+" FROM sessions s WHERE s.attempt_id = ? ORDER BY s.created_at DESC, s.id LIMIT 1", attemptID))
	if errors.Is(err, sql.ErrNoRows) {
		return Session{}, nil
	}
	return s, err
}

const processColumns = `p.id, p.attempt_id, p.task_id, p.session_id, p.ordinal, p.reason, p.state, p.executor, p.variant, p.prompt, p.exit_code, p.failure,
	p.created_at, p.started_at, p.completed_at, p.updated_at,
	p.host, p.launched_at, p.owner, p.lease_until, p.runner_pid, p.runner_born, p.agent_pid, p.agent_born, p.stop, p.token,
	p.origin, p.made_with, p.places, p.asking_since, p.executor_places, p.person`

// process is a process with its internal columns.
type process struct {
	Process
	taskID        string
	ordinal       int64
	host          string
	launched      time.Time
	owner         string
	beat          time.Time // see Manager.lastBeat; not stored in the row
	lease         time.Time
	runner, agent proc.Leader
	stop          string
	token         string
	asking        time.Time // since when it has been waiting for a person; zero if it is not waiting
	stamp
}

func scanProcess(row scanner) (p process, err error) {
	var exit sql.NullInt64
	var created, started, completed, updated, launched, lease, asking int64
	err = row.Scan(&p.ID, &p.AttemptID, &p.taskID, &p.SessionID, &p.ordinal, &p.Reason, &p.State, &p.Executor, &p.Variant, &p.Prompt, &exit, &p.Failure,
		&created, &started, &completed, &updated,
		&p.host, &launched, &p.owner, &lease, &p.runner.PID, &p.runner.StartTime, &p.agent.PID, &p.agent.StartTime, &p.stop, &p.token,
		&p.origin, &p.madeWith, &p.slots, &asking, &p.ofExecutor, &p.Person)
	if exit.Valid {
		code := int(exit.Int64)
		p.ExitCode = &code
	}
	p.Created, p.Started, p.Completed, p.Updated = at(created), at(started), at(completed), at(updated)
	p.launched, p.lease, p.asking = at(launched), at(lease), at(asking)
	return p, err
}

func readProcess(ctx context.Context, tx *store.Tx, id string) (process, error) {
	p, err := one(ctx, tx, "execution_process_id", id, scanProcess, "SELECT "+processColumns+" FROM processes p WHERE p.id = ?")
	if err == nil {
		err = withinTask(ctx, tx, p.taskID, "execution_process_id", id)
	}
	return p, err
}

// latestProcess returns an attempt's newest process, or nil if there is none.
func latestProcess(ctx context.Context, tx *store.Tx, attemptID string) (*process, error) {
	p, err := scanProcess(tx.QueryRow(ctx, "SELECT "+processColumns+" FROM processes p WHERE p.attempt_id = ? ORDER BY p.ordinal DESC LIMIT 1", attemptID))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read process: %w", err)
	}
	return &p, nil
}

// insertProcess stores a process and appends its event. The event's sequence
// number becomes the process's ordinal.
func insertProcess(ctx context.Context, tx *store.Tx, p *process, projectID string) (err error) {
	kind := ProcessQueued
	if p.State == Running {
		kind = ProcessStarted
	}
	p.ordinal, err = note(tx, Event{Type: kind, ProjectID: projectID, TaskID: p.taskID, AttemptID: p.AttemptID, SessionID: p.SessionID, ProcessID: p.ID, State: p.State})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "INSERT INTO processes (tokens_in, tokens_out, cost, "+strings.ReplaceAll(processColumns, "p.", "")+") VALUES (0, 0, 0, "+marks(32)+")",
		p.ID, p.AttemptID, p.taskID, p.SessionID, p.ordinal, p.Reason, p.State, p.Executor, p.Variant, p.Prompt, exitColumn(p.ExitCode), p.Failure,
		millis(p.Created), millis(p.Started), millis(p.Completed), millis(p.Updated),
		p.host, millis(p.launched), p.owner, millis(p.lease), p.runner.PID, p.runner.StartTime, p.agent.PID, p.agent.StartTime, p.stop, p.token,
		p.origin, p.madeWith, p.slots, millis(p.asking), p.ofExecutor, p.Person)
	if err != nil {
		return fmt.Errorf("write process: %w", err)
	}
	return nil
}

func exitColumn(code *int) sql.NullInt64 {
	if code == nil {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: int64(*code), Valid: true}
}
