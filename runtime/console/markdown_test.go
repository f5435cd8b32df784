package console

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/deskhand/deskhand/runtime/manual"
)

func TestMarkdownAtATerminal(t *testing.T) {
	for source, want := range map[string]string{
		"# A `b` c\n\nOne two\nthree four five six seven.":               "# A b c\n\nOne two three four\nfive six seven.\n",
		"- a\n- b c\n  - d\n\n1. x\n2. y\n":                              "- a\n- b c\n  - d\n\n1. x\n2. y\n",
		"- one two three four five\n\n- b\n":                             "- one two three four\n  five\n\n- b\n",
		"10. ten\n\n    more\n":                                          "10. ten\n\n    more\n",
		"> quoted words that go on\n":                                    "│ quoted words that\n│ go on\n",
		"a\n\n```sh\nlong command --that-is --not-cut\n\nb\n```\n\nc":    "a\n\n  long command --that-is --not-cut\n\n  b\n\nc\n",
		"see [the page](https://x.org) and <https://y.org>":              "see the page\nhttps://x.org and\nhttps://y.org\n",
		"a \\*b &amp; `\\* &amp;` c":                                     "a *b & \\* &amp; c\n",
		"a *b* **c**d<br>e":                                              "a b cd e\n",
		"| A | Long |\n| --- | --- |\n| x | one two three |\n| yy | |\n": "A  │ Long\n───┼──────────────\nx  │ one two three\nyy │\n",
		"|A|B|\n|-|-|\n|one two three|four five six|\n":                  "A        │ B\n─────────┼──────────\none two  │ four five\nthree    │ six\n",
		"": "",
	} {
		if got := typeset(source, Paint{terminal: true}, 20); got != want {
			t.Errorf("%q\n got  %q\n want %q", source, got, want)
		}
	}
	if got, want := typeset("a `b c` **d** \x1b[31m\u202e", Paint{true, true}, 80), "a \x1b[36mb c\x1b[0m \x1b[1md\x1b[0m "; !strings.HasPrefix(got, want) || strings.Contains(got, "[31m\u202e") || strings.Contains(got, "\x1b[31m") {
		t.Errorf("in colour: %q, want %q without the control characters", got, want)
	}
}

// Text of the manual fits into a narrow terminal, except where a single word is longer.
// Code and tables with long words may be wider.
func TestTheManualFitsATerminal(t *testing.T) {
	const width = 60
	for _, p := range manual.Pages() {
		for line := range strings.SplitSeq(typeset(p.Markdown, Paint{terminal: true}, width), "\n") {
			words := strings.Fields(strings.TrimLeft(line, "-# 0123456789."))
			if ansi.StringWidth(line) > width && len(words) > 1 && !strings.HasPrefix(line, "  ") && !strings.Contains(line, "│") {
				t.Errorf("%s: %q", p.Path, line)
			}
		}
	}
}
