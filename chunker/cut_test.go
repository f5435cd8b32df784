package chunker

import (
	"strings"
	"testing"
)

// words is n words of prose, five code points each, on one line.
func words(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }

// ids returns the fragments of the chunks of src, with "." for the bare path.
func ids(t *testing.T, src string, opts Options) string {
	t.Helper()
	var out []string
	for _, c := range split(t, src, opts).Chunks {
		_, fragment, _ := strings.Cut(c.ID, "#")
		if fragment == "" {
			fragment = "."
		}
		out = append(out, fragment)
	}
	return strings.Join(out, " ")
}

func TestIDsAreThoseOfDocsMCP(t *testing.T) {
	for name, c := range map[string]struct {
		by   By
		src  string
		want string
	}{
		"text before the first cut":          {H2, "# T\n\nintro\n\n## A\n\n## B\n", "_preamble t/a t/b"},
		"no heading of the level":            {H2, "# T\n\n### A\n", "_preamble"},
		"no heading at all":                  {H2, "text\n", "_preamble"},
		"whole file":                         {File, "# T\n\n## A\n", "."},
		"cut at H1":                          {H1, "# A\n\n## B\n\n# C\n", "a c"},
		"cut at H3":                          {H3, "# T\n\n## A\n\n### X\n\n## B\n\n### Y\n", "_preamble t/a/x t/b/y"},
		"H2 unless said":                     {"", "## A\n\n### B\n", "a"},
		"setext headings":                    {H2, "T\n=\n\nA\n-\n\na\n\nB b\n---\n", "_preamble t/a t/b-b"},
		"blank before the first heading":     {H2, "\n\n## A\na\n", "a"},
		"a comment before the first heading": {H2, "<!-- c -->\n\n## A\n", "_preamble a"},
		"an H1 after an H2":                  {H2, "# One\n\n## A\n\n# Two\ntext\n\n## B\n", "_preamble one/a two/b"},
		"an H1 ends the H2 above it":         {H3, "# T\n\n## A\n\n### X\n\n# U\n\n### Y\n", "_preamble t/a/x u/y"},
		"a level left out":                   {H3, "# T\n\n### X\n", "_preamble t/x"},
		"finer headings are no ancestors":    {H3, "# T\n#### D\n## A\n#### D\n### E\n", "_preamble t/a/e"},
		"twice":                              {H2, "## A\n\n## A\n\n## A\n", "a a-2 a-3"},
		"twice below different headings":     {H3, "## A\n### X\n## B\n### X\n", "_preamble a/x b/x"},
		"twice below equal headings":         {H3, "## A\n### X\n## A\n### X\n", "_preamble a/x a-2/x"},
		"counted over all levels":            {H2, "# T\n\n### A\n\n## A\n\n## A\n", "_preamble t/a-2 t/a-3"},
		"no letters":                         {H2, "## 日本\n\n## 中国\n\n## ---\n\n##\n", "section section-2 section-3 section-4"},
		"headings in code":                   {H2, "## A\n\n```\n## no\n```\n\n    ## no\n\n## B ##\n", "a b"},
		"headings in quotes and lists":       {H2, "> ## no\n\n- ## no\n\n## A\n", "_preamble a"},
		"markup":                             {H2, "## **Bold** `code` [link](http://x.example) ![alt](i.png) &amp; a\\_b\n", "bold-code-link-alt-ab"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ids(t, c.src, Options{By: c.by}); got != c.want {
				t.Errorf("IDs of %q by %q = %s, want %s", c.src, c.by, got, c.want)
			}
		})
	}
}

