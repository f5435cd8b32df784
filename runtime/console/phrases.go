package console

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/deskhand/deskhand/runtime/phrases"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// PhrasesPlan is the plan of deskhand phrases, for people and programs.
type PhrasesPlan struct {
	File string `json:"file"`
	phrases.Plan
	// Next lists the sections to write, in order.
	Next []PhrasesNext `json:"next"`
	// Estimate is the approximate usage of the model. Cost is in US dollars, or 0
	// if no price is known.
	Estimate phrases.Usage `json:"estimate"`
	Cost     float64       `json:"cost,omitempty"`
}

// PhrasesNext is one section to write.
type PhrasesNext struct {
	ChunkID string `json:"chunk_id"`
	// Rank is the section's rank, as defined in [phrases.Section]. Asked is the
	// number of recorded questions.
	Rank  int `json:"rank"`
	Asked int `json:"asked,omitempty"`
	// Also lists the chunks with the same text.
	Also []string `json:"also,omitempty"`
}

// NewPhrasesPlan converts a plan for file to its printed form.
func NewPhrasesPlan(file string, p phrases.Plan, u phrases.Usage, price phrases.Price) PhrasesPlan {
	shown := PhrasesPlan{File: file, Plan: p, Next: []PhrasesNext{}, Estimate: u, Cost: u.PricedAt(price)}
	for _, s := range p.Todo {
		shown.Next = append(shown.Next, PhrasesNext{s.IDs[0], s.Rank, s.Asked, s.IDs[1:]})
	}
	return shown
}

// mostNext is the maximum number of a plan's sections that are printed for people.
const mostNext = 20

// PhrasesPlan prints a plan.
func (c *Console) PhrasesPlan(p PhrasesPlan, asJSON bool) error {
	if asJSON {
		return c.JSON(p)
	}
	paint := PainterFor(c.Stdout)
	fmt.Fprintf(c.Stdout, "%s: %s, %d with phrases, %d written by a person, %d changed since, %d to write\n", paint.Plain(p.File),
		textutil.Count(p.Sections, "section"), p.Written, p.Own, p.Changed, len(p.Next))
	for _, id := range p.Stale {
		fmt.Fprintf(c.Stdout, "stale: no chunk has the ID '%s'\n", paint.Plain(id))
	}
	if len(p.Next) == 0 {
		return nil
	}
	fmt.Fprintf(c.Stdout, "\nThe sections that questions are most likely about come first. The number is a section's rank in a search for its own first sentence:\n")
	for _, s := range p.Next[:min(mostNext, len(p.Next))] {
		rank := "not found"
		if s.Rank < phrases.NotFound {
			rank = strconv.Itoa(s.Rank + 1)
		}
		asked := ""
		if s.Asked > 0 {
			asked = fmt.Sprintf("  (asked %s and not found)", times(s.Asked))
		}
		fmt.Fprintf(c.Stdout, "  %9s  %s%s\n", rank, paint.Path(paint.Plain(s.ChunkID)), asked)
	}
	if more := len(p.Next) - mostNext; more > 0 {
		fmt.Fprintf(c.Stdout, "  and %d more; --json lists all\n", more)
	}
	fmt.Fprintf(c.Stdout, "\nestimate: %s, %d input tokens and %d output tokens%s\n", textutil.Count(p.Estimate.Requests, "request"), p.Estimate.TokensIn, p.Estimate.TokensOut, dollars(", ", p.Cost))
	return nil
}

// dollars returns the given string followed by an amount of money, or "" if the amount
// is 0.
func dollars(before string, amount float64) string {
	if amount == 0 {
		return ""
	}
	return fmt.Sprintf("%s$%.4f", before, amount)
}

// PhrasesProgress prints the progress of a run.
func (c *Console) PhrasesProgress(r phrases.Report) {
	c.Tell(fmt.Sprintf("%d of %s, %d tokens", r.Written, textutil.Count(r.Todo, "section"), r.Usage.TokensIn+r.Usage.TokensOut))
}

// PhrasesReport prints a report on the phrases that a run wrote to a file. It
// returns err, the run's error.
func (c *Console) PhrasesReport(file string, r phrases.Report, asJSON bool, err error) error {
	if asJSON {
		return errors.Join(c.JSON(r), err)
	}
	for _, f := range r.Failed {
		c.Tell(fmt.Sprintf("no phrases for %s: %s", f.ChunkID, f.Reason))
	}
	if r.Stopped != "" {
		c.Tell("stopped: " + r.Stopped + "; run the same command again to continue")
	}
	used := ""
	if n := r.Usage.TokensIn + r.Usage.TokensOut; n > 0 {
		about := ""
		if r.Usage.Estimated {
			about = "about "
		}
		used = fmt.Sprintf(", %s, %s%d tokens%s", textutil.Count(r.Usage.Requests, "request"), about, n, dollars(", ", r.Cost))
	}
	said := c.Line("wrote %s for %d of %s into %s (%d refused%s)", textutil.Count(r.Phrases, "phrase"), r.Written, textutil.Count(r.Todo, "section"), file, r.Refused, used)
	return errors.Join(said, err)
}
