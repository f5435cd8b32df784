package people

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/store"
)

// Snapshot is what some people and tokens may do at one time. A server with thousands of
// open streams checks all of their callers with one.
type Snapshot struct {
	now     time.Time
	people  map[string]*row // by name in lower case
	tokens  map[string]Token
	members access.Members
}

// Snapshot reads what the people with these names and the tokens with these IDs may do
// now, all in one transaction.
func (r *Register) Snapshot(ctx context.Context, names, tokens []string) (s Snapshot, err error) {
	err = r.db.View(ctx, func(tx *store.Tx) error {
		s = Snapshot{now: tx.Now, people: map[string]*row{}, tokens: map[string]Token{}}
		err := inParts(tokens, func(in string, ids []any) error {
			found, err := listTokens(ctx, tx, "WHERE id "+in, ids...)
			for _, t := range found {
				s.tokens[t.ID] = t
				names = append(slices.Clip(names), t.For)
			}
			return err
		})
		if err != nil {
			return err
		}
		folded := make([]string, len(names))
		for i, name := range names {
			folded[i] = strings.ToLower(name)
		}
		slices.Sort(folded)
		err = inParts(slices.Compact(folded), func(in string, names []any) error { return s.read(ctx, tx, in, names) })
		if err == nil {
			s.members, err = members(ctx, tx)
		}
		return err
	})
	return s, err
}

func (s *Snapshot) read(ctx context.Context, tx *store.Tx, in string, names []any) error {
	rows, err := tx.Query(ctx, "SELECT "+personColumns+" FROM people WHERE folded "+in, names...)
	if err != nil {
		return fmt.Errorf("read people: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		p, err := scanPerson(rows)
		if err != nil {
			return fmt.Errorf("read person: %w", err)
		}
		s.people[strings.ToLower(p.Name)] = p
	}
	return rows.Err()
}

// partSize is the number of values in one condition.
const partSize = 100

// inParts calls f with an SQL condition for each part of values. All conditions have the
// same text, which databases prepare once.
func inParts(values []string, f func(in string, args []any) error) error {
	const in = "IN (?"
	for part := range slices.Chunk(values, partSize) {
		args := make([]any, partSize)
		for i := range args {
			args[i] = part[min(i, len(part)-1)]
		}
		if err := f(in+strings.Repeat(", ?", partSize-1)+")", args); err != nil {
			return err
		}
	}
	return nil
}

// Session returns the same as [Register.Session] for one of the names.
func (s Snapshot) Session(name string, turn int64) (c access.Caller, ok bool) {
	p := s.people[strings.ToLower(name)]
	if p == nil || p.removed != 0 || p.Name != name || p.turn != turn {
		return c, false
	}
	return callerOf(p, s.members), true
}

// Valid returns the same as [Register.Valid] for one of the tokens.
func (s Snapshot) Valid(id string) (valid bool, sees access.Boundary) {
	t, found := s.tokens[id]
	if !found || t.Ended(s.now) != "" {
		return false, sees
	}
	if p := s.people[strings.ToLower(t.For)]; p != nil {
		return true, s.members.Boundary(p.Name, p.Guest).Within(t.Projects)
	}
	return true, access.Boundary{Confined: true}
}