func TestIDsOfOversizedFilesAreThoseOfDocsMCP(t *testing.T) {
	long := words(15) // 74 of the 100 code points that a chunk may have here
	for name, c := range map[string]struct {
		by   By
		src  string
		want string
	}{
		"at the next finer heading":      {H2, "# T\n\n## A\n\nhead\n\n### X\n" + long + "\n\n### X\n" + long + "\n", "_preamble t/a t/a/x t/a/x-2"},
		"at the next that occurs":        {H2, "## A\n\nhead\n\n#### X\n" + long + "\n\n#### Y\n" + long + "\n", "a a/x a/y"},
		"recursively":                    {H2, "## A\n\n### X\nx\n#### Y\n" + long + "\n#### Z\n" + long + "\n", "a a/x a/x/y a/x/z"},
		"only the heading that is long":  {H2, "## A\n### X\n" + long + long + "\n## B\n### Y\n", "a a/x a/x-part-2 b"},
		"between blocks":                 {H2, "## A\n\n" + long + "\n\n" + long + "\n\n" + long + "\n", "a a-part-2 a-part-3"},
		"the text before":                {H2, long + "\n\n" + long + "\n\n## Z\n", "_preamble _preamble-part-2 z"},
		"the text before, at headings":   {H2, "# T\n\n" + long + "\n\n### Q\n" + long + "\n\n## Z\n", "_preamble/t _preamble/t/q t/z"},
		"a file":                         {File, long + "\n\n" + long + "\n\n" + long + "\n", ". _part-2 _part-3"},
		"a file, at headings":            {File, "pre\n\n# T\n\nintro\n\n## A\n" + long + "\n\n## B\n" + long + "\n", ". t t/a t/b"},
		"an H1 inside is no cut":         {H2, "## A\n\nhead\n\n### X\nx\n# New\n### Y\n" + long + "\n", "a a/x a/y"},
		"same names below equal names":   {H2, "## A\n### X\n" + long + "\n### X\n" + long + "\n## A\n### X\n" + long + "\n### X\n" + long + "\n", "a a/x a/x-2 a-2 a-2/x a-2/x-2"},
		"a heading and a block too long": {H2, "## A\n\n- " + long + "\n- " + long + "\n", "a a-part-2"},
		"one block":                      {File, "- " + long + "\n- " + long + "\n- " + long + "\n", "."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ids(t, c.src, Options{By: c.by, MaxChars: 100}); got != c.want {
				t.Errorf("IDs of %q by %q = %s, want %s", c.src, c.by, got, c.want)
			}
		})
	}
}

func TestIDsAreUniqueWhereThoseOfDocsMCPAreNot(t *testing.T) {
	long := words(15)
	for name, c := range map[string]struct {
		src  string
		max  int
		want string
	}{
		"a heading that looks numbered":       {"## A\n\n## A\n\n## A 2\n", 0, "a a-2 a-2-2"},
		"a numbered heading first":            {"## A 2\n\n## A\n\n## A\n", 0, "a-2 a a-3"},
		"a heading that looks like a part":    {"## A\n\n" + long + "\n\n" + long + "\n\n## A part 2\n", 100, "a a-part-3 a-part-2"},
		"a finer heading under the same name": {"## A\n\n" + long + "\n\n#### X\n" + long + "\n\n### X\n" + long + "\n", 100, "a a/x-2 a/x"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ids(t, c.src, Options{MaxChars: c.max}); got != c.want {
				t.Errorf("IDs of %q = %s, want %s", c.src, got, c.want)
			}
		})
	}
}

func TestHTMLAndExplicitIDsStayOutOfHeadings(t *testing.T) {
	for src, want := range map[string]struct{ heading, id string }{
		`## <a name="x"></a>Install`:        {"Install", "p.md#install"},
		"## Install {#custom-id}":           {"Install", "p.md#install"},
		"## Install{#custom-id} ##":         {"Install", "p.md#install"},
		"## Install { #custom-id }":         {"Install", "p.md#install"},
		"## Install {: #custom-id}":         {"Install", "p.md#install"},
		"## Use {#}":                        {"Use {#}", "p.md#use"},
		"## Use { .class }":                 {"Use", "p.md#use-class"},
		"## Use {#a b}":                     {"Use {#a b}", "p.md#use-a-b"},
		"## Line<br>break":                  {"Line break", "p.md#line-break"},
		"## Key <kbd>Ctrl</kbd> <!-- c -->": {"Key Ctrl", "p.md#key-ctrl"},
		"Two\nlines\n---":                   {"Two lines", "p.md#twolines"},
		"## A\u00a0 \tb":                    {"A b", "p.md#a-b"},
	} {
		c := split(t, src+"\n", Options{}).Chunks[0]
		if c.Heading != want.heading || c.ID != want.id {
			t.Errorf("heading of %q = %q, ID %q; want %q, %q", src, c.Heading, c.ID, want.heading, want.id)
		}
	}
}

func TestAnH1AfterASectionEndsItAndIsAncestorOfTheNext(t *testing.T) {
	got := split(t, "# One\n\n## A\n\n# Two\ntext\n\n## B\n", Options{}).Chunks
	if want := "## A\n\n# Two\ntext\n\n"; got[1].Markdown != want {
		t.Errorf("second chunk = %q, want %q", got[1].Markdown, want)
	}
	if want := "Two > B"; got[2].Breadcrumb != want {
		t.Errorf("third breadcrumb = %q, want %q", got[2].Breadcrumb, want)
	}
}

func TestHugeHeadingsAreBounded(t *testing.T) {
	c := split(t, "## "+strings.Repeat("é", 5000)+"x\n## b\n", Options{}).Chunks[0]
	if n := len([]rune(c.Heading)); n != maxTitle {
		t.Errorf("heading of %d code points, want %d", n, maxTitle)
	}
	if !strings.HasSuffix(c.Text, "x") {
		t.Error("the text does not hold the whole heading")
	}
}
