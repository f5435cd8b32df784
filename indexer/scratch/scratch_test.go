package scratch

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// What a killed process left is deleted, and what a living one needs stays.
func TestFoldersOfKilledProcessesAreDeleted(t *testing.T) {
	in := t.TempDir()
	alive, err := create(in, "source")
	if err != nil {
		t.Fatal(err)
	}
	killed, err := create(in, "source")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*Folder{alive, killed} {
		if err := os.WriteFile(filepath.Join(f.Path, "a.md"), []byte("# A\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	killed.lock.Close() // as the system does
	for _, other := range []string{"deskhand-source-1", "deskhand-x", "x.lock"} {
		if err := os.Mkdir(filepath.Join(in, other), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	sweep(in)
	if got := names(t, in); len(got) != 5 {
		t.Errorf("left: %v; want the living one with its lock, and what is not of this package", got)
	}
	if _, err := os.Stat(filepath.Join(alive.Path, "a.md")); err != nil {
		t.Errorf("a living process lost its files: %v", err)
	}
	if err := alive.Close(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, in); len(got) != 3 {
		t.Errorf("after Close: %v", got)
	}
	if err := (*Folder)(nil).Close(); err != nil {
		t.Errorf("no folder: %v", err)
	}
}

// Whoever sweeps at any moment takes no folder from the one who creates it.
func TestFoldersAreNotTakenWhileTheyAreCreated(t *testing.T) {
	in := t.TempDir()
	done := make(chan struct{})
	var sweepers, makers sync.WaitGroup
	for range 2 {
		sweepers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					sweep(in)
				}
			}
		})
	}
	for range 4 {
		makers.Go(func() {
			for range 100 {
				f, err := create(in, "deps")
				if err != nil {
					t.Error(err)
					return
				}
				for range 3 {
					if err := os.WriteFile(filepath.Join(f.Path, "a"), nil, 0o600); err != nil {
						t.Error(err)
					}
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	makers.Wait()
	close(done)
	sweepers.Wait()
	if got := names(t, in); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}
