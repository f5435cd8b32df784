package attempts

import (
	"testing"

	"github.com/deskhand/deskhand/runtime/tasks"
)

func TestCostsInWords(t *testing.T) {
	for _, c := range []struct {
		u           tasks.Usage
		cell, words string
	}{
		{tasks.Usage{}, "-", ""},
		{tasks.Usage{Runs: 1, Silent: 1}, "?", "the agent reported no tokens"},
		{tasks.Usage{Runs: 1, TokensIn: 1200, CacheRead: 900, TokensOut: 80, Cost: 420_000}, "$0.42", "1200 tokens read (900 from the cache), 80 written, $0.42"},
		{tasks.Usage{Runs: 3, TokensIn: 10, TokensOut: 1, Cost: 2200, Silent: 1, Unpriced: 1}, "$0.0022+", "10 tokens read, 1 written, at least $0.0022 (1 of 3 runs reported no tokens, 1 of 3 runs without a known price)"},
		{tasks.Usage{Runs: 1, TokensIn: 10, Partial: 1}, "?", "10 tokens read, 0 written, cost unknown (1 of 1 run reported only some)"},
	} {
		if got := c.u.Short(); got != c.cell || c.u.Words() != c.words {
			t.Errorf("%+v: %q and %q, want %q and %q", c.u, got, c.u.Words(), c.cell, c.words)
		}
	}
}
