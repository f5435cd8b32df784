package ranker

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// rewriter is the argument with which this test binary writes the shipped ranker into
// a file over and over.
const rewriter = "ranker-rewriter"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == rewriter {
		for {
			if _, err := Default().WriteFile(os.Args[2]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	}
	os.Exit(m.Run())
}

// Two processes write the file at a time and are killed in the middle, again and again.
// Whoever reads it finds all of it, and what they began is removed later.
func TestAKilledWriterLeavesAWholeFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ranker.json")
	if err := os.WriteFile(path, defaultJSON(t), 0o644); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, defaultJSON(t)) {
			t.Fatalf("the file has %d bytes, %v; want the ranker's %d", len(b), err, len(defaultJSON(t)))
		}
	}
	for i := range 10 {
		var writers []*exec.Cmd
		for range 2 {
			cmd := exec.CommandContext(t.Context(), os.Args[0], rewriter, path)
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			writers = append(writers, cmd)
		}
		for began := time.Now(); time.Since(began) < time.Duration(20+i*3)*time.Millisecond; {
			check()
		}
		for _, cmd := range writers {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		check()
	}
	begun := filepath.Join(dir, ".ranker-1")
	if err := os.WriteFile(begun, defaultJSON(t)[:100], 0o600); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, unfinished))
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for _, file := range left {
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Default().WriteFile(path); err != nil {
		t.Fatal(err)
	}
	check()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v; want the ranker alone", entries, err)
	}
}
