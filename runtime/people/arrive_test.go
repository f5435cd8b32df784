package people

import (
	"slices"
	"testing"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/store"
)

func TestAnArrivalSetsWhatTheGroupsAllow(t *testing.T) {
	each(t, func(t *testing.T, r *Register, _ *store.DB) {
		ctx := t.Context()
		added(t, r, "bob")
		if err := r.Join(ctx, "bob", "p", "own"); err != nil {
			t.Fatal(err)
		}
		arrive := func(a Arrival) (string, error) {
			a.Issuer, a.Managed = "https://issuer.example", []string{"p", "q"}
			name, turn, err := r.Arrive(ctx, a)
			if err == nil {
				if _, ok, err := r.Session(ctx, name, turn); !ok || err != nil {
					t.Errorf("no session of %s: %v", name, err)
				}
			}
			return name, err
		}
		dev := &Grant{Scopes: []access.Scope{access.Answer, access.WorkRead}, Roles: []string{"dev"}}
		for _, c := range []struct {
			what string
			a    Arrival
			name string
			code string
		}{
			{"no group", Arrival{Subject: "1", Name: "ada"}, "", NotAllowed},
			{"the first time", Arrival{Subject: "1", Name: "ada", Grant: dev, Projects: []string{"p"}}, "ada", ""},
			{"again, renamed", Arrival{Subject: "1", Name: "countess", Grant: dev, Projects: []string{"q"}}, "ada", ""},
			{"another subject of the name", Arrival{Subject: "2", Name: "Ada", Grant: dev}, "", NameTaken},
			{"another subject of the name, with adoption", Arrival{Subject: "2", Name: "ada", Grant: dev, Adopt: true}, "", NameTaken},
			{"the name of a person who was added", Arrival{Subject: "3", Name: "bob", Grant: dev}, "", NameTaken},
			{"the same with adoption", Arrival{Subject: "3", Name: "bob", Grant: dev, Adopt: true}, "bob", ""},
			{"a reserved name", Arrival{Subject: "4", Name: "local", Grant: dev}, "", BadName},
		} {
			if name, err := arrive(c.a); name != c.name || code(err) != c.code {
				t.Errorf("%s: %q, %v; want %q, %s", c.what, name, err, c.name, c.code)
			}
		}
		c, turn, ok, err := r.Known(ctx, "ADA")
		if err != nil || !ok || !slices.Equal(c.Scopes, dev.Scopes) || !slices.Equal(c.Roles, dev.Roles) || c.Sees("p") || !c.Sees("q") || c.Sees("own") {
			t.Errorf("ada is %+v, %v %v", c, ok, err)
		}
		if b, err := r.Named(ctx, "bob"); err != nil || b.Sees("p") || !b.Sees("own") {
			t.Errorf("bob, in no group for p, sees %+v, %v", b, err)
		}
		if b, err := r.Named(ctx, "eve"); err != nil || b.Sees("p") || b.Sees("q") {
			t.Errorf("p and q are open: %+v, %v", b, err)
		}
		if _, err := arrive(Arrival{Subject: "1", Name: "ada"}); code(err) != NotAllowed {
			t.Errorf("no group any more: %v", err)
		}
		if _, ok, err := r.Session(ctx, "ada", turn); ok || err != nil {
			t.Errorf("the session of a person without a group continues: %v", err)
		}
		if err := r.Remove(ctx, "ada"); err != nil {
			t.Fatal(err)
		}
		for _, subject := range []string{"1", "9"} {
			if _, err := arrive(Arrival{Subject: subject, Name: "ada", Grant: dev, Adopt: true}); code(err) != Removed {
				t.Errorf("removed, subject %s: %v", subject, err)
			}
		}
		if _, _, ok, err := r.Known(ctx, "ada"); ok || err != nil {
			t.Errorf("a proxy finds a person who was removed: %v", err)
		}
	})
}

// A new person of an old name is not the one who had it: the old account is let in only by
// adoption, and under no other name.
func TestAnIdentityEndsWithItsPerson(t *testing.T) {
	each(t, func(t *testing.T, r *Register, _ *store.DB) {
		arrive := func(subject, name string, adopt bool) (string, error) {
			name, _, err := r.Arrive(t.Context(), Arrival{Issuer: "https://issuer.example", Subject: subject, Name: name, Grant: &Grant{Scopes: Standard}, Adopt: adopt})
			return name, err
		}
		check := func(what, subject, name string, adopt bool, want string) {
			t.Helper()
			if _, err := arrive(subject, name, adopt); code(err) != want {
				t.Errorf("%s: %v, want %q", what, err, want)
			}
		}
		check("the first time", "1", "ada", false, "")
		if err := r.Remove(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		check("removed", "1", "ada", true, Removed)
		check("removed, under another name", "1", "countess", true, Removed)
		added(t, r, "Ada")
		check("a new person has the name", "1", "ada", false, NameTaken)
		check("a new person has the name, under another name", "1", "countess", true, Removed)
		check("another account adopts", "2", "ada", true, "")
		check("after that", "1", "ada", true, NameTaken)
		if err := r.Remove(t.Context(), "Ada"); err != nil {
			t.Fatal(err)
		}
		added(t, r, "ada")
		check("the first account adopts", "1", "ada", true, "")
		check("and is known", "1", "countess", false, "")
	})
}

func TestArrivalsAreAudited(t *testing.T) {
	each(t, func(t *testing.T, r *Register, db *store.DB) {
		ctx := access.With(t.Context(), access.Caller{Address: "192.0.2.1:7"})
		if _, _, err := r.Arrive(ctx, Arrival{Issuer: "https://issuer.example", Subject: "1", Name: "ada", Grant: &Grant{Scopes: Standard}, Projects: []string{"p"}}); err != nil {
			t.Fatal(err)
		}
		all, err := db.AuditLog(ctx, store.AuditFilter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range all {
			if one.Way != access.ByOIDC || one.Address != "192.0.2.1:7" {
				t.Errorf("%+v", one)
			}
		}
		if last := all[len(all)-1]; last.Action != "session.began" || last.Who != "ada" || last.Object != "ada" {
			t.Errorf("the sign-in is %+v", last)
		}
		// What the groups allow is recorded when it changes, and only then.
		var got []string
		for _, grant := range []Grant{{Scopes: Standard}, {Scopes: []access.Scope{access.Docs, access.Admin}, Roles: []string{"ops"}, Guest: true}} {
			if _, _, err := r.Arrive(ctx, Arrival{Issuer: "https://issuer.example", Subject: "1", Name: "ada", Grant: &grant}); err != nil {
				t.Fatal(err)
			}
		}
		since, err := db.AuditLog(ctx, store.AuditFilter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range since[len(all):] {
			got = append(got, one.Action+" "+one.Detail)
		}
		if want := []string{"session.began with the identity provider", "person.changed scopes docs,admin, roles ops, guest, by the groups", "session.began with the identity provider"}; !slices.Equal(got, want) {
			t.Errorf("two more sign-ins are recorded as %q, want %q", got, want)
		}
	})
}
