package access

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestAProjectIsSeenByItsMembers(t *testing.T) {
	members := Members{"p": {"ada"}, "q": {"ada", "bob"}, "empty": {}}
	owner := Boundary{}
	for _, c := range []struct {
		who  string
		b    Boundary
		sees string // of p, q, empty, other and none
	}{
		{"the owner", owner, "p q empty other none"},
		{"a member of both", members.Boundary("ada", false), "p q empty other none"},
		{"a member of one", members.Boundary("bob", false), "q empty other none"},
		{"a stranger", members.Boundary("eve", false), "empty other none"},
		{"a guest of one", members.Boundary("bob", true), "q"},
		{"a guest of none", members.Boundary("eve", true), ""},
		{"a token for one", members.Boundary("ada", false).Within([]string{"p"}), "p"},
		{"a token for an open project", members.Boundary("bob", false).Within([]string{"other"}), "other"},
		{"a token for a project that its person left", members.Boundary("bob", false).Within([]string{"p", "q"}), "q"},
		{"a token for nothing that its person sees", members.Boundary("eve", false).Within([]string{"p"}), ""},
		{"nobody added to any project", Members{}.Boundary("ada", false), "p q empty other none"},
	} {
		var sees, where []string
		for _, project := range []string{"p", "q", "empty", "other", ""} {
			name := project
			if name == "" {
				name = "none"
			}
			if c.b.Sees(project) {
				sees = append(sees, name)
			}
			if meets(c.b, project) {
				where = append(where, name)
			}
		}
		if got := strings.Join(sees, " "); got != c.sees {
			t.Errorf("%s sees %q, want %q", c.who, got, c.sees)
		}
		if !slices.Equal(sees, where) {
			t.Errorf("%s: the SQL condition selects %v, and Sees %v", c.who, where, sees)
		}
	}
}

// meets evaluates the SQL condition for a value of the column.
func meets(b Boundary, value string) bool {
	condition, args := b.Where("c")
	in := slices.Contains(args, any(value))
	switch marks := strings.TrimSuffix(strings.Repeat("?, ", len(args)), ", "); condition {
	case "1 = 1":
		return true
	case "1 = 0":
		return false
	case fmt.Sprintf("c IN (%s)", marks):
		return in
	case fmt.Sprintf("c NOT IN (%s)", marks):
		return !in
	}
	panic("unknown condition " + condition)
}

func TestItselfHasNoCaller(t *testing.T) {
	ctx := Itself(With(context.Background(), Caller{Name: "ada", Boundary: Boundary{Confined: true}}))
	if Known(ctx) || !Of(ctx).Sees("p") {
		t.Errorf("the caller is still %+v", Of(ctx))
	}
}
