package app

import (
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// TestOnlyQuestionsOfTheRunStopItsClocks: one that an earlier run has left, or
// whose asker is gone, does not.
func TestOnlyQuestionsOfTheRunStopItsClocks(t *testing.T) {
	began := time.Unix(1_000, 0)
	asked := func(seconds int, gone bool) elicit.List {
		return elicit.List{Requests: []elicit.Request{{ID: "elc_1", CreatedAt: elicit.At(began.Add(time.Duration(seconds) * time.Second)), AskerGone: gone}}}
	}
	for name, c := range map[string]struct {
		list     elicit.List
		returned bool
		want     bool
	}{
		"none":                        {elicit.List{}, false, false},
		"of this run":                 {asked(1, false), false, true},
		"at its first moment":         {asked(0, false), false, true},
		"of an earlier run":           {asked(-1, false), false, false},
		"of an earlier one, rejoined": {asked(-1, false), true, true},
		"whose asker is gone":         {asked(1, true), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := openQuestions{attemptID: "a", since: began, returned: map[string]bool{}}
			o.take(c.list)
			if c.returned && !o.concerns(elicit.Action{Type: elicit.AskerReturned, RequestID: "elc_1"}) {
				t.Error("an asker that returns does not concern the run")
			}
			if got := o.take(c.list); got != c.want {
				t.Errorf("take = %v, want %v", got, c.want)
			}
		})
	}
}
