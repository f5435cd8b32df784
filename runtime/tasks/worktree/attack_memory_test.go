package worktree

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

// maxTaken is how much memory one check of an attempt may allocate, whatever the agent
// has written. It is enough for the names and the data about them, but not for the
// content of files.
const maxTaken = 96 << 20

// The content that an agent has written is never in memory as a whole, neither to list
// it nor to show it.
func TestAttackWorkChangesAreReadInParts(t *testing.T) {
	private(t)
	for name, c := range map[string]struct {
		write func(dir string)
		files int
	}{
		"one line of 100 MB":    {func(dir string) { repeat(t, filepath.Join(dir, "x"), "a", 100<<20) }, 1},
		"100 MB of short lines": {func(dir string) { repeat(t, filepath.Join(dir, "x"), "abc\n", 100<<20) }, 1},
		"ten files that git takes for text": {func(dir string) {
			for i := range 10 {
				repeat(t, filepath.Join(dir, fmt.Sprint("x", i)), "abc\n", 7<<20)
			}
		}, 10},
		"12,000 new files with long names": {func(dir string) {
			for i := range 12_000 {
				put(t, filepath.Join(dir, fmt.Sprint(i%100), strings.Repeat("n", 200)+fmt.Sprint(i)), "x\n")
			}
		}, 12_000},
	} {
		t.Run(name, func(t *testing.T) {
			tree := attempt(t, repository(t, "app"))
			c.write(filepath.Join(tree.Dir, "app"))
			for how, look := range map[string]func() (Summary, error){
				"listed":            func() (Summary, error) { c, err := tree.Changes(t.Context(), Balanced, false); return c.Summary, err },
				"listed with force": func() (Summary, error) { c, err := tree.Changes(t.Context(), Balanced, true); return c.Summary, err },
				"as a patch": func() (Summary, error) {
					p, err := tree.Patch(t.Context(), []string{"app"}, maxPatchBytes, Balanced, true)
					if len(p.Text) > maxPatchBytes {
						err = fmt.Errorf("the patch has %d bytes", len(p.Text))
					}
					return Summary{Files: c.files}, err
				},
				"as a file": func() (Summary, error) {
					f, err := tree.File(t.Context(), "app/x", Slice{StartLine: 2, MaxBytes: maxFileBytes})
					if fault.Of(err) != nil { // this case has no such file
						err = nil
					}
					if len(f.Content) > maxFileBytes {
						err = fmt.Errorf("the file has %d bytes", len(f.Content))
					}
					return Summary{Files: c.files}, err
				},
			} {
				t.Run(how, func(t *testing.T) {
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					sum, err := look()
					runtime.ReadMemStats(&after)
					if err != nil || sum.Files != c.files {
						t.Fatalf("found %+v, %v; want %d files", sum, err, c.files)
					}
					if took := after.TotalAlloc - before.TotalAlloc; took > maxTaken {
						t.Errorf("took %d MiB of memory, want at most %d", took>>20, maxTaken>>20)
					}
				})
			}
		})
	}
}

func repeat(t *testing.T, path, text string, size int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := []byte(strings.Repeat(text, 1<<20/len(text)))
	for written := 0; written < size; written += len(block) {
		if _, err := f.Write(block); err != nil {
			t.Fatal(err)
		}
	}
}

// The guard's limit on bytes is checked before lines are counted, and reported.
func TestSizesAreLookedAtBeforeLines(t *testing.T) {
	private(t)
	tree := attempt(t, repository(t, "app"))
	put(t, filepath.Join(tree.Dir, "app", "new.txt"), strings.Repeat("line\n", 100))
	got, err := tree.Changes(t.Context(), Guard{Bytes: 100}, false)
	if err != nil || got.Blocked != ThresholdExceeded || !strings.Contains(got.Detail, "lines not counted, 500 bytes") || got.Summary.Added != 0 {
		t.Errorf("Changes = %+v, %v; want it blocked by 500 bytes", got, err)
	}
}

func TestOutputThatIsTooLongIsRefused(t *testing.T) {
	out := &bounded{limit: 10}
	if n, err := out.Write([]byte("12345678")); n != 8 || err != nil {
		t.Errorf("Write = %d, %v", n, err)
	}
	if _, err := out.Write([]byte("9012")); !errors.Is(err, errLong) || !out.over || out.Cap() > 64 {
		t.Errorf("Write = %v, over %v; want it refused", err, out.over)
	}
	long := &parts{f: func(string) error { return nil }}
	block := bytes.Repeat([]byte("x"), 1<<20)
	long.Write(block)
	if _, err := long.Write(block); !errors.Is(err, errLong) {
		t.Errorf("Write of a name of 2 MiB = %v, want it refused", err)
	}
	var got []string
	whole := &parts{f: func(p string) error { got = append(got, p); return nil }}
	for _, b := range []byte("a\x00bc\x00\x00d") {
		whole.Write([]byte{b})
	}
	if want := "a|bc|"; strings.Join(got, "|") != want {
		t.Errorf("parts %q, want %q", got, want)
	}
}
