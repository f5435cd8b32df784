package console

import (
	"fmt"
	"time"

	"github.com/deskhand/deskhand/runtime/gaps"
)

// Gaps prints the gaps in the docs, at most limit. path is the log that they come
// from.
func (c *Console) Gaps(report gaps.Report, path string, limit int) error {
	if report.Asked == 0 {
		fmt.Fprintf(c.Stdout, "No questions are recorded in %s.\nTo record questions with poor results, set search.log to on and run \"deskhand serve\".\n", path)
		return nil
	}
	paint := PainterFor(c.Stdout)
	fmt.Fprintf(c.Stdout, "%d questions had poor results (%d without duplicates); %d of these have good results today.\n", report.Asked, report.Distinct, report.Answered)
	for i, g := range report.Gaps {
		if i == limit {
			fmt.Fprintf(c.Stdout, "\n%d more; show all with --limit %d\n", len(report.Gaps)-limit, len(report.Gaps))
			break
		}
		fmt.Fprintf(c.Stdout, "\n%s  asked %s, last on %s, found: %s\n", paint.Bold(paint.Plain(g.Questions[0].Text)), times(g.Count), g.Last.Local().Format(time.DateOnly), g.Found)
		for _, q := range g.Questions[1:] {
			fmt.Fprintf(c.Stdout, "  also: %s\n", paint.Plain(q.Text))
		}
		if g.Nearest != nil {
			fmt.Fprintf(c.Stdout, "  nearest: %s  %s\n", paint.Plain(g.Nearest.Breadcrumb), paint.Path(paint.Plain(g.Nearest.Lines)))
		}
		fmt.Fprintf(c.Stdout, "  draft:\n%s\n", indented(paint.Plain(g.Draft)))
	}
	return nil
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
