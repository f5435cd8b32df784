//go:build unix

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

func TestInterruptLeavesTheQuestionOpen(t *testing.T) {
	peopleStore(t)
	a := asks(t, "--confirm", "Deploy?", "--output", "json")
	if err := a.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	got := a.ends()
	if want := `{"answered":false,"cancelled":false,"timedOut":false,"answers":[]}`; got.code != 130 || compact(t, got.stdout) != want {
		t.Errorf("interrupted: exit %d, stdout %s, want 130 and %s", got.code, got.stdout, want)
	}
	if !strings.Contains(got.stderr, "deskhand ask wait "+a.id) {
		t.Errorf("stderr %q does not say how to come back to %s", got.stderr, a.id)
	}
	if open := listed(t); len(open) != 1 || open[0].Status != elicit.Open || !open[0].AskerGone {
		t.Errorf("afterwards %+v, want the question open, its asker gone", open)
	}
}
