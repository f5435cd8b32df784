package tasks

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/deskhand/deskhand/runtime/store"
)

// Limits of pages.
const (
	defaultLimit = 50
	maxLimit     = 500
)

func (p Page) limit() int {
	if p.Limit <= 0 {
		return defaultLimit
	}
	return min(p.Limit, maxLimit)
}

// Projects returns one page of the list of projects, sorted by name.
func (m *Manager) Projects(ctx context.Context, page Page) (found ProjectPage, err error) {
	after, err := base64.RawURLEncoding.DecodeString(page.Cursor)
	if err != nil || checkText("cursor", string(after), maxName) != nil {
		return ProjectPage{}, badCursor(page.Cursor)
	}
	err = m.db.View(ctx, func(tx *store.Tx) (err error) {
		where, args := withinRows(ctx, "id", string(after))
		found.Projects, err = all(ctx, tx, scanProject, "SELECT "+projectColumns+" FROM projects WHERE name > ? AND "+where+" ORDER BY name LIMIT ?", append(args, page.limit()+1)...)
		return err
	})
	if err != nil {
		return ProjectPage{}, fmt.Errorf("read projects: %w", err)
	}
	if len(found.Projects) > page.limit() {
		found.Projects = found.Projects[:page.limit()]
		found.Next = base64.RawURLEncoding.EncodeToString([]byte(found.Projects[page.limit()-1].Name))
	}
	return found, nil
}

func badCursor(cursor string) error {
	return refuse(InvalidArgument, "pass the cursor of the previous page, or none for the first page",
		"cursor %q does not belong to this list", brief(cursor)).WithCase(CursorUnknown)
}

// Repos returns the repositories of a project, sorted by name.
func (m *Manager) Repos(ctx context.Context, projectID string) (repos []Repo, err error) {
	if projectID, err = parseID("project_id", projectID); err != nil {
		return nil, err
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		if _, err := readProject(ctx, tx, projectID); err != nil {
			return err
		}
		repos, err = all(ctx, tx, scanRepo, "SELECT "+repoColumns+" FROM repos WHERE project_id = ? AND removed = 0 ORDER BY name", projectID)
		if err == nil {
			err = reposAt(ctx, tx, repos, m.host)
		}
		return err
	})
	return repos, err
}
