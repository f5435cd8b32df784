package people

import (
	"slices"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/store"
)

func TestMembersOfProjects(t *testing.T) {
	each(t, func(t *testing.T, r *Register, _ *store.DB) {
		ctx := t.Context()
		for _, n := range []Newcomer{{Name: "ada", Projects: []string{"p"}}, {Name: "bob"}, {Name: "carl", Guest: true, Projects: []string{"q"}}} {
			if err := r.Admit(ctx, n); err != nil {
				t.Fatal(err)
			}
		}
		sees := func(name string) (all []string) {
			t.Helper()
			b, err := r.Named(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			for _, project := range []string{"p", "q", "open", ""} {
				if b.Sees(project) {
					all = append(all, project)
				}
			}
			return all
		}
		want := func(name string, projects ...string) {
			t.Helper()
			if got := sees(name); !slices.Equal(got, projects) {
				t.Errorf("%s sees %q, want %q", name, got, projects)
			}
		}
		want("ada", "p", "open", "")
		want("ADA", "p", "open", "")
		want("bob", "open", "")
		want("carl", "q")
		want("nobody of the register", "open", "")
		if err := r.Join(ctx, "bob", "p", "p"); err != nil {
			t.Fatal(err)
		}
		want("bob", "p", "open", "")
		if err := r.Remove(ctx, "ada"); err != nil {
			t.Fatal(err)
		}
		if err := r.Remove(ctx, "bob"); err != nil {
			t.Fatal(err)
		}
		want("eve", "open", "") // p stays closed although all its members are gone
		added(t, r, "ada")
		want("ada", "open", "") // and its old members do not come back
		if err := r.Join(ctx, "ada", "p"); err != nil {
			t.Fatal(err)
		}
		if open, err := r.Leave(ctx, "ada", "p"); !open || err != nil {
			t.Errorf("Leave = %v, %v", open, err)
		}
		want("eve", "p", "open", "")
		if _, err := r.Leave(ctx, "ada", "p"); code(err) != NotMember {
			t.Errorf("Leave again: %v", err)
		}
		if err := r.Join(ctx, "zoe", "p"); code(err) != NoPerson {
			t.Errorf("Join of nobody: %v", err)
		}
	})
}

func TestATokenForAProject(t *testing.T) {
	each(t, func(t *testing.T, r *Register, _ *store.DB) {
		ctx := t.Context()
		if err := r.Admit(ctx, Newcomer{Name: "ada", Projects: []string{"p", "q"}}); err != nil {
			t.Fatal(err)
		}
		added(t, r, "bob")
		if _, _, err := r.CreateToken(ctx, "bob", access.Scopes, time.Time{}, "p"); code(err) != NotSeen {
			t.Errorf("a token for a project that bob does not see: %v", err)
		}
		secret, made, err := r.CreateToken(ctx, "ada", access.Scopes, time.Time{}, "p")
		if err != nil {
			t.Fatal(err)
		}
		check := func(p, q bool) {
			t.Helper()
			c, _, err := r.Bearer(ctx, secret)
			if err != nil || c.Sees("p") != p || c.Sees("q") != q || c.Sees("") {
				t.Errorf("Bearer = %+v, %v", c.Boundary, err)
			}
			if ok, sees, err := r.Valid(ctx, made.ID); !ok || err != nil || !sees.Equal(c.Boundary) {
				t.Errorf("Valid = %v %+v %v", ok, sees, err)
			}
		}
		check(true, false)
		if err := r.Join(ctx, "bob", "p"); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Leave(ctx, "ada", "p"); err != nil {
			t.Fatal(err)
		}
		check(false, false) // the person left the project, and it has another member
		all, err := r.Tokens(ctx)
		if err != nil || len(all) != 1 || !slices.Equal(all[0].Projects, []string{"p"}) {
			t.Errorf("Tokens = %+v, %v", all, err)
		}
	})
}

func TestMembershipsAreAudited(t *testing.T) {
	each(t, func(t *testing.T, r *Register, db *store.DB) {
		added(t, r, "ada")
		if err := r.Join(t.Context(), "ada", "p"); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Leave(t.Context(), "ada", "p"); err != nil {
			t.Fatal(err)
		}
		all, err := db.AuditLog(t.Context(), store.AuditFilter{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range all {
			got = append(got, one.Action+" "+one.Object+" "+one.Detail)
		}
		if want := []string{"person.added ada scopes answer,docs,work:read", "member.added ada to project p", "member.removed ada from project p"}; !slices.Equal(got, want) {
			t.Errorf("the audit log has %q, want %q", got, want)
		}
	})
}

func TestARemovedPersonKnowsOfNothing(t *testing.T) {
	each(t, func(t *testing.T, r *Register, _ *store.DB) {
		for _, n := range []Newcomer{{Name: "ada", Projects: []string{"p"}}, {Name: "carl", Guest: true, Projects: []string{"p"}}} {
			if err := r.Admit(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			if err := r.Remove(t.Context(), n.Name); err != nil {
				t.Fatal(err)
			}
			for _, project := range []string{"p", "open", ""} {
				if b, err := r.Named(t.Context(), n.Name); err != nil || b.Sees(project) {
					t.Errorf("%s sees %q: %+v, %v", n.Name, project, b, err)
				}
			}
		}
		if b, err := r.Named(t.Context(), "mapped"); err != nil || b.Sees("p") || !b.Sees("open") || !b.Sees("") {
			t.Errorf("a surface's person: %+v, %v", b, err)
		}
	})
}
