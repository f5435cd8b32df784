package chunker

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// sizes returns the length in code points of each chunk, white space at the end
// not counted.
func sizes(page Page) []int {
	var out []int
	for _, c := range page.Chunks {
		out = append(out, utf8.RuneCountInString(strings.TrimSpace(c.Markdown)))
	}
	return out
}

func TestLengthIsCountedInCodePoints(t *testing.T) {
	src := "## A\n\n" + strings.Repeat("é", 40) + "\n\n" + strings.Repeat("é", 40) + "\n"
	if got := ids(t, src, Options{MaxChars: 88}); got != "a" {
		t.Errorf("88 code points cut into %s, want one chunk", got)
	}
	if got := ids(t, src, Options{MaxChars: 87}); got != "a a-part-2" {
		t.Errorf("88 code points cut into %s, want two parts", got)
	}
}

func TestDefaultLimitIs20000(t *testing.T) {
	block := strings.Repeat("x", 9990)
	if got := ids(t, "## A\n\n"+block+"\n\n"+block+"\n", Options{}); got != "a" {
		t.Errorf("19,988 code points cut into %s, want one chunk", got)
	}
	if got := ids(t, "## A\n\n"+block+"\n\n"+block+"\n\n"+block+"\n", Options{}); got != "a a-part-2" {
		t.Errorf("29,980 code points cut into %s, want two parts", got)
	}
}

func TestPartsShareTheirHeading(t *testing.T) {
	page := split(t, "# T\n## A\n\n"+words(15)+"\n\n"+words(15)+"\n", Options{MaxChars: 100})
	for _, c := range page.Chunks[1:] {
		if c.Heading != "A" || c.Level != 2 || c.Breadcrumb != "T > A" {
			t.Errorf("%s is under %q, level %d, %q; want A, 2, T > A", c.ID, c.Heading, c.Level, c.Breadcrumb)
		}
	}
}

func TestShortPartsAreMergedWithinTheirHeading(t *testing.T) {
	long := words(18) // 89 code points
	for name, c := range map[string]struct {
		src      string
		min      int
		want     string
		lastSize int
	}{
		"none asked for":            {long + "\n\ntiny tiny tiny\n", 0, "_preamble _preamble-part-2", 14},
		"with the part before":      {long + "\n\ntiny tiny tiny\n", 20, "_preamble", 105},
		"with the part after":       {"tiny tiny tiny\n\n" + long + "\n", 20, "_preamble", 105},
		"long enough":               {long + "\n\ntiny tiny tiny\n", 14, "_preamble _preamble-part-2", 14},
		"never with another":        {"## A\n\ntiny\n\n## B\n\ntiny\n", 50, "a b", 10},
		"never with a finer one":    {"## A\n\ntiny\n\n### B\n" + long + "\n", 50, "a a/b", 95},
		"not into one endless part": {long + "\n\n" + long + "\n\n" + long + "\n", 100, "_preamble _preamble-part-2", 89},
	} {
		t.Run(name, func(t *testing.T) {
			opts := Options{MaxChars: 100, MinChars: c.min}
			if got := ids(t, c.src, opts); got != c.want {
				t.Errorf("IDs = %s, want %s", got, c.want)
			}
			got := sizes(split(t, c.src, opts))
			if last := got[len(got)-1]; last != c.lastSize {
				t.Errorf("last chunk of %v is %d long, want %d", got, last, c.lastSize)
			}
		})
	}
}

func TestABlockIsCutInsideOnlyOverFourTimesTheLimit(t *testing.T) {
	row := "| cell | " + words(4) + " |\n" // 31 code points with its line end
	table := "| a | b |\n|---|---|\n" + strings.Repeat(row, 11)
	if got := ids(t, table, Options{MaxChars: 100}); got != "_preamble" {
		t.Errorf("a table of 360 code points is cut into %s, want it whole", got)
	}
	page := split(t, table+strings.Repeat(row, 10), Options{MaxChars: 100})
	if len(page.Chunks) < 7 {
		t.Errorf("a table of 670 code points is cut into %d chunks, want 7 or more", len(page.Chunks))
	}
	for _, c := range page.Chunks {
		if n := utf8.RuneCountInString(c.Markdown); n > 100 || !strings.HasSuffix(c.Markdown, "|\n") {
			t.Errorf("%s has %d code points, want at most 100, cut at a line end: %q", c.ID, n, c.Markdown)
		}
	}
	if got, want := page.Chunks[1].Text, "cell word word word word"; !strings.HasPrefix(got, want) {
		t.Errorf("text of the second part = %q, want it to start with %q", got, want)
	}
}

func TestALineIsCutBetweenCodePoints(t *testing.T) {
	page := split(t, strings.Repeat("é", 1000), Options{MaxChars: 100})
	if len(page.Chunks) != 10 {
		t.Errorf("%d chunks, want 10", len(page.Chunks))
	}
	for _, c := range page.Chunks {
		if want := strings.Repeat("é", 100); c.Markdown != want || c.Text != want {
			t.Errorf("%s = %q, text %q; want 100 times é", c.ID, c.Markdown, c.Text)
		}
	}
}
