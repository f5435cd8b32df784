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
		if b, err := r.Boundary(ctx, "bob"); err != nil || b.Sees("p") || !b.Sees("own") {
			t.Errorf("bob, in no group for p, sees %+v, %v", b, err)
		}
		if b, err := r.Boundary(ctx, "eve"); err != nil || b.Sees("p") || b.Sees("q") {
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
