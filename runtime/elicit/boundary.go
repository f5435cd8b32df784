package elicit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/store"
)

// A caller knows only of the requests in its boundary. All reads and actions with the
// caller's context treat the others as if they did not exist.

// inside reports whether the caller knows of r: it sees the project, or asked itself,
// outside all projects.
func inside(c access.Caller, r *Request) bool {
	return c.Sees(r.Context.ProjectID) || r.Context.ProjectID == "" && c.Name != "" && r.Source.Person == c.Name
}

// unplaced is the project of rows from earlier versions, until a sweep has placed them.
const unplaced = "-"

// insideRows is the SQL condition for inside.
func insideRows(c access.Caller) (condition string, args []any) {
	if c.Everything() {
		return "", nil
	}
	condition, args = c.Where("project")
	return "(" + condition + " AND project <> '" + unplaced + "' OR project = '' AND person = ? AND person <> '')", append(args, c.Name)
}

// placed sets what a new request of the caller belongs to. A caller that knows only of one
// project asks in it. It refuses a project that the caller does not know of.
func (h *Hub) placed(ctx context.Context, r Request) (Request, error) {
	c := access.Of(ctx)
	r.Source.Person = c.Name
	if r.Context.ProjectID == "" && c.Confined && len(c.Projects) == 1 {
		r.Context.ProjectID = c.Projects[0]
		if h.options.ProjectName != nil {
			name, err := h.options.ProjectName(access.Itself(ctx), r.Context.ProjectID)
			if err != nil {
				return r, err
			}
			r.Context.Project = name
		}
	}
	if !inside(c, &r) {
		return r, reject(InvalidRequest, "ask without a project, or in one of yours", "there is no project %q", brief(r.Context.ProjectID))
	}
	return r, nil
}

// seen filters changes for one caller. It remembers which requests the caller knows of: a
// request keeps its project.
type seen struct {
	hub    *Hub
	inside map[string]bool
}

// maxSeen is the maximum number of requests that a filter remembers.
const maxSeen = 10_000

func (s *seen) of(ctx context.Context, changes []Change) ([]Change, error) {
	c := access.Of(ctx)
	if c.Everything() {
		return changes, nil
	}
	var kept []Change
	for _, change := range changes {
		ok, err := s.knows(ctx, c, change.Action)
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, change)
		}
	}
	return kept, nil
}

func (s *seen) knows(ctx context.Context, c access.Caller, a Action) (ok bool, err error) {
	if a.Request != nil && (c.Sees(a.Request.Context.ProjectID) || !inside(c, a.Request)) {
		ok = inside(c, a.Request)
	} else if known, found := s.inside[a.RequestID]; found {
		return known, nil
	} else {
		condition, args := insideRows(c) // whose question it is now: a person before may have had the name
		err = s.hub.db.View(ctx, func(tx *store.Tx) error {
			var id string
			err := tx.QueryRow(ctx, "SELECT id FROM requests WHERE id = ? AND "+condition, append([]any{a.RequestID}, args...)...).Scan(&id)
			ok = err == nil
			if errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			return err
		})
		if err != nil {
			return false, fmt.Errorf("read the project of a question: %w", err)
		}
	}
	if s.inside == nil || len(s.inside) >= maxSeen {
		s.inside = map[string]bool{}
	}
	s.inside[a.RequestID] = ok
	return ok, nil
}

// place stores the projects of requests from earlier versions, at most sweepAtOnce.
func (h *Hub) place(ctx context.Context) error {
	var old []Request
	err := h.db.View(ctx, func(tx *store.Tx) (err error) {
		old, err = queryRequests(ctx, tx, "WHERE project = '"+unplaced+"' LIMIT ?", sweepAtOnce)
		return err
	})
	if err != nil || len(old) == 0 {
		return err
	}
	return h.db.Update(ctx, func(tx *store.Tx) error {
		for _, r := range old {
			if _, err := tx.Exec(ctx, "UPDATE requests SET project = ? WHERE id = ?", r.Context.ProjectID, r.ID); err != nil {
				return fmt.Errorf("place request: %w", err)
			}
		}
		return nil
	})
}
