package chunker

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// hostile is inputs on which a markdown parser without limits takes minutes or
// gigabytes. size is about the length of the result in bytes.
var hostile = []struct {
	name string
	make func(size int) string
}{
	{"one line", func(n int) string { return fill(n, "word ") }},
	{"one word", func(n int) string { return fill(n, "a") }},
	{"only spaces", func(n int) string { return "a" + fill(n, " ") + "b" }},
	{"only newlines", func(n int) string { return "a" + fill(n, "\n") + "b" }},
	{"nested quotes", func(n int) string { return fill(n, ">") }},
	{"nested quotes by line", func(n int) string { return paragraphs(n, ">", 10_000) }},
	{"nested lists", func(n int) string { return paragraphs(n, "+ ", 10_000) }},
	{"lists getting deeper", staircase},
	{"blank lines in nested lists", func(n int) string { return fill(n, strings.Repeat("+ ", 25)+"a\n"+strings.Repeat("\n", 10_000)) }},
	{"brackets", func(n int) string { return fill(n, "[") }},
	{"open brackets by paragraph", func(n int) string { return paragraphs(n, "[", 60_000) }},
	{"nested brackets", func(n int) string { return strings.Repeat("[", n/2) + "a" + strings.Repeat("]", n/2) }},
	{"open links", func(n int) string { return paragraphs(n, "[a](b", 500_000) }},
	{"open images", func(n int) string { return paragraphs(n, "![", 500_000) }},
	{"stars", func(n int) string { return fill(n, "*") }},
	{"open emphasis", func(n int) string { return paragraphs(n, "a**b *c", 100_000) }},
	{"mixed emphasis", func(n int) string { return paragraphs(n, "*a_ ", 100_000) }},
	{"open code spans", func(n int) string { return paragraphs(n, "`` ` ", 500_000) }},
	{"open tags", func(n int) string { return paragraphs(n, "<a ", 500_000) }},
	{"open attributes", func(n int) string { return paragraphs(n, "<div a='", 500_000) }},
	{"open comments", func(n int) string { return paragraphs(n, "a <!-- ", 500_000) }},
	{"open shortcodes", func(n int) string { return paragraphs(n, "{{< a ", 500_000) }},
	{"shortcodes of values", func(n int) string { return paragraphs(n, "{{< 'a b' \"c\"", 3000) + ">}}" }},
	{"open attribute lists", func(n int) string { return paragraphs(n, "{: .a {.b ", 500_000) }},
	{"open links in HTML", func(n int) string { return "<div>\n" + fill(n, "[a](b ![") }},
	{"links to tags", func(n int) string { return paragraphs(n, "[a]({{ b) ", 500_000) }},
	{"open titles in HTML", func(n int) string { return fill(n, "<h1>") }},
	{"imports", func(n int) string { return fill(n, "import a from 'b'\n") }},
	{"marks of admonitions", func(n int) string { return paragraphs(n/2, "!!! a ", 500_000) + fill(n/2, ":::\n") }},
	{"headings", func(n int) string { return fill(n, "# a\n") }},
	{"empty headings", func(n int) string { return fill(n, "#\n") }},
	{"headings of all levels", func(n int) string { return fill(n, "# a\n## b\n### c\n#### d\n##### e\n###### f\n") }},
	{"one heading over many", func(n int) string { return fill(n/2, "aaaa aaaa\n") + "===\n" + fill(n/2, "## b\n") }},
	{"table with more cells than text", func(n int) string { return fill(n/3, "|a") + "\n" + fill(n/3, "|-") + "\n" + fill(n/3, "b\n") }},
	{"tables with more cells than text", func(n int) string {
		return fill(n, strings.Repeat("|a", 300)+"\n"+strings.Repeat("|-", 300)+"\n"+strings.Repeat("b\n", 300)+"\n")
	}},
	{"table with escaped pipes", func(n int) string { return "|a|b|\n|-|-|\n" + fill(n, "|`c\\|`|d|\n") }},
	{"long table", func(n int) string { return "|a|b|\n|-|-|\n" + fill(n, "|c|d|\n") }},
	{"link definitions", func(n int) string { return fill(n, "[a]: b\n") }},
	{"list items", func(n int) string { return fill(n, "- a\n") }},
	{"paragraphs", func(n int) string { return fill(n, "a\n\n") }},
	{"lines", func(n int) string { return fill(n, "a\n") }},
	{"NUL", func(n int) string { return fill(n, "\x00") }},
	{"carriage returns", func(n int) string { return fill(n, "\r") }},
	{"chunks of one character", func(n int) string { return "---\nmcp_strategy: {max_chunk_size: 1}\n---\n" + fill(n, "a b\n\n") }},
	{"front matter of brackets", func(n int) string { return "---\n" + fill(min(n, maxFrontMatter/2), "[") + "\n---\na\n" }},
	{"front matter of keys", func(n int) string { return "---\n" + fill(min(n, maxFrontMatter/2), "? a\n") + "\n---\na\n" }},
	{"huge front matter", func(n int) string { return "---\n" + fill(n, "a: [\n") + "\n---\na\n" }},
	{"chunking hints", func(n int) string { return fill(n, "<!-- mcp_chunking_hint: ") }},
}

