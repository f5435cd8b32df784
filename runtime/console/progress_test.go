package console

import (
	"testing"

	"github.com/deskhand/deskhand/indexer"
)

func TestBarFitsTheTerminal(t *testing.T) {
	p := indexer.Progress{Phase: "build", Done: 61, Total: 3088}
	for _, c := range []struct {
		width int
		want  string
	}{
		{100, "building index     [                        ] 61/3088"},
		{60, "building index     [                        ] 61/3088"},
		{59, "building 61/3088"},
		{10, "building "},
	} {
		if got := (&Bar{width: c.width}).line(p); got != c.want {
			t.Errorf("%d columns: %q, want %q", c.width, got, c.want)
		}
	}
	for phase, want := range map[string]string{"walk": "finding files", "fetch": "fetching pages", "convert": "converting files", "read": "reading files", "build": "building index", "cut": "checking"} {
		if got := phaseName(phase); got != want {
			t.Errorf("phase %s is called %q, want %q", phase, got, want)
		}
	}
}
