package people

import (
	"context"
	"fmt"
	"slices"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// Codes of faults about members of projects.
const (
	NotSeen   = "project_not_seen" // a token for a project that its person does not know of
	NotMember = "not_a_member"     // a person who is not a member of a project
)

// nobody is a member that no caller can be. A project keeps it when its last member is
// removed as a person, because it must not become open to everyone by that.
const nobody = ""

// vacate ends all memberships of a person who is removed.
func vacate(ctx context.Context, tx *store.Tx, name string) error {
	for _, change := range []string{
		"INSERT INTO people_projects (project, person) SELECT project, '' FROM people_projects WHERE person = ? ON CONFLICT (project, person) DO NOTHING",
		"DELETE FROM people_projects WHERE person = ?",
	} {
		if _, err := tx.Exec(ctx, change, name); err != nil {
			return fmt.Errorf("remove person from projects: %w", err)
		}
	}
	return nil
}

// members returns the members of all projects that have any.
func members(ctx context.Context, tx *store.Tx) (access.Members, error) {
	rows, err := tx.Query(ctx, "SELECT project, person FROM people_projects")
	if err != nil {
		return nil, fmt.Errorf("read members: %w", err)
	}
	defer rows.Close()
	all := access.Members{}
	for rows.Next() {
		var project, person string
		if err := rows.Scan(&project, &person); err != nil {
			return nil, fmt.Errorf("read member: %w", err)
		}
		all[project] = append(all[project], person)
	}
	return all, rows.Err()
}

// boundaryOf returns which projects a token knows of, and the roles of its person.
func boundaryOf(ctx context.Context, tx *store.Tx, t Token) (b access.Boundary, roles []string, err error) {
	p, err := find(ctx, tx, t.For)
	if err != nil {
		return b, nil, err
	}
	if p == nil {
		return access.Boundary{Confined: true}, nil, nil
	}
	all, err := members(ctx, tx)
	return all.Boundary(p.Name, p.Guest).Within(t.Projects), p.Roles, err
}

// mustSee refuses projects that a person does not know of, with code [NotSeen].
func mustSee(ctx context.Context, tx *store.Tx, p *row, projects []string) error {
	all, err := members(ctx, tx)
	if err != nil {
		return err
	}
	for _, project := range projects {
		if !all.Boundary(p.Name, p.Guest).Sees(project) {
			return fault.New(NotSeen, fmt.Sprintf("%s is not a member of the project %.80s", p.Name, project), "run: deskhand people add "+p.Name+" --project PROJECT")
		}
	}
	return nil
}

// enter makes a person a member of a project.
func enter(ctx context.Context, tx *store.Tx, project, name string) error {
	if _, err := tx.Exec(ctx, "INSERT INTO people_projects (project, person) VALUES (?, ?) ON CONFLICT (project, person) DO NOTHING", project, name); err != nil {
		return fmt.Errorf("add member: %w", err)
	}
	return tell(tx, name, Event{Type: "memberAdded", Project: project})
}

// Join makes a person a member of projects, by their IDs. From then on, only members know
// of them. Fails with code [NoPerson].
func (r *Register) Join(ctx context.Context, name string, projects ...string) error {
	return r.db.Update(ctx, func(tx *store.Tx) error {
		p, err := must(ctx, tx, name)
		if err != nil {
			return err
		}
		for _, project := range projects {
			if err := enter(ctx, tx, project, p.Name); err != nil {
				return err
			}
		}
		return nil
	})
}

// Leave ends a person's membership of a project. open reports whether the project had no
// other member, so that it is open to everyone from then on. Fails with code [NoPerson] or
// [NotMember].
func (r *Register) Leave(ctx context.Context, name, project string) (open bool, err error) {
	err = r.db.Update(ctx, func(tx *store.Tx) error {
		p, err := must(ctx, tx, name)
		if err != nil {
			return err
		}
		all, err := members(ctx, tx)
		if err != nil {
			return err
		}
		if !slices.Contains(all[project], p.Name) {
			return fault.New(NotMember, p.Name+" is not a member of this project", "deskhand people list shows who is")
		}
		gone := []string{p.Name}
		if rest := slices.DeleteFunc(all[project], func(name string) bool { return name == p.Name || name == nobody }); len(rest) == 0 {
			open, gone = true, append(gone, nobody)
		}
		for _, name := range gone {
			if _, err := tx.Exec(ctx, "DELETE FROM people_projects WHERE project = ? AND person = ?", project, name); err != nil {
				return fmt.Errorf("remove member: %w", err)
			}
		}
		return tell(tx, p.Name, Event{Type: "memberRemoved", Project: project})
	})
	return open, err
}

// Standing is what a name may do at the time of a transaction.
type Standing struct {
	Known   bool // a person has or had the name
	Answers bool // the person's browsers may answer questions; false for a removed person
	Person
}

// Now returns what a name may do, in a transaction of the store.
func Now(ctx context.Context, tx *store.Tx, name string) (s Standing, err error) {
	p, err := find(ctx, tx, name)
	if err != nil || p == nil {
		return s, err
	}
	s = Standing{Known: true, Answers: p.removed == 0 && slices.Contains(p.Scopes, access.Answer), Person: p.Person}
	all, err := members(ctx, tx)
	s.Boundary = all.Boundary(p.Name, p.Guest)
	return s, err
}
