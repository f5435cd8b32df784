package train

import (
	"context"
	"fmt"
	"io"
	"os"
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
