package firstgc

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/deskhand/deskhand/runtime/waittest"
)

// The percentage that a program sets applies after the first collection, and at once from
// then on.
func TestThePercentageAppliesAfterTheFirstCollection(t *testing.T) {
	if before := SetPercent(350); before <= 0 {
		t.Errorf("SetPercent returned %d, want the percentage before", before)
	}
	runtime.GC()
	waittest.Until(t, "350 applies", func() (bool, any) {
		now := debug.SetGCPercent(firstPercent)
		debug.SetGCPercent(now)
		return now == 350, now
	})
	if before := SetPercent(100); before != 350 {
		t.Errorf("after a collection, SetPercent returned %d, want 350", before)
	}
	if now := debug.SetGCPercent(100); now != 100 {
		t.Errorf("after a collection, SetPercent left %d, want 100", now)
	}
}
