package builds

import (
	"fmt"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/indexer/embed/train"
	"github.com/deskhand/deskhand/runtime/console"
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
