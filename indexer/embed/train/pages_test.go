package train

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestChosenKeepsOneOfEachPage(t *testing.T) {
	for name, try := range map[string]struct{ paths, want string }{
		"plain":                           {"b.md a.md", "a.md b.md"},
		"translations beside originals":   {"docs/a.md docs/zh-cn/a.md docs/ja/b.md pt_BR/a.md", "docs/a.md"},
		"translations by name":            {"a.md a.zh-cn.md pages.de/b.md node.js.md", "a.md node.js.md"},
		"nothing but translations":        {"de/a.md de/b.md", "de/a.md de/b.md"},
		"the newest version":              {"v1.9/a.md v1.10/a.md v1.10/b.md v1.9/c.md", "v1.10/a.md v1.10/b.md v1.9/c.md"},
		"no version is newest":            {"docs/a.md versioned_docs/version-2.0/a.md", "docs/a.md"},
		"histories":                       {"a.md CHANGELOG.md changelog/b.md release-notes/2.0.md releases.md blog/x.md", "a.md"},
		"a name that only looks like one": {"id.md v2.md releasing.md bloggers.md", "bloggers.md id.md releasing.md v2.md"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(chosen(strings.Fields(try.paths)), " "); got != try.want {
				t.Errorf("chosen(%s) = %s, want %s", try.paths, got, try.want)
			}
		})
	}
}

func TestForeignPagesAreToldApart(t *testing.T) {
	for src, want := range map[string]bool{
		"": false, "plain words": false, "Ein paar Wörter, déjà vu": false, "α is one letter among all of these words": false,
		"설정을 변경하려면 config 파일": true, "Настройка сервера": true,
	} {
		if got := foreign([]byte(src)); got != want {
			t.Errorf("foreign(%q) = %v, want %v", src, got, want)
		}
	}
}

const guide = `---
title: Guide
description: How to keep a fleet in order
---
Words before the first heading, enough of them to be read as one section of the page.

# Guide

## Rolling back {#undo}

Run the command. See [the other page of things](../ref/other.md#details-here) for more of it.

` + "```" + `
# not a heading
` + "```" + `

### Why does it fail?

Because of ` + "`x`" + ` and <b>tags</b>.
`

func TestAPageIsCutAtEveryHeading(t *testing.T) {
	p := parse("guides/guide.md", []byte(guide))
	if p.title != "Guide" || p.description != "How to keep a fleet in order" {
		t.Errorf("title %q, description %q", p.title, p.description)
	}
	var got []string
	for _, s := range p.sections {
		got = append(got, strings.Join([]string{s.heading, s.anchor, s.crumb, oneLine(s.body)}, "|"))
	}
	want := []string{
		"|||Words before the first heading, enough of them to be read as one section of the page.",
		"|guide||",
		"Rolling back|undo||Run the command. See the other page of things for more of it. # not a heading",
		"Why does it fail?|why-does-it-fail|Rolling back|Because of x and tags.",
	}
	if !slices.Equal(got, want) {
		t.Errorf("sections = %q\nwant %q", got, want)
	}
}

func TestHostilePagesAreCut(t *testing.T) {
	for name, c := range map[string]struct {
		src, title      string
		sections, pairs int
		last            string // body of the last section, as it begins
	}{
		"empty":            {"", "x", 0, 0, ""},
		"only a fence":     {"```", "x", 1, 0, ""},
		"no end of line":   {"# a", "a", 2, 0, ""},
		"only headings":    {strings.Repeat("# a\n", 1000), "a", 1001, 0, ""},
		"front matter":     {"---\n: : :\n---\n# a\n", "a", 2, 0, ""},
		"bytes":            {"# \xff\xfe\x00\n\xff", "\ufffd\ufffd", 2, 0, "\ufffd"},
		"deep":             {strings.Repeat("> ", 5000) + "x", "x", 1, 1, "> > > "},
		"links":            {strings.Repeat("[", 5000) + "](x)", "x", 1, 0, "[[[[["},
		"heading of marks": {"## ``\n\n" + strings.Repeat("word ", 40), "x", 2, 1, "word word"},
	} {
		t.Run(name, func(t *testing.T) {
			p := parse("x.md", []byte(c.src))
			pages := []*page{p}
			pairs := pagePairs(1, 0, pages, indexLinks(pages))
			if p.title != c.title || len(p.sections) != c.sections || len(pairs) != c.pairs {
				t.Fatalf("title %q, %d sections, %d pairs; want %q, %d and %d", p.title, len(p.sections), len(pairs), c.title, c.sections, c.pairs)
			}
			for i, s := range p.sections {
				if !utf8.ValidString(s.heading + s.anchor + s.crumb + s.body) {
					t.Errorf("section %d is no UTF-8: %q", i, s)
				}
			}
			if c.sections > 0 && !strings.HasPrefix(p.sections[c.sections-1].body, c.last) {
				t.Errorf("the last section begins %.40q, want %q", p.sections[c.sections-1].body, c.last)
			}
		})
	}
}

func TestLinksLeadToSections(t *testing.T) {
	long := strings.Repeat("enough words to learn from ", 5)
	from := &page{path: "docs/guides/guide.md", title: "Guide", sections: []section{{body: long}, {anchor: "here", body: long}}}
	to := &page{path: "docs/ref/Other.md", title: "Other", sections: []section{{body: "short"}, {anchor: "a", body: long}, {anchor: "b", body: long}}}
	index := &page{path: "docs/ref/index.md", title: "Ref", sections: []section{{body: long}}}
	links := indexLinks([]*page{from, to, index})
	for link, want := range map[string]*section{
		"../ref/other.md":             &to.sections[1],
		"../ref/other.md#B":           &to.sections[2],
		"/docs/ref/other/#a":          &to.sections[1],
		"other":                       &to.sections[1],
		"../ref/":                     &index.sections[0],
		"#here":                       &from.sections[1],
		`{{< ref "other.md" >}}`:      &to.sections[1],
		"../ref/other.md#no-such":     nil,
		"https://example.com/other":   nil,
		"mailto:someone@example.com":  nil,
		"missing.md":                  nil,
		"":                            &from.sections[0],
		"../../../../../../other.md#": &to.sections[1],
	} {
		if _, got := links.resolve(from, link); got != want {
			t.Errorf("resolve(%q) = %+v, want %+v", link, got, want)
		}
	}
}

func TestLinksOfAParagraph(t *testing.T) {
	got := linksOf("* Read this first. To go back, see [`rolling` back now](a.md \"t\") in the guide. The end ![image](x.png).\n[it](b.md)\n")
	want := []link{{"rolling back now", "To go back, see rolling back now in the guide.", "a.md"}, {"", "", "b.md"}}
	if !slices.Equal(got, want) {
		t.Errorf("linksOf = %+v\nwant %+v", got, want)
	}
}
