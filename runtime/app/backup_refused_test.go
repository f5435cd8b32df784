package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deskhand/deskhand/runtime/store"
)

func TestARefusedCopyLeavesNoStore(t *testing.T) {
	place := filepath.Join(t.TempDir(), "to")
	for _, existed := range []bool{false, true} {
		remove := unmade(place)
		db, err := (&App{}).openStore(t.Context(), place)
		if err != nil {
			t.Fatal(err)
		}
		db.Close()
		if !existed {
			remove()
			if left, err := os.ReadDir(place); err == nil {
				t.Errorf("the folder is still there, with %v", left)
			}
			if db, err = (&App{}).openStore(t.Context(), place); err != nil {
				t.Fatal(err)
			}
			db.Close()
			continue
		}
		remove()
		if _, err := os.Stat(filepath.Join(place, store.SQLiteFile)); err != nil {
			t.Errorf("a store from before the copy: %v", err)
		}
	}
}
