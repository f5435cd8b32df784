// Package train makes static embedding models (package embed) from folders of
// markdown: no labels, no other model, no network, minutes on two cores.
//
// What belongs together in documentation teaches what means the same: a heading
// and its section, a link and its target, a first sentence and the rest
// (pairs.go). Words start from whom they stand beside (cooccur.go, svd.go) and
// then move until the two sides of a pair are nearer to each other than to
// those of other pairs (contrast.go).
//
// Equal options over equal files give the same bytes, on any number of cores
// and with or without vector instructions (kernel.go): whatever is summed is
// summed in an order that the data decide.
package train

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Options tunes Train. The zero value of every field but Dirs is ready to use.
type Options struct {
	// Dirs are folders of markdown, each one source: one product's
	// documentation, one repository. Words that several sources use count more,
	// and sections of one source are what a model must learn to tell apart.
	Dirs []string
	// Out is the file that the model is written to. Empty writes none.
	Out string
	// Seed chooses the run; models of two seeds are equally good.
	Seed uint64
	// From is a model to adapt: its words and vectors are the start, and words
	// that only Dirs have are added. Nil starts from nothing.
	From *embed.Static
	// Dimensions is the length of the vectors, a multiple of 8. Zero means 256,
	// or those of From.
	Dimensions int
	// Words is how many words are learnt at most. Zero means 28,500, or with
	// From 8,000 new ones.
	Words int
	// Epochs is how often every pair is seen. Zero means 4.
	Epochs int
	// Rate is the size of the first steps, which falls to a fiftieth of it.
	// Zero means 0.003, or with From 0.001: of 0.001 to 0.006 it kept most of
	// what the model knew.
	Rate float64
	// SourcePairs bounds the pairs of one source, so that a large one does not
	// drown the rest. Zero means 45,000.
	SourcePairs int
	// Progress is called as work goes on, never concurrently. Nil: nobody asks.
	Progress func(phase string, done, total int)
}

// Report says what Train did.
type Report struct {
	// Model is the model file, as written to Out.
	Model []byte
	// Sources, Pages, Pairs and Tokens are what it was trained on; Kinds counts
	// the pairs by kind.
	Sources, Pages, Pairs, Tokens int
	Kinds                         map[string]int
	// Rows is the size of the vocabulary.
	Rows int
	// Skipped are files that could not be read, as "path: reason".
	Skipped []string
	// Phases say where the time went.
	Phases []Phase
}

// Phase is one step of Train.
type Phase struct {
	Name string
	Took time.Duration
}

// trainer is one run.
type trainer struct {
	Options
	ctx    context.Context
	report Report

	pairs      []pair
	dictionary dictionary
	vocabulary *embed.Vocabulary
	texts      []encoded // of pairs, by their index
	frequency  []int     // of rows
	weights    []float32 // rows of Dimensions
}

// Train makes a model. The error is fault "no_training_text" where Dirs have
// too little to learn from, "bad_source" for one that cannot be read,
// "bad_dimensions", "bad_settings" or "cannot_write", or ctx's.
func Train(ctx context.Context, opts Options) (Report, error) {
	t := &trainer{Options: opts.filled(), ctx: ctx}
	if err := t.check(); err != nil {
		return t.report, err
	}
	steps := []struct {
		name string
		do   func() error
	}{
		{"read", t.read},
		{"vocabulary", t.chooseWords},
		{"encode", t.encode},
		{"start", t.start},
		{"learn", t.learn},
		{"write", t.write},
	}
	for _, s := range steps {
		begin := time.Now()
		err := s.do()
		if ctx.Err() != nil {
			return t.report, ctx.Err()
		}
		if err != nil {
			return t.report, err
		}
		t.report.Phases = append(t.report.Phases, Phase{s.name, time.Since(begin)})
	}
	return t.report, nil
}

func (o Options) filled() Options {
	set := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	words, rate := 28_500, 0.003 // with 256 dimensions a file of 4.5 MB
	if o.From != nil {
		words, rate = 8000, 0.001
		set(&o.Dimensions, o.From.Dimensions())
	}
	set(&o.Dimensions, 256)
	set(&o.Words, words)
	set(&o.Epochs, 4)
	set(&o.SourcePairs, 45000)
	if o.Rate == 0 {
		o.Rate = rate
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	return o
}

// check refuses settings that make no model.
func (o Options) check() error {
	if d := o.Dimensions; d < 8 || d > 1024 || d%8 != 0 || o.From != nil && d != o.From.Dimensions() {
		return fault.New("bad_dimensions", fmt.Sprintf("a model cannot have %d dimensions", d), "use a multiple of 8 up to 1024, or those of the model to adapt")
	}
	if o.Words < 0 || o.Epochs < 0 || o.SourcePairs < 0 || !(o.Rate > 0 && o.Rate <= 1) {
		return fault.New("bad_settings", fmt.Sprintf("%d words, %d epochs, %d pairs or a rate of %g make no model", o.Words, o.Epochs, o.SourcePairs, o.Rate),
			"use positive numbers, and a rate of at most 1")
	}
	return nil
}

// write makes the file, beside its place first so that a reader never sees
// half of one.
func (t *trainer) write() error {
	data, err := embed.Encode(t.vocabulary, t.Dimensions, t.weights)
	if err != nil {
		return fmt.Errorf("encode the model: %w", err)
	}
	t.report.Model = data
	if t.Out == "" {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(t.Out), ".model-*")
	if err != nil {
		return fault.New("cannot_write", "the model cannot be written: "+err.Error(), "check that the folder of "+t.Out+" exists and may be written to")
	}
	defer os.Remove(f.Name()) // nothing is left of that name once it is renamed
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), t.Out)
	}
	if err != nil {
		return fmt.Errorf("write model: %w", err)
	}
	return nil
}
