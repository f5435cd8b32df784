package chunker

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// split cuts a page called p.md and checks what must hold for every page.
func split(t testing.TB, src string, opts Options) Page {
	t.Helper()
	page := Split("p.md", []byte(src), opts)
	check(t, "p.md", src, page)
	return page
}

// check fails t unless page covers src, line by line, with IDs that are unique
// and can be parsed.
func check(t testing.TB, path, src string, page Page) {
	t.Helper()
	text, _ := normalise([]byte(src))
	front := readFrontMatter(text)
	var joined strings.Builder
	seen := map[string]bool{}
	line := 1 + strings.Count(string(text[:front.end]), "\n")
	for i, c := range page.Chunks {
		joined.WriteString(c.Markdown)
		if seen[c.ID] {
			t.Errorf("chunk %d has ID %q again", i, c.ID)
		}
		seen[c.ID] = true
		gotPath, fragment, err := ParseID(c.ID)
		if err != nil || gotPath != path || ID(gotPath, fragment) != c.ID {
			t.Errorf("ParseID(%q) = %q, %q, %v; want the path %q and back", c.ID, gotPath, fragment, err, path)
		}
		if c.Markdown == "" && len(page.Chunks) == 1 && c.StartLine == 1 {
			continue // front matter alone
		}
		newlines := strings.Count(c.Markdown, "\n")
		end := line + newlines - strings.Count(c.Markdown[len(c.Markdown)-1:], "\n")
		if c.StartLine != line || c.EndLine != end {
			t.Errorf("chunk %q is on lines %d-%d, want %d-%d", c.ID, c.StartLine, c.EndLine, line, end)
		}
		line += newlines
		if (c.Heading == "") != (c.Level == 0) || c.Level < 0 || c.Level > 6 {
			t.Errorf("chunk %q has heading %q with level %d", c.ID, c.Heading, c.Level)
		}
		if c.Breadcrumb == "" {
			t.Errorf("chunk %q has no breadcrumb", c.ID)
		}
		for what, s := range map[string]string{"ID": c.ID, "heading": c.Heading, "text": c.Text} {
			if !utf8.ValidString(s) {
				t.Errorf("chunk %d: the %s %q is not UTF-8", i, what, s)
			}
		}
	}
	want := string(text[front.end:])
	if isBlank([]byte(want)) {
		want = ""
	}
	if got := joined.String(); got != want {
		t.Errorf("the chunks of %q joined = %q, want %q", src, got, want)
	}
	for i := 1; i < len(page.Problems); i++ {
		if page.Problems[i].Line < page.Problems[i-1].Line {
			t.Errorf("problems not in line order: %v", page.Problems)
		}
	}
}

func TestSplitDescribesEveryChunk(t *testing.T) {
	src := `---
title: Retries
description: How to retry.
---
# Retries

Intro.

## Backoff

Wait *longer*.
## Jitter
Spread.
`
	got := split(t, src, Options{})
	want := Page{
		Title: "Retries", Description: "How to retry.",
		Chunks: []Chunk{
			{
				ID: "p.md#_preamble", Heading: "Retries", Level: 1, Breadcrumb: "Retries", StartLine: 5, EndLine: 8,
				Markdown: "# Retries\n\nIntro.\n\n", Text: "Retries\nIntro.",
			},
			{
				ID: "p.md#retries/backoff", Heading: "Backoff", Level: 2, Breadcrumb: "Retries > Backoff", StartLine: 9, EndLine: 11,
				Markdown: "## Backoff\n\nWait *longer*.\n", Text: "Backoff\nWait longer.",
			},
			{
				ID: "p.md#retries/jitter", Heading: "Jitter", Level: 2, Breadcrumb: "Retries > Jitter", StartLine: 12, EndLine: 13,
				Markdown: "## Jitter\nSpread.\n", Text: "Jitter\nSpread.",
			},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Split = %+v\nwant %+v", got, want)
	}
}

func TestSplitOfBlankFilesHasNoChunks(t *testing.T) {
	for name, src := range map[string]string{
		"empty":                 "",
		"white space":           " \n\t\n\r\n",
		"byte-order mark alone": "\ufeff",
		"no title in the front": "---\nweight: 3\n---\n",
	} {
		t.Run(name, func(t *testing.T) {
			if got := split(t, src, Options{}); got.Chunks != nil {
				t.Errorf("Split(%q).Chunks = %+v, want none", src, got.Chunks)
			}
		})
	}
}

func TestBreadcrumbNamesTheTitleWhereNoHeadingDoes(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"chain from H1":               {"# A\n## B\nb\n", "A|A > B"},
		"no heading, no title":        {"text\n", "p.md"},
		"no heading, title":           {"---\ntitle: T\n---\ntext\n", "T"},
		"title before H2":             {"---\ntitle: T\n---\n## B\nb\n", "T > B"},
		"title is the H2":             {"---\ntitle: B\n---\n## B\nb\n", "B"},
		"title beside another H1":     {"---\ntitle: T\n---\n# A\n## B\nb\n", "A|A > B"},
		"preamble before a later H1":  {"text\n\n## B\n# A\n## C\n", "A|B|A > C"},
		"heading without words":       {"# A\n## <br>\nb\n", "A|A"},
		"nothing but a heading level": {"##\n", "p.md"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, chunk := range split(t, c.src, Options{}).Chunks {
				got = append(got, chunk.Breadcrumb)
			}
			if got := strings.Join(got, "|"); got != c.want {
				t.Errorf("breadcrumbs of %q = %q, want %q", c.src, got, c.want)
			}
		})
	}
}

func TestHeadingOfThePreambleIsTheH1ItHolds(t *testing.T) {
	for src, want := range map[string]string{
		"# A\n\n## B\n":   "A 1",
		"text\n\n## B\n":  " 0",
		"### C\n\n## B\n": " 0",
		"# A\ntext\n":     "A 1",
	} {
		first := split(t, src, Options{}).Chunks[0]
		if got := fmt.Sprint(first.Heading, " ", first.Level); got != want {
			t.Errorf("first heading of %q = %q, want %q", src, got, want)
		}
	}
}

func TestProblemsOfOneFileAreBounded(t *testing.T) {
	src := "---\nmetadata:\n" + strings.Repeat("  a: b\n", 200) + "---\ntext\n"
	got := split(t, src, Options{}).Problems
	if len(got) != maxProblems+1 || !strings.Contains(got[maxProblems].Reason, "149 more problems") {
		t.Errorf("%d problems ending with %v, want %d and a count of the rest", len(got), got[len(got)-1], maxProblems)
	}
}

func TestPageOfFrontMatterAloneCanBeFound(t *testing.T) {
	const src = "---\ntitle: Building blocks\ndescription: What they are\n---\n\n"
	want := Chunk{ID: "_index.md#_preamble", Breadcrumb: "Building blocks", StartLine: 1, EndLine: 4, Text: "What they are"}
	if got := Split("_index.md", []byte(src), Options{}).Chunks; len(got) != 1 || got[0] != want {
		t.Errorf("Split = %+v, want one chunk %+v", got, want)
	}
	if got := Split("_index.md", []byte(src), Options{By: File}).Chunks; len(got) != 1 || got[0].ID != "_index.md" {
		t.Errorf("Split by file = %+v, want one chunk _index.md", got)
	}
	if got := Split("_index.md", []byte("---\nweight: 3\n---\n"), Options{}).Chunks; len(got) != 0 {
		t.Errorf("Split of a page that says nothing = %+v, want no chunk", got)
	}
}
