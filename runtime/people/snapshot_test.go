package people

import (
	"fmt"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/store"
)

// One snapshot says of many people and tokens what single reads say of each.
func TestASnapshotIsOfManyPeople(t *testing.T) {
	each(t, func(t *testing.T, r *Register, _ *store.DB) {
		var names, tokens []string
		turns := map[string]int64{}
		for i := range 230 { // more than one part
			name := fmt.Sprintf("Person%d", i)
			if err := r.Add(t.Context(), name, nil); err != nil {
				t.Fatal(err)
			}
			_, token, err := r.CreateToken(t.Context(), name, []access.Scope{access.Answer}, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			_, turn, ok, err := r.Known(t.Context(), name)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			turns[name] = turn
			names, tokens = append(names, name), append(tokens, token.ID)
		}
		if _, err := r.Revoke(t.Context(), tokens[3]); err != nil {
			t.Fatal(err)
		}
		if err := r.Remove(t.Context(), names[4]); err != nil {
			t.Fatal(err)
		}
		s, err := r.Snapshot(t.Context(), append(names, "nobody"), append(tokens, "none"))
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range names {
			if _, ok := s.Session(name, turns[name]); ok != (i != 4) {
				t.Errorf("the session of %s continues: %t", name, ok)
			}
			if valid, _ := s.Valid(tokens[i]); valid != (i != 3 && i != 4) {
				t.Errorf("the token of %s is valid: %t", name, valid)
			}
		}
		if _, ok := s.Session("nobody", 0); ok {
			t.Error("a session of nobody continues")
		}
		if valid, _ := s.Valid("none"); valid {
			t.Error("no token is valid")
		}
	})
}
