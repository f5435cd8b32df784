package app

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// TestAnInstallationIsOpenedOnce has many open its parts at once.
func TestAnInstallationIsOpenedOnce(t *testing.T) {
	a := Open(house(t))
	defer a.Close()
	type parts struct {
		db  *store.DB
		hub *elicit.Hub
		m   *tasks.Manager
	}
	var mu sync.Mutex
	seen := map[parts]int{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			var p parts
			var err [3]error
			p.m, err[0] = a.Work(t.Context())
			p.hub, err[1] = a.Hub(t.Context())
			p.db, err[2] = a.Store(t.Context())
			if e := errors.Join(err[:]...); e != nil {
				t.Error(e)
			}
			mu.Lock()
			defer mu.Unlock()
			seen[p]++
		})
	}
	all.Wait()
	if len(seen) != 1 {
		t.Errorf("%d different sets of parts, want the same for all", len(seen))
	}
}

func TestNothingIsOpenedAfterClose(t *testing.T) {
	a := Open(house(t))
	if _, err := a.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.Close()
	a.Close()
	if _, err := a.Hub(t.Context()); !errors.Is(err, elicit.ErrClosed) {
		t.Errorf("Hub after Close: %v, want ErrClosed", err)
	}
	if _, err := a.Work(t.Context()); !errors.Is(err, elicit.ErrClosed) {
		t.Errorf("Work after Close: %v, want ErrClosed", err)
	}
}

func TestASettingThatIsWrongOpensNothing(t *testing.T) {
	c := house(t)
	c.People.Err = errors.New("elicitation.timeout is wrong")
	a := Open(c)
	defer a.Close()
	for range 2 {
		if _, err := a.Hub(t.Context()); err == nil || err.Error() != "elicitation.timeout is wrong" {
			t.Errorf("Hub: %v, want what is wrong", err)
		}
	}
	if _, err := os.Stat(c.Place.Value); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of the store: %v, want that there is none", err)
	}
}

// TestAServerThatWaitsHearsOfAQuestionOfAnother has two installations over one
// store, as two processes are.
func TestAServerThatWaitsHearsOfAQuestionOfAnother(t *testing.T) {
	c := house(t)
	a := Open(c)
	serving(t, a, "ask")
	hub, err := a.Hub(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := hub.List(t.Context(), elicit.Filter{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	watch, err := hub.Watch(t.Context(), list.Seq, "")
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	other := Open(c)
	defer other.Close()
	theirs, err := other.Hub(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := theirs.Open(t.Context(), elicit.Request{Trigger: elicit.CLI, Message: "Ship it?"})
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	for heard := false; !heard; {
		changes, err := watch.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		heard = slices.ContainsFunc(changes, func(c elicit.Change) bool { return c.Action.Type == elicit.Requested && c.Action.RequestID == r.ID })
	}
	if late := time.Since(since); late > 2*time.Second {
		t.Errorf("the server heard of the question after %v, want 2 s at most", late)
	}
}
