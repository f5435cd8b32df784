package access

import (
	"context"
	"slices"
	"strings"
)

// Boundary is which projects a caller knows of. The zero value is all of them. It is
// computed from the members of projects when the caller is identified; see
// [Members.Boundary].
type Boundary struct {
	// Confined reports whether the caller knows only of Projects. Otherwise it knows
	// of all projects but these, and of what belongs to no project.
	Confined bool
	// Projects lists IDs, sorted.
	Projects []string
}

// Sees reports whether the caller knows of what belongs to a project. The empty ID means
// no project. It is the only rule about projects: everything that it hides is not found.
func (b Boundary) Sees(project string) bool {
	return slices.Contains(b.Projects, project) == b.Confined
}

// Everything reports whether the caller knows of all projects.
func (b Boundary) Everything() bool { return !b.Confined && len(b.Projects) == 0 }

// Equal reports whether two boundaries hide the same.
func (b Boundary) Equal(other Boundary) bool {
	return b.Confined == other.Confined && slices.Equal(b.Projects, other.Projects)
}

// Where returns an SQL condition for rows that the caller knows of, given the column with
// the project's ID. It is the same rule as Sees.
func (b Boundary) Where(column string) (condition string, args []any) {
	if b.Everything() {
		return "1 = 1", nil
	}
	if len(b.Projects) == 0 {
		return "1 = 0", nil
	}
	for _, p := range b.Projects {
		args = append(args, p)
	}
	not := " NOT"
	if b.Confined {
		not = ""
	}
	return column + not + " IN (?" + strings.Repeat(", ?", len(args)-1) + ")", args
}

// Members maps the IDs of projects to the names of their members. A project without
// members is open to everyone, except to guests.
type Members map[string][]string

// Boundary returns the boundary of a person. A guest knows only of the projects that the
// guest is a member of.
func (m Members) Boundary(name string, guest bool) Boundary {
	b := Boundary{Confined: guest, Projects: []string{}}
	for project, names := range m {
		if len(names) > 0 && slices.Contains(names, name) == guest {
			b.Projects = append(b.Projects, project)
		}
	}
	slices.Sort(b.Projects)
	return b
}

// Within returns the boundary of a token that is for some projects of its person only. No
// projects means all that the person knows of.
func (b Boundary) Within(projects []string) Boundary {
	if len(projects) == 0 {
		return b
	}
	only := Boundary{Confined: true, Projects: []string{}}
	for _, p := range projects {
		if b.Sees(p) {
			only.Projects = append(only.Projects, p)
		}
	}
	slices.Sort(only.Projects)
	return only
}

// Itself returns ctx without its caller, for work that a process does for all projects
// while it serves one caller.
func Itself(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, nil) }
