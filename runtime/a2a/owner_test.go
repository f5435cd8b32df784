package a2a

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

func TestTasksBelongToThePersonWhoseTokenCreatedThem(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db, err := store.Open(t.Context(), place, Schema())
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		s := &Server{db: db}
		as := func(c access.Caller) context.Context { return access.With(t.Context(), c) }
		callers := map[string]context.Context{
			"ada": as(access.Caller{Level: access.Agents, Name: "ada"}), "bob": as(access.Caller{Level: access.Agents, Name: "bob"}),
			"agents": as(access.Caller{Level: access.Agents}), "owner": as(access.Caller{Level: access.People}), "server": t.Context(),
		}
		for _, name := range []string{"ada", "bob", "agents"} {
			if _, err := s.insert(callers[name], &task{id: sdk.TaskID("of-" + name), context: "c", skill: AskSkill, subject: name}); err != nil {
				t.Fatal(err)
			}
		}
		for name, want := range map[string][]string{
			"ada": {"of-ada"}, "bob": {"of-bob"}, "agents": {"of-agents"}, "owner": {"of-ada", "of-agents", "of-bob"}, "server": {"of-ada", "of-agents", "of-bob"},
		} {
			for _, of := range []string{"", "c"} {
				all, err := s.list(callers[name], of)
				var got []string
				for _, one := range all {
					got = append(got, string(one.id))
				}
				slices.Sort(got)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%s lists %v, %v; want %v", name, got, err, want)
				}
			}
			for _, id := range []string{"of-ada", "of-bob", "of-agents"} {
				_, err := s.load(callers[name], sdk.TaskID(id))
				if may := slices.Contains(want, id); (err == nil) != may || !may && !errors.Is(err, sdk.ErrTaskNotFound) {
					t.Errorf("%s loads %s: %v", name, id, err)
				}
			}
		}
		if _, err := s.insert(callers["bob"], &task{id: "x", skill: AskSkill, subject: "ada"}); !errors.Is(err, sdk.ErrTaskNotFound) {
			t.Errorf("bob repeats ada's message: %v", err)
		}
	})
}
