package elicit

import (
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

// TestAPlanLeavesTheLastMomentToATransaction asks for plans of answers before, near and
// after a deadline: the clock of a plan may be wrong, and that of a transaction is not.
func TestAPlanLeavesTheLastMomentToATransaction(t *testing.T) {
	db, err := store.Open(t.Context(), storetest.Postgres(t), Schema())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h := idle(db, Options{})
	for wait, want := range map[time.Duration]bool{time.Hour: true, time.Minute: true, store.MostOff: false, time.Millisecond: false} {
		r, err := h.Open(t.Context(), Request{Trigger: HTTP, Message: "?", WaitMS: wait.Milliseconds(), Questions: []Question{{ID: "a", Kind: Text, Message: "?"}}})
		if err != nil {
			t.Fatal(err)
		}
		seen, err := h.lookUp(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		_, _, _, ok := h.planOf(t.Context(), seen, Action{Type: CompletedBy, RequestID: r.ID, Response: Decline, By: Local})
		if ok != want {
			t.Errorf("%v before the deadline, a plan is made: %v, want %v", wait, ok, want)
		}
	}
}
