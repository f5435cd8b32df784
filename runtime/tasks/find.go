package tasks

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/store"
)

// FindTasks returns the newest tasks of all projects whose title contains all the
// words, at most limit. Without words, it returns the tasks that changed last.
func (m *Manager) FindTasks(ctx context.Context, words string, limit int) (found []Task, err error) {
	where, args := withinRows(ctx, "t.project_id")
	for word := range strings.FieldsSeq(strings.ToLower(words)) {
		where += " AND LOWER(t.title) LIKE ? ESCAPE '!'"
		args = append(args, "%"+strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(word)+"%")
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		found, err = all(ctx, tx, scanTask, "SELECT "+taskColumns+" FROM tasks t WHERE "+where+" ORDER BY t.updated_at DESC, t.id LIMIT ?", append(args, limit)...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find tasks: %w", err)
	}
	return found, nil
}

// Newest returns the ID of a project's newest task or attempt, or of the newest of all
// projects if projectID is empty. It returns "" if there is none.
func (m *Manager) Newest(ctx context.Context, kind Kind, projectID string) (id string, err error) {
	table := map[Kind]string{KindTask: "tasks", KindAttempt: "attempts"}[kind]
	within, args := withinRows(ctx, projectOf[kind])
	if projectID != "" {
		within, args = within+" AND "+projectOf[kind]+" = ?", append(args, projectID)
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		err := tx.QueryRow(ctx, "SELECT id FROM "+table+" WHERE "+within+" ORDER BY created_at DESC, id DESC LIMIT 1", args...).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("find the newest %s: %w", kind, err)
	}
	return id, nil
}

// CountRunning returns how many tasks have an attempt that runs or will run.
func (m *Manager) CountRunning(ctx context.Context) (n int, err error) {
	err = m.db.View(ctx, func(tx *store.Tx) error {
		where, args := withinRows(ctx, "(SELECT t.project_id FROM tasks t WHERE t.id = task_id)")
		return tx.QueryRow(ctx, "SELECT COUNT(DISTINCT task_id) FROM processes WHERE state IN ('queued', 'running') AND "+where, args...).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("count running tasks: %w", err)
	}
	return n, nil
}
