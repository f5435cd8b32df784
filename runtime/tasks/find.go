package tasks

import (
	"context"
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
