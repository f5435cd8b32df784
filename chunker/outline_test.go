package chunker

import (
	"strings"
	"testing"
)

func TestHeadingsAreThoseThatSplitFinds(t *testing.T) {
	for name, c := range map[string]struct {
		src  string
		want [7]int
	}{
		"of all levels":  {"# a\n## b\n### c\n#### d\n##### e\n###### f\n####### g\n", [7]int{1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1}},
		"underlined":     {"One\n===\n\nTwo\n---\n", [7]int{1: 1, 2: 1}},
		"in code":        {"```\n## a\n```\n\n    ## b\n", [7]int{}},
		"in a quote":     {"> ## a\n\n- ## b\n", [7]int{}},
		"in front":       {"---\n# a\nb: c\n---\n## d\n", [7]int{2: 1}},
		"CRLF":           {"\ufeff## a\r\n## b\r\n", [7]int{2: 2}},
		"hostile nested": {strings.Repeat("> ", 1000) + "\n\n## a\n", [7]int{2: 1}},
		"nothing":        {"", [7]int{}},
	} {
		if got := Headings([]byte(c.src)); got != c.want {
			t.Errorf("%s: Headings(%.40q) = %v, want %v", name, c.src, got, c.want)
		}
	}
}

func TestTitleIsThatOfTheFirstHeading(t *testing.T) {
	for src, want := range map[string]string{
		"text\n\n# One *two*\n\n# Three\n": "One two",
		"---\ntitle: Front\n---\n# One\n":  "Front",
		"<p align=\"center\">\n<h1 align=\"center\">\n  <img alt=\"Logo\"> My <b>tool</b> &amp; more\n</h1>\n</p>\n\n## Install\n": "Logo My tool & more",
		"<h1>HTML</h1>\n\n# One\n":       "One",
		"<h1></h1>\n\n<H1>Second</H1>\n": "Second",
		"<h1>open\n\ntext\n":             "",
		"```html\n<h1>code</h1>\n```\n":  "",
	} {
		if got := split(t, src, Options{}).Title; got != want {
			t.Errorf("title of %q = %q, want %q", src, got, want)
		}
	}
}
