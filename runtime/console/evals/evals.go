// Package evals implements deskhand eval: it connects to the servers to evaluate, and
// prints and writes the results.
package evals

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/eval"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Files holds the paths to which reports are written in addition to the console. An empty
// path means that the file is not written.
type Files struct {
	Report string // as JSON
	Scores string // without timings
	Chart  string // SVG of the scores by category
}

// Answered returns an error if queries failed, because the scores of failed queries say
// nothing about the search.
func Answered(reports []eval.Report) error {
	for _, r := range reports {
		if r.Summary.Failed == 0 {
			continue
		}
		first := r.Cases[slices.IndexFunc(r.Cases, func(c eval.CaseResult) bool { return c.Error != "" })]
		return fault.New("queries_failed", fmt.Sprintf("%d of %d queries failed on %s, the first: %s: %s", r.Summary.Failed, r.Summary.Cases, r.Name, first.Name, first.Error),
			"fix the cases or the server; use --format json to see each case's error")
	}
	return nil
}

// Keep writes the requested files.
func (f Files) Keep(reports []eval.Report) error {
	if f.Report != "" {
		b, err := eval.JSON(reports...)
		if err != nil {
			return err
		}
		if err := os.WriteFile(f.Report, b, 0o644); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
	}
	if f.Chart != "" {
		if err := os.WriteFile(f.Chart, []byte(eval.CategoryChart(reports...).SVG()), 0o644); err != nil {
			return fmt.Errorf("write chart: %w", err)
		}
	}
	if f.Scores == "" {
		return nil
	}
	var b strings.Builder
	if err := eval.WriteScores(&b, reports[0]); err != nil {
		return err
	}
	if err := os.WriteFile(f.Scores, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("write scores: %w", err)
	}
	return nil
}

// Show prints reports in the given format. worst is the number of the worst
// queries that a table lists.
func Show(c *console.Console, format string, worst int, reports []eval.Report, delta *eval.Delta) error {
	switch format {
	case "json":
		b, err := eval.JSON(reports...)
		if err != nil {
			return err
		}
		_, err = c.Stdout.Write(b)
		return err
	case "markdown":
		fmt.Fprint(c.Stdout, eval.Markdown(reports...))
		if delta != nil {
			fmt.Fprintf(c.Stdout, "\n%s", delta.Markdown())
		}
		return nil
	}
	width, terminal := console.Width(c.Stdout)
	style := eval.Style{Width: width, ASCII: !terminal || console.Dumb(), Lowest: worst}
	fmt.Fprint(c.Stdout, eval.Terminal(style, reports...))
	if delta != nil {
		fmt.Fprintf(c.Stdout, "\n%s", delta.Terminal(style))
	}
	return nil
}
