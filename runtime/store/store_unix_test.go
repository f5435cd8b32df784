//go:build unix

package store_test

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheStoreIsItsOwnersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state with ?, # and %41", "deskhand")
	db := open(t, dir, notes)
	mustWrite(t, db, "a", "x")
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 3 {
		t.Errorf("%d files in %s, want the database, its log and the lock", len(files), dir)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s has mode %v, want nothing for others", f.Name(), mode)
		}
	}
	if info, _ := os.Stat(dir); info.Mode().Perm() != 0o700 {
		t.Errorf("folder has mode %v, want 0700", info.Mode().Perm())
	}
}
