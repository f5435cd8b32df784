package train

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Run is a training from a file of sets.
type Run struct {
	Options
	// Sets is the file, see [ReadSets].
	Sets string
	// Out is the file to write; empty: none.
	Out string
	// Measure also leaves each set out in turn, and prints what that gains there.
	Measure bool
	// Tell is called with what is done now.
	Tell func(text string)
}

// Do trains a ranker, and prints to w what it measured and which file it wrote. It returns
// the errors of ReadSets, Gather, Measure and Train, and of writing the file.
func (r Run) Do(ctx context.Context, w io.Writer) error {
	if err := r.withDefaults().check(); err != nil {
		return err
	}
	sets, err := ReadSets(r.Sets)
	if err != nil {
		return err
	}
	if err := r.checkOut(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "deskhand-ranker")
	if err != nil {
		return fmt.Errorf("make a folder for the indexes: %w", err)
	}
	defer os.RemoveAll(dir)
	questions, err := Gather(ctx, sets, dir, func(set string) { r.Tell("asking " + set) })
	if err != nil {
		return err
	}
	if r.Measure {
		m, err := Measure(ctx, questions, r.Options, func(set string) { r.Tell("leaving out " + set) })
		if err != nil {
			return err
		}
		if err := m.Print(w); err != nil {
			return err
		}
	}
	if r.Out == "" {
		return nil
	}
	m, err := Train(ctx, questions, r.Options)
	if err != nil {
		return err
	}
	size, err := m.WriteFile(r.Out)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "wrote a ranker of %d numbers, trained on %d questions, to %s (%d bytes)\n", m.Numbers(), len(questions), r.Out, size)
	return err
}

// checkOut refuses before the training what would fail after it.
func (r Run) checkOut() error {
	if r.Out == "" {
		return nil
	}
	parent := filepath.Dir(r.Out)
	if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		return fault.New("bad_output", fmt.Sprintf("there is no folder %s for the ranker", parent), "create it, or pass another file with -o")
	}
	if info, err := os.Stat(r.Out); err == nil && info.IsDir() {
		return fault.New("bad_output", fmt.Sprintf("%s is a folder", r.Out), "pass a file with -o")
	}
	return nil
}
