package evals

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/eval/remote"
)

// ByMeaning is a question of which no word occurs in deskhand's manual.
const ByMeaning = "semantic similarity"

// Demo asks a server the questions. For each, it prints the hits and the start of the best
// one. A question without a hit is an error.
func Demo(ctx context.Context, out io.Writer, r remote.Server, questions []string) error {
	fmt.Fprintf(out, "A client connected and sees the tools %s.\n", strings.Join(r.Tools, ", "))
	for _, question := range questions {
		if err := demoAsk(ctx, out, r, question); err != nil {
			return err
		}
	}
	return nil
}

// demoAsk searches for an answer and reads the first hit.
func demoAsk(ctx context.Context, out io.Writer, r remote.Server, question string) error {
	hits, _, err := r.Search(ctx, question, nil, 3, "")
	if err != nil {
		return err
	}
	paint := console.PainterFor(out)
	fmt.Fprintf(out, "\n%s\n", paint.Bold("? "+question))
	if question == ByMeaning {
		fmt.Fprintf(out, "  %s\n", paint.Dim("(no page contains any of these words; the hits match the meaning)"))
	}
	if len(hits) == 0 {
		return fmt.Errorf("no answer to %q", question)
	}
	for i, h := range hits {
		fmt.Fprintf(out, "  %d. %s  %s\n", i+1, h.Breadcrumb, paint.Dim(h.ID))
	}
	text, err := r.Text(ctx, hits[0].ID)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines[:min(8, len(lines))] {
		fmt.Fprintf(out, "     | %s\n", line)
	}
	return nil
}
