package tasks

import (
	"context"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/store"
)

// maxTemplates is the maximum number of templates of a project.
const maxTemplates = 100

// Template is a text that new tasks of a project can begin with. Its title is unique
// within the project.
type Template struct{ Title, Description string }

// Templates returns a project's templates, sorted by title.
func (m *Manager) Templates(ctx context.Context, projectID string) (found []Template, err error) {
	if projectID, err = parseID("project_id", projectID); err != nil {
		return nil, err
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		if err := within(ctx, projectID, "project_id", projectID); err != nil {
			return err
		}
		found, err = all(ctx, tx, func(s scanner) (t Template, err error) { return t, s.Scan(&t.Title, &t.Description) },
			"SELECT title, description FROM templates WHERE project_id = ? ORDER BY title", projectID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read templates: %w", err)
	}
	return found, nil
}

// PutTemplate adds a template, or changes the one with its title.
func (m *Manager) PutTemplate(ctx context.Context, projectID string, t Template) (err error) {
	if projectID, err = parseID("project_id", projectID); err != nil {
		return err
	}
	if t.Title, err = checkTitle(t.Title); err != nil {
		return err
	}
	t.Description = strings.TrimSpace(t.Description)
	if err := checkText("description", t.Description, maxPrompt); err != nil {
		return err
	}
	return m.changeProject(ctx, projectID, func(tx *store.Tx, _ Project) error {
		var n int
		if err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM templates WHERE project_id = ? AND title <> ?", projectID, t.Title).Scan(&n); err != nil {
			return fmt.Errorf("count templates: %w", err)
		}
		if n >= maxTemplates {
			return refuse(InvalidArgument, "remove one that you no longer use", "the project has %d templates", n)
		}
		_, err := tx.Exec(ctx, `INSERT INTO templates (project_id, title, description) VALUES (?, ?, ?)
			ON CONFLICT (project_id, title) DO UPDATE SET description = excluded.description`, projectID, t.Title, t.Description)
		if err != nil {
			return fmt.Errorf("write template: %w", err)
		}
		return nil
	})
}

// DropTemplate removes a template. It does nothing if there is none with this title.
func (m *Manager) DropTemplate(ctx context.Context, projectID, title string) (err error) {
	if projectID, err = parseID("project_id", projectID); err != nil {
		return err
	}
	return m.changeProject(ctx, projectID, func(tx *store.Tx, _ Project) error {
		if _, err := tx.Exec(ctx, "DELETE FROM templates WHERE project_id = ? AND title = ?", projectID, title); err != nil {
			return fmt.Errorf("delete template: %w", err)
		}
		return nil
	})
}
