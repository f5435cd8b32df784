package tasks

import (
	"context"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/store"
)

// A caller knows only of the projects in its boundary, and of their tasks, attempts and
// sessions. The functions that read one of these by its ID refuse the others as if they
// did not exist; lists leave them out.

// within fails as if there were no record with the ID, if the caller does not know of the
// project. field is the name of the ID's field.
func within(ctx context.Context, project, field, id string) error {
	if access.Of(ctx).Sees(project) {
		return nil
	}
	return unknown(field, id)
}

// withinTask is like within, for a record of the task with an ID.
func withinTask(ctx context.Context, tx *store.Tx, taskID, field, id string) error {
	if access.Of(ctx).Everything() {
		return nil
	}
	var project string
	if err := tx.QueryRow(ctx, "SELECT project_id FROM tasks WHERE id = ?", taskID).Scan(&project); err != nil {
		return unknown(field, id)
	}
	return within(ctx, project, field, id)
}

// withinAttempt is like within, for a record of the attempt with an ID.
func withinAttempt(ctx context.Context, tx *store.Tx, attemptID, field, id string) error {
	if access.Of(ctx).Everything() {
		return nil
	}
	var task string
	if err := tx.QueryRow(ctx, "SELECT task_id FROM attempts WHERE id = ?", attemptID).Scan(&task); err != nil {
		return unknown(field, id)
	}
	return withinTask(ctx, tx, task, field, id)
}

// withinRows is an SQL condition for the rows of projects that the caller knows of, given
// the expression of the project's ID, and its arguments after others.
func withinRows(ctx context.Context, project string, args ...any) (condition string, _ []any) {
	condition, more := access.Of(ctx).Where(project)
	return condition, append(args, more...)
}

// projectOf are expressions for the project of rows of each table.
var projectOf = map[Kind]string{
	KindProject: "id", KindTask: "project_id",
	KindAttempt: "(SELECT t.project_id FROM tasks t WHERE t.id = task_id)",
	KindSession: "(SELECT t.project_id FROM tasks t JOIN attempts a ON a.task_id = t.id WHERE a.id = attempt_id)",
}
