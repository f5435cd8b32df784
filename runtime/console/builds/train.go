package builds

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/indexer/embed/train"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// trained is the JSON output of train.
type trained struct {
	Out string `json:"out"`
	// Name identifies the model. Vectors of models with different names
	// cannot be compared.
	Name       string `json:"name"`
	Bytes      int    `json:"bytes"`
	Dimensions int    `json:"dimensions"`
	// Words is the size of the vocabulary, including parts of words.
	Words   int      `json:"words"`
	Sources int      `json:"sources"`
	Pages   int      `json:"pages"`
	Pairs   int      `json:"pairs"`
	Tokens  int      `json:"tokens"`
	Skipped []string `json:"skipped"`
	// Phases are in the order in which they ran.
	Phases []indexer.Phase `json:"phases"`
}

// Trained prints the report of a training whose model was written to out.
func Trained(c *console.Console, out string, r train.Report, asJSON bool) error {
	m, err := embed.Parse(r.Model)
	if err != nil {
		return err
	}
	if asJSON {
		answer := trained{
			Out: out, Name: m.Name(), Bytes: len(r.Model), Dimensions: m.Dimensions(), Words: r.Rows,
			Sources: r.Sources, Pages: r.Pages, Pairs: r.Pairs, Tokens: r.Tokens,
			Skipped: append([]string{}, r.Skipped...),
		}
		for _, p := range r.Phases {
			answer.Phases = append(answer.Phases, indexer.Phase{Name: p.Name, Millis: float64(p.Took.Microseconds()) / 1000})
		}
		return c.JSON(answer)
	}
	_, err = fmt.Fprintf(c.Stdout, "wrote a model of %s, trained on %s of %s, to %s (%s)\n", textutil.Count(r.Rows, "word"), textutil.Count(r.Pairs, "pair"),
		textutil.Count(r.Pages, "page"), out, console.Size(int64(len(r.Model))))
	return err
}

// Training is one run of deskhand train.
type Training struct {
	train.Options
	Base   string // model to adapt: "builtin" or a file; empty: train from scratch
	AsJSON bool   // print the report as JSON
}

// Do checks the options, trains, writes the model and prints a report. It returns the
// fault "misuse" for invalid options.
func (f *Training) Do(ctx context.Context, c *console.Console) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.Base != "" {
		e, err := embed.Open(f.Base)
		if err != nil {
			return err
		}
		from, ok := e.(*embed.Static)
		if !ok {
			return f.noModel()
		}
		f.From = from
	}
	bar := console.NewBar(c.Stderr)
	f.Progress = func(phase string, done, total int) {
		bar.Show(indexer.Progress{Phase: phase, Done: done, Total: total})
	}
	report, err := train.Train(ctx, f.Options)
	bar.End()
	if err != nil {
		return err
	}
	for _, s := range report.Skipped {
		c.Tell("skipped " + s)
	}
	if f.From == nil && report.Pairs < train.FewPairs {
		c.Tell(fmt.Sprintf("%d pairs of texts are too few for a good model; use --from builtin to adapt a model trained on more", report.Pairs))
	}
	return Trained(c, f.Out, report, f.AsJSON)
}

// check returns an error for invalid flags before the training, which takes minutes.
func (f *Training) check() error {
	const hint = "pass a file for the model, for example -o my.model"
	switch {
	case f.Out == "":
		return fault.Misuse("-o is missing", hint)
	case !strings.HasSuffix(f.Out, ".model"):
		return fault.Misuse(fmt.Sprintf("-o %s does not end in .model", f.Out), hint)
	case f.Base != "" && f.Base != embed.Default && !strings.HasSuffix(f.Base, ".model"):
		return f.noModel() // not the error that a provider's API key is missing
	}
	info, err := os.Stat(filepath.Dir(f.Out))
	if err != nil || !info.IsDir() {
		return fault.Misuse(fmt.Sprintf("the model's folder %s does not exist", filepath.Dir(f.Out)), "create it first")
	}
	return nil
}

func (f *Training) noModel() error {
	return fault.Misuse("--from "+f.Base+" is not a model that can be adapted", "use builtin, or a file written by \"deskhand train\"")
}
