//go:build unix

package mcpserver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// A client's entry may start a script, and that other programs. If they do not answer,
// none of them stays.
func TestDialLeavesNothingOfACommandThatDoesNotAnswer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := Dial(ctx, Target{Command: []string{"sh", "-c", "sleep 1000 & echo $! >" + file + "; wait; sleep 1000"}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Dial = %v, want the deadline's error", err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the program that the script started is gone", func() (bool, any) {
		began := proc.StartTime(pid)
		return began == "", began
	})
}
