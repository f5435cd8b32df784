//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAnInterruptedTrainingLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var page strings.Builder
	for i := range 40 {
		fmt.Fprintf(&page, "## Heading %d\n\nBelow it stand a few words of text, which say %d times a little about this and that and nothing more.\n\n", i, i)
	}
	write(t, dir, map[string]string{"docs/page.md": page.String(), "old.model": "as it was"})
	out := filepath.Join(dir, "old.model")
	cmd := exec.CommandContext(t.Context(), "deskhand", "train", "docs", "-o", out, "--dimensions", "8", "--epochs", "1000000")
	cmd.Dir = dir
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		said = append(said, lines.Text())
		if lines.Text() == "learning" {
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 || said[len(said)-1] != "deskhand: interrupted" {
		t.Errorf("train after an interrupt: %v, stderr %q, want exit code 1 and that it was interrupted", err, said)
	}
	if b, _ := os.ReadFile(out); string(b) != "as it was" {
		t.Errorf("the old model is changed: %.40q", b)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("the folder has %v, want the docs and the old model", entries)
	}
}
