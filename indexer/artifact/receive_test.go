package artifact

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

// What was built elsewhere replaces what is there, once it is right; until then
// the old one stays, whatever the reader does.
func TestReceive(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	m, _ := build(t, from, corpus(40))
	sent, err := os.ReadFile(filepath.Join(from, m.Index.Path))
	if err != nil {
		t.Fatal(err)
	}
	build(t, to, corpus(3))
	before := files(t, to)
	broken := errors.New("the line is cut")
	for what, read := range map[string]func(io.Writer) error{
		"an error":   func(w io.Writer) error { _, _ = w.Write(sent[:len(sent)/2]); return broken },
		"too little": func(w io.Writer) error { _, err := w.Write(sent[:len(sent)-1]); return err },
		"too much":   func(w io.Writer) error { _, err := w.Write(append(bytes.Clone(sent), 0)); return err },
		"other data": func(w io.Writer) error { _, err := w.Write(flip(sent, len(sent)/2)); return err },
	} {
		if err := Receive(to, m, read); err == nil || what == "an error" && !errors.Is(err, broken) {
			t.Errorf("%s: %v", what, err)
		}
		if after := files(t, to); after != before {
			t.Errorf("%s: the folder was\n%s\nand is\n%s", what, before, after)
		}
	}
	// Data that no reader can read is refused, although its digest is right.
	foreign := m
	foreign.Embedding = &Embedding{Provider: "http", Model: "x", Dimensions: 7}
	if err := Receive(to, foreign, func(w io.Writer) error { _, err := w.Write(sent); return err }); fault.Of(err) == nil || fault.Of(err).Code != "artifact_damaged" {
		t.Errorf("data of another shape: %v", err)
	}
	if after := files(t, to); after != before {
		t.Errorf("data of another shape: the folder is\n%s", after)
	}

	calls := 0
	whole := func(w io.Writer) error { calls++; _, err := w.Write(sent); return err }
	for range 2 { // what is there is not read again
		if err := Receive(to, m, whole); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := files(t, to), files(t, from); got != want || calls != 1 {
		t.Errorf("read %d times, and the folder is\n%s\nand not\n%s", calls, got, want)
	}
	if err := Receive(to, foreign, whole); fault.Of(err) == nil || files(t, to) != files(t, from) {
		t.Errorf("metadata of another shape: %v", err)
	}
	calls = 1
	// What is damaged on the disk is read again.
	if err := os.WriteFile(filepath.Join(to, m.Index.Path), flip(sent, len(sent)/2), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Receive(to, m, whole); err != nil || calls != 2 {
		t.Errorf("damaged data: read %d times, %v", calls, err)
	}
	if err := reopen(t, to).Verify(); err != nil {
		t.Error(err)
	}
}
