package store

import (
	"testing"
	"time"
)

// TestACheckTellsACommitWithoutEvents: a process stops checking after a commit that it need
// not read, and does not take silence for one.
func TestACheckTellsACommitWithoutEvents(t *testing.T) {
	place := t.TempDir()
	db, err := Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	other, err := Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	look := func() feedState {
		t.Helper()
		now, err := db.dialect.(*sqliteStore).look(t.Context())
		if err != nil || now.version == 0 {
			t.Fatalf("look = %+v, %v", now, err)
		}
		return now
	}
	before := look()
	if again := look(); again != before {
		t.Errorf("look = %+v, then %+v, though nothing was committed", before, again)
	}
	if _, _, err := other.Claim(t.Context(), Lease{Name: "a", Holder: "b"}, time.Minute); err != nil {
		t.Fatal(err)
	}
	if after := look(); after.seq != before.seq || after.version == before.version {
		t.Errorf("look = %+v after a commit without events, and %+v before it", after, before)
	}
}
