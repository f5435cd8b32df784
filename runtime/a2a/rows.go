package a2a

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the schema that a Server's store must be opened with.
func Schema() store.Schema { return store.NewSchema("agents", migrations) }

// mostListed is the maximum number of tasks that a list reads, newest first.
const mostListed = 1000

// mostMessages is the maximum number of client messages that a task keeps.
const mostMessages = 100

const taskColumns = "SELECT id, context, skill, subject, late, history, created, owner FROM a2a_tasks "

func scanTask(row interface{ Scan(...any) error }) (*task, error) {
	var t task
	var history []byte
	var created int64
	if err := row.Scan(&t.id, &t.context, &t.skill, &t.subject, &t.late, &history, &created, &t.owner); err != nil {
		return nil, err
	}
	t.created = time.UnixMilli(created)
	if err := json.Unmarshal(history, &t.history); err != nil {
		return nil, fmt.Errorf("decode history: %w", err)
	}
	return &t, nil
}

// visible returns a condition on the tasks that a caller may see, and its argument. A caller
// with a name sees its own, and other agents those that nobody with a name created. The
// owner of the installation and this server itself see all.
func visible(ctx context.Context) (where string, args []any) {
	c := access.Of(ctx)
	if !access.Known(ctx) || c.Name == "" && c.Level >= access.People {
		return "1 = 1", nil
	}
	return "owner = ?", []any{c.Name}
}

// Retire gives up a name that another person gets: see [elicit.Hub.Retire].
func Retire(ctx context.Context, tx *store.Tx, name, former string) error {
	if _, err := tx.Exec(ctx, "UPDATE a2a_tasks SET owner = ? WHERE owner = ?", former, name); err != nil {
		return fmt.Errorf("retire the name of a person: %w", err)
	}
	return nil
}

// load reads a task. It returns [a2a.ErrTaskNotFound] if the task does not
// exist, or belongs to another caller.
func (s *Server) load(ctx context.Context, id a2a.TaskID) (t *task, err error) {
	err = s.db.View(ctx, func(tx *store.Tx) error {
		where, args := visible(ctx)
		t, err = scanTask(tx.QueryRow(ctx, taskColumns+"WHERE id = ? AND "+where, append([]any{string(id)}, args...)...))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, a2a.ErrTaskNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read task: %w", err)
	}
	return t, nil
}

// list reads the newest tasks. If a context ID is given, it reads only the tasks
// in that context.
func (s *Server) list(ctx context.Context, of string) (all []*task, err error) {
	where, args := visible(ctx)
	if of != "" {
		where, args = where+" AND context = ?", append(args, of)
	}
	err = s.db.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.Query(ctx, taskColumns+"WHERE "+where+" ORDER BY created DESC, id DESC LIMIT ?", append(args, mostListed)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			t, err := scanTask(rows)
			if err != nil {
				return err
			}
			all = append(all, t)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("read tasks: %w", err)
	}
	return all, nil
}

// insert writes a new task. If its subject already has a task, it returns that
// one: the client has sent the same message twice.
func (s *Server) insert(ctx context.Context, t *task) (*task, error) {
	history, err := json.Marshal(t.history)
	if err != nil {
		return nil, fmt.Errorf("encode history: %w", err)
	}
	late := 0
	if t.late {
		late = 1
	}
	err = s.db.Update(ctx, func(tx *store.Tx) error {
		old, err := scanTask(tx.QueryRow(ctx, taskColumns+"WHERE skill = ? AND subject = ? AND late = ?", t.skill, t.subject, late))
		if err == nil && old.owner != access.Of(ctx).Name {
			return a2a.ErrTaskNotFound // another caller's
		}
		if err == nil {
			t = old
			return nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		_, err = tx.Exec(ctx, "INSERT INTO a2a_tasks (id, context, skill, subject, late, history, created, owner) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			string(t.id), t.context, t.skill, t.subject, late, string(history), tx.Now.UnixMilli(), access.Of(ctx).Name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("write task: %w", err)
	}
	return t, nil
}

// said adds a message to a task's history, unless the history is full.
func (s *Server) said(ctx context.Context, id a2a.TaskID, m *a2a.Message) error {
	err := s.db.Update(ctx, func(tx *store.Tx) error {
		t, err := scanTask(tx.QueryRow(ctx, taskColumns+"WHERE id = ?", string(id)))
		if err != nil || len(t.history) >= mostMessages {
			return err
		}
		history, err := json.Marshal(append(t.history, m))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE a2a_tasks SET history = ? WHERE id = ?", string(history), string(id))
		return err
	})
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// forget deletes a task and its push notification configs.
func (s *Server) forget(ctx context.Context, id a2a.TaskID) error {
	err := s.db.Update(ctx, func(tx *store.Tx) error {
		for _, table := range []string{"a2a_tasks WHERE id", "a2a_pushes WHERE task"} {
			if _, err := tx.Exec(ctx, "DELETE FROM "+table+" = ?", string(id)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete task: %w", err)
	}
	return nil
}

// Run calls sweep every sweepEvery, and sweep checks up to sweepAtOnce tasks.
const (
	sweepEvery  = 10 * time.Minute
	sweepAtOnce = 200
)

// sweep deletes tasks whose request or attempt is gone. It checks a number of
// tasks in ID order, starting after the given ID, and returns the ID to continue
// from, or "" to start again.
func (s *Server) sweep(ctx context.Context, after a2a.TaskID) (next a2a.TaskID) {
	var ids []a2a.TaskID
	err := s.db.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.Query(ctx, "SELECT id FROM a2a_tasks WHERE id > ? ORDER BY id LIMIT ?", string(after), sweepAtOnce)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			ids = append(ids, a2a.TaskID(id))
		}
		return rows.Err()
	})
	for _, id := range ids {
		if _, err = s.look(ctx, id); errors.Is(err, a2a.ErrTaskNotFound) || fault.Of(err) != nil {
			err = nil
		}
		if err != nil {
			break
		}
		next = id
	}
	if err != nil && ctx.Err() == nil {
		s.o.Log.Warn("cannot delete old tasks", "error", err)
	}
	if len(ids) < sweepAtOnce {
		return ""
	}
	return next
}