func fill(n int, s string) string { return strings.Repeat(s, n/len(s)+1) }

// paragraphs is paragraphs of one line of up to width bytes made of s.
func paragraphs(n int, s string, width int) string { return fill(n, fill(min(n, width), s)+"\n\n") }

func staircase(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(strings.Repeat("  ", i%1500) + "- a\n")
	}
	return b.String()
}

func TestHostileFilesEndInTimeAndLoseNothing(t *testing.T) {
	const size = 1 << 18
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			src := h.make(size)
			start := time.Now()
			page := Split("p.md", []byte(src), Options{})
			// A second on a quiet machine at worst; without limits most of
			// these take minutes.
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("Split of %d bytes took %v", len(src), took)
			}
			check(t, "p.md", src, page)
			for _, c := range page.Chunks {
				if len(c.Markdown) > 6*maxBlock*defaultMaxChars {
					t.Errorf("chunk %s has %d bytes", c.ID, len(c.Markdown))
				}
			}
		})
	}
}

func TestTenThousandHeadingsAreAllCut(t *testing.T) {
	var b strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&b, "## Setting %d\n\ntext\n\n", i%5000)
	}
	page := split(t, b.String(), Options{})
	if len(page.Chunks) != 10_000 || len(page.Problems) != 0 {
		t.Fatalf("%d chunks, problems %v; want 10,000 and none", len(page.Chunks), page.Problems)
	}
	if got, want := page.Chunks[9999].ID, "p.md#setting-4999-2"; got != want {
		t.Errorf("last ID = %q, want %q", got, want)
	}
}

func TestFilesBeyondTheLimitsAreCutAtHashHeadings(t *testing.T) {
	rest := "## A\n\ntext\n\n```sh\n## no\n```\n\n  ### B ##\n\n## C#\n\n#no\n"
	for name, c := range map[string]struct{ src, reason string }{
		"nested":      {strings.Repeat(">", 1000) + "\n\n" + rest, "1: blocks are nested more than 64 levels deep"},
		"nested late": {"a\n\n" + strings.Repeat("+ ", 100) + "a\n\n" + rest, "3: blocks are nested more than 64 levels deep"},
		"long line":   {"a\n" + strings.Repeat("x", maxLineBytes+1) + "\n\n" + rest, "2: a line is longer than 1024 KiB"},
		"many lines":  {strings.Repeat("x\n", maxLines) + rest, "1048577: the file has more than 1048576 lines"},
		"large":       {strings.Repeat(strings.Repeat("x", 1000)+"\n", maxBodyBytes/1000) + rest, "0: the file is larger than 16 MiB"},
		"many blocks": {strings.Repeat("- a\n", maxNodes/2) + rest, ": the file has more than 524288 blocks"},
	} {
		t.Run(name, func(t *testing.T) {
			page := split(t, c.src, Options{})
			if got := problems(page); !strings.Contains(got, c.reason+readByLine+"\n") || len(page.Problems) != 1 {
				t.Errorf("problems = %q, want %q", got, c.reason+readByLine)
			}
			last := page.Chunks[len(page.Chunks)-2:]
			if last[0].ID != "p.md#a" || last[0].Heading != "A" || last[1].ID != "p.md#c" || last[1].Heading != "C#" {
				t.Errorf("last chunks are %+v, want A and C#", last)
			}
		})
	}
}

func TestTooMuchMarkupInOnePlaceIsReadAsText(t *testing.T) {
	for name, hard := range map[string]string{
		"links":       strings.Repeat("[a](b", 20_000),
		"table":       strings.Repeat("|a", 300) + "\n" + strings.Repeat("|-", 300) + "\n" + strings.Repeat("b\n", 300),
		"definitions": strings.Repeat("[a]: b\n", 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			page := split(t, "## A\n\n"+hard+"\n\n## B\n\n*b* [l](u)\n", Options{})
			if want := "3: too much markup in one place; some of it is read as text\n"; problems(page) != want {
				t.Errorf("problems = %q, want %q", problems(page), want)
			}
			if last := page.Chunks[len(page.Chunks)-1]; last.Text != "B\nb l" {
				t.Errorf("text after it = %q, want B, b l", last.Text)
			}
		})
	}
}
