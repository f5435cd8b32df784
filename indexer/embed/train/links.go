package train

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

// linkIndex finds pages by the last one to four elements of their paths. Links
// therefore work even if the site is served from a different folder.
type linkIndex map[string][]*page

func indexLinks(pages []*page) linkIndex {
	index := linkIndex{}
	for _, p := range pages {
		parts := strings.Split(plainPath(p.path), "/")
		for k := 1; k <= min(4, len(parts)); k++ {
			end := strings.Join(parts[len(parts)-k:], "/")
			index[end] = append(index[end], p)
		}
	}
	return index
}

var (
	suffix    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\.(mdx?|markdown|html?)$`) })
	indexPage = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)/(index|_index|readme)$`) })
	shortcode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{.*?"([^"]+)".*?\}\}`) })
)

func plainPath(p string) string {
	p, _, _ = strings.Cut(p, "?")
	p = suffix().ReplaceAllString(p, "")
	p = indexPage().ReplaceAllString("/"+p, "")
	return strings.ToLower(strings.Trim(p, "/"))
}

// resolve returns the page and section that a link on the page from points to. If the
// section is unknown or too short to learn from, it is nil. A link without a fragment
// points to the page's first section with text.
func (index linkIndex) resolve(from *page, to string) (*page, *section) {
	to = strings.Trim(to, "<>")
	if strings.Contains(to, ":") && !strings.Contains(to, "{{") {
		return nil, nil // another site
	}
	target, fragment, _ := strings.Cut(to, "#")
	p := from
	if target != "" {
		if p = index.page(shortcode().ReplaceAllString(target, "$1")); p == nil {
			return nil, nil
		}
	}
	fragment = strings.ToLower(fragment)
	for i := range p.sections {
		s := &p.sections[i]
		if len(s.body) > 60 && (fragment == "" || s.anchor == fragment) {
			return p, s
		}
	}
	return nil, nil
}

func (index linkIndex) page(target string) *page {
	parts := strings.Split(plainPath(path.Clean("/"+target)), "/")
	for len(parts) > 0 && strings.Trim(parts[0], ".") == "" {
		parts = parts[1:]
	}
	for k := min(4, len(parts)); k > 0; k-- {
		found := index[strings.Join(parts[len(parts)-k:], "/")]
		if len(found) > 3 && k < 2 {
			return nil // several pages have this name, for example "overview"
		}
		if len(found) > 0 {
			return found[0]
		}
	}
	return nil
}

// link is a link in a section. text is the link text, or empty if it is not specific
// enough. sentence is the sentence around the link, or empty if that sentence does not
// have 5 to 40 words.
type link struct{ text, sentence, to string }

var (
	inlineLink = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`!?\[([^\[\]]{2,160})\]\(([^)\s]+)[^)]*\)`) })
	listMarker = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*([*+-]|\d+\.|>)\s+`) })
	marks      = strings.NewReplacer("`", "", "**", "", "__", "", "\\", "")
)

func linksOf(markdown string) []link {
	if !strings.Contains(markdown, "](") {
		return nil
	}
	var links []link
	for line := range strings.Lines(markdown) {
		found := inlineLink().FindAllStringSubmatchIndex(line, -1)
		for _, m := range found {
			if line[m[0]] == '!' {
				continue
			}
			text := oneLine(marks.Replace(line[m[2]:m[3]]))
			l := link{to: line[m[4]:m[5]], sentence: sentenceAround(line, m[0], m[1])}
			if wordCount(text) >= 2 && len(text) >= 8 {
				l.text = text
			}
			links = append(links, l)
		}
	}
	return links
}

func sentenceAround(line string, from, to int) string {
	start, end := 0, len(line)
	for _, m := range sentenceEnd().FindAllStringIndex(line, -1) {
		if m[1] <= from {
			start = m[1]
		}
		if m[0] >= to {
			end = m[0] + 1
			break
		}
	}
	s := inlineLink().ReplaceAllString(listMarker().ReplaceAllString(line[start:end], ""), "$1")
	s = oneLine(marks.Replace(s))
	if n := wordCount(s); n < 5 || n > 40 {
		return ""
	}
	return s
}
