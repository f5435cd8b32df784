// Package train trains static embedding models (package embed) from folders of
// Markdown. It needs no labels, no other model and no network. Training takes minutes
// on two cores.
//
// It learns which pieces of text mean the same from pairs that belong together in
// documentation: a heading and its section, a link and its target, a first sentence and
// the rest (pairs.go). The initial vector of a word depends on the words near it in the
// documentation (cooccur.go, svd.go). Training then moves the vectors until the two
// sides of a pair are nearer to each other than to the sides of other pairs
// (contrast.go).
//
// Equal options and equal files produce the same bytes, on any number of cores and with
// or without vector instructions (kernel.go), because the order of every sum depends
// only on the data.
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

// Options configure Train. Only Dirs is required. The zero values of the other fields
// select the defaults.
type Options struct {
	// Dirs are folders of Markdown. Each is one source, for example one product's
	// documentation or one repository. Words that occur in several sources count
	// more. The model also learns to distinguish sections of the same source.
	Dirs []string
	// Out is the output file. If empty, no file is written.
	Out string
	// Seed selects the random numbers of the run. Models with different seeds are
	// equally good.
	Seed uint64
	// From is a model to adapt. Training starts with the words and vectors of this
	// model, and adds words that occur only in Dirs. If From is nil, training starts
	// from scratch.
	From *embed.Static
	// Dimensions is the length of the vectors, a multiple of 8. Zero means 256,
	// or the length in From if that is set.
	Dimensions int
	// Words is the maximum number of words to learn. Zero means 28,500 words, or
	// 8,000 new words if From is set.
	Words int
	// Epochs is the number of times that each pair is used. Zero means 4.
	Epochs int
	// Rate is the initial step size. It decreases to a fiftieth during training. Zero
	// means 0.003, or 0.001 if From is set. In tests with rates from 0.001 to 0.006,
	// the rate 0.001 preserved the most of an adapted model's knowledge.
	Rate float64
	// SourcePairs is the maximum number of pairs from one source, so that a large
	// source does not dominate. Zero means 45,000.
	SourcePairs int
	// Progress is called during training, but never concurrently. It may be nil.
	Progress func(phase string, done, total int)
}

// Report is the result of Train.
type Report struct {
	// Model is the model file, as written to Out.
	Model []byte
	// Sources, Pages, Pairs and Tokens count the training data. Kinds counts the pairs
	// of each kind.
	Sources, Pages, Pairs, Tokens int
	Kinds                         map[string]int
	// Rows is the size of the vocabulary.
	Rows int
	// Skipped lists the files that could not be read, in the form "path: reason".
	Skipped []string
	// Phases holds the time per phase.
	Phases []Phase
}

// Phase is one step of Train.
type Phase struct {
	Name string
	Took time.Duration
}

// trainer is the state of one run.
type trainer struct {
	Options
	ctx    context.Context
	report Report

	pairs      []pair
	dictionary dictionary
	vocabulary *embed.Vocabulary
	fixed      int       // number of rows at the start that do not change
	others     []string  // codes of the languages after English
	texts      []encoded // text of the pairs, with the same indexes
	frequency  []int     // by row
	weights    []float32 // rows of length Dimensions
}

// Train trains a model. It returns fault "no_training_text" if Dirs contain too little
// text to learn from, "bad_source" if one of them cannot be read, "bad_dimensions" or
// "bad_settings" if an option is invalid, and "cannot_write" if Out cannot be written.
// If ctx is cancelled, it returns ctx's error.
func Train(ctx context.Context, opts Options) (Report, error) {
	t := &trainer{Options: opts.filled(), ctx: ctx}
	if err := t.check(); err != nil {
		return t.report, err
	}
	return t.run([]step{
		{"read", t.read},
		{"vocabulary", t.chooseWords},
		{"encode", t.encode},
		{"start", t.start},
		{"learn", t.learn},
		{"write", t.write},
	})
}

// step is one phase of a run.
type step struct {
	name string
	do   func() error
}

// run takes the steps in order.
func (t *trainer) run(steps []step) (Report, error) {
	for _, s := range steps {
		begin := time.Now()
		err := s.do()
		if t.ctx.Err() != nil {
			return t.report, t.ctx.Err()
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
	words, rate := 28_500, 0.003 // with 256 dimensions, these 28,500 words make a file of 4.5 MB
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

// check returns an error for invalid settings.
func (o Options) check() error {
	if d := o.Dimensions; d < 8 || d > 1024 || d%8 != 0 || o.From != nil && d != o.From.Dimensions() {
		return fault.New("bad_dimensions", fmt.Sprintf("a model cannot have %d dimensions", d), "use a multiple of 8, at most 1024, or the dimensions of the model to adapt")
	}
	if o.Words < 0 || o.Epochs < 0 || o.SourcePairs < 0 || !(o.Rate > 0 && o.Rate <= 1) {
		return fault.New("bad_settings", fmt.Sprintf("cannot train a model with %d words, %d epochs, %d pairs and a rate of %g", o.Words, o.Epochs, o.SourcePairs, o.Rate),
			"use positive numbers, and a rate of at most 1")
	}
	return nil
}

func (t *trainer) write() error { return t.writeModel(t.vocabulary, t.weights) }

// writeModel writes a model to a temporary file first, so that readers never see an
// incomplete file.
func (t *trainer) writeModel(vocabulary *embed.Vocabulary, weights []float32) error {
	data, err := embed.Encode(vocabulary, t.Dimensions, weights)
	if err != nil {
		return fmt.Errorf("encode the model: %w", err)
	}
	t.report.Model = data
	if t.Out == "" {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(t.Out), ".model-*")
	if err != nil {
		return fault.New("cannot_write", "cannot write the model: "+err.Error(), "check that the folder of "+t.Out+" exists and is writable")
	}
	defer os.Remove(f.Name()) // no effect after the rename
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
