package chunker

import (
	"bytes"
	"regexp"
	"sync"

	"github.com/yuin/goldmark/text"
)

// Pages are written for site generators, whose notation is neither Markdown nor HTML:
// shortcodes and template tags, MDX comments, attribute lists, markers of admonitions
// and tabs, and module imports. This notation is not part of the page's words, so
// prose omits it. Code keeps it, because there it is what the page is about.

// maxTag is the maximum length of template tags and links in HTML, in bytes. Anything
// longer is text.
const maxTag = 4 << 10

// prose writes a stretch of text without the notation of site generators. goldmark
// does not parse Markdown inside HTML blocks, but components may contain Markdown. If
// inHTML is true, prose therefore also removes the most common Markdown marks.
func (w *wordWriter) prose(s text.Segment, inHTML bool, decode func([]byte) []byte) {
	if w.literal {
		w.segment(s, decode)
		return
	}
	if w.startsLine(s.Start) {
		w.skip = max(w.skip, s.Start+lineMark(w.source[s.Start:lineEnd(w.source, s.Start)], inHTML))
		if w.skip > s.Start && w.skip < s.Stop && isBlank(w.source[w.skip:s.Stop]) {
			w.skip = s.Stop
			w.lineEnd()
		}
	}
	for from := max(s.Start, w.skip); from < s.Stop; from++ {
		end, values := 0, []text.Segment(nil)
		switch c := w.source[from]; {
		case c == '{':
			end, values = templateTag(w.source, from, inHTML)
		case (inHTML || w.tagged) && (c == '[' || c == ']' || c == '!') || inHTML && c == '*':
			rest := w.source[:min(len(w.source), from+maxTag)]
			end = from + inlineMark(rest[from:lineEnd(rest, from)], inHTML)
		}
		if end <= from {
			continue
		}
		w.segment(s.WithStop(from), decode)
		for _, v := range values {
			w.space()
			w.segment(v, decode)
			w.space()
		}
		if w.separated() && end < len(w.source) && w.source[end] == ' ' {
			end++
		}
		w.skip, s.Padding = end, 0
		s.Start, from = min(end, s.Stop), end-1
	}
	w.segment(s, decode)
}

// startsLine reports whether the line contains only white space and Markdown
// quote marks before offset.
func (w *wordWriter) startsLine(offset int) bool {
	for offset--; offset >= 0 && w.source[offset] != '\n'; offset-- {
		if c := w.source[offset]; c != ' ' && c != '\t' && c != '>' {
			return false
		}
	}
	return true
}

// lineEnd returns the offset of the line feed at or after offset, or the length of
// source.
func lineEnd(source []byte, offset int) int {
	if n := bytes.IndexByte(source[offset:], '\n'); n >= 0 {
		return offset + n
	}
	return len(source)
}

var (
	// lineMarks matches marks at the start of a line: `:::note`, `::: {tip}`, `???+`,
	// `!!! note "Title"`, `=== "Tab"`, `[!NOTE]`, `(target)=`. It also matches a whole
	// line like `[guide]: {{< ref "guide" >}}`.
	lineMarks = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?::{3,}[ \t]*(?:\{[\w:-]*\}|[\w-]*)[ \t]*` +
			`|(?:!!!|\?\?\?\+?)(?:[ \t]+[\w-]+)+[ \t]*(?:"|$)` +
			`|===[!+]?[ \t]+"` +
			`|\([\w/:.-]+\)=[ \t]*$` +
			`|\[![A-Za-z]+\][+-]?[ \t]*` +
			`|\[[^\]]+\]:[ \t]+[^ \t]*\{[{%].*)`)
	})
	// htmlMarks matches lines of Markdown inside a component: fences and headings.
	htmlMarks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[ \t]*(?:(?:`{3,}|~{3,})[^`]*$|#{1,6}[ \t]+)") })
)

// lineMark returns the length of the mark at the start of a line. The length does
// not include a title.
func lineMark(line []byte, inHTML bool) int {
	switch trimmed := bytes.TrimLeft(line, " \t"); {
	case len(trimmed) == 0:
		return 0
	case bytes.IndexByte([]byte(":!?=[("), trimmed[0]) >= 0:
		indent := len(line) - len(trimmed)
		if n := len(lineMarks().Find(trimmed)); n > 0 {
			return indent + len(bytes.TrimRight(trimmed[:n], `"`))
		}
	case inHTML:
		return len(htmlMarks().Find(line))
	}
	return 0
}

// inlineMark returns the length of the Markdown mark at the start of b: the end of a
// link with its target, the beginning of a link or image, or two asterisks. If inHTML
// is false, it matches only links that Markdown does not recognize because their target
// contains a template tag.
func inlineMark(b []byte, inHTML bool) int {
	if bytes.HasPrefix(b, []byte("**")) {
		if len(b) > 2 && b[2] == '/' { // part of a path, for example src/**/*.md
			return 0
		}
		return 2
	}
	if bytes.HasPrefix(b, []byte("![")) && inlineMark(b[1:], inHTML) > 0 {
		return 2
	}
	target := bytes.Index(b, []byte("]("))
	if target < 0 || target > 0 && (b[0] != '[' || bytes.IndexByte(b[1:target], '[') >= 0) {
		return 0
	}
	end := target + bytes.IndexByte(b[target:], ')') + 1
	switch {
	case end == target || !inHTML && !hasTag(b[target:end]):
		return 0
	case target == 0:
		return end
	}
	return 1
}

// hasTag reports whether b may contain a template tag.
func hasTag(b []byte) bool {
	return bytes.Contains(b, []byte("{{")) || bytes.Contains(b, []byte("{%"))
}

// templateTags lists the delimiters of Hugo, Liquid and MDX tags.
var templateTags = []struct{ open, end string }{
	{"{{<", ">}}"}, {"{{%", "%}}"}, {"{%", "%}"}, {"{/*", "*/}"},
}

// templateTag returns the end of the tag that begins at offset, and the values in
// the tag that readers see. If there is no tag, end is 0.
func templateTag(source []byte, offset int, inHTML bool) (end int, values []text.Segment) {
	rest := source[offset:min(len(source), offset+maxTag)]
	for _, tag := range templateTags {
		if !bytes.HasPrefix(rest, []byte(tag.open)) {
			continue
		}
		inner := rest[len(tag.open):]
		n := bytes.Index(inner, []byte(tag.end))
		if n < 0 || bytes.Contains(inner[:n], []byte("\n\n")) || bytes.HasPrefix(inner, []byte("/*")) {
			return 0, nil
		}
		begin := offset + len(tag.open)
		if tag.open != "{/*" {
			values = spokenValues(source, begin, begin+n)
		}
		return begin + n + len(tag.end), values
	}
	if offset > 0 && (source[offset-1] == '{' || source[offset-1] == '$') {
		return 0, nil
	}
	n := len(attributeList().Find(rest))
	if n == 0 && inHTML {
		n = len(explicitID().Find(rest))
	}
	if n > 0 && (n == len(rest) || rest[n] != '}') {
		return offset + n, nil
	}
	return 0, nil
}

var (
	// attributeList matches `{: .note }`, `{:toc}`, `{.wide}` or `{ .wide #top }`.
	attributeList = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\{(?::[ \t]*(?:[.#][^{}\n]*|[\w-]+=[^{}\n]*|toc)|[ \t]*\.[A-Za-z][^{}\n]*)\}`)
	})
	explicitID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\{#[\w-]+\}`) })
	// templateValue matches a quoted value, with its name if it has one.
	templateValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:([\w-]+)=)?(?:"([^"\n]*)"|'([^'\n]*)')`) })
)

// spokenValues returns the values in a tag that readers see. These are values named
// in spokenInTemplates, and unnamed values of several words.
func spokenValues(source []byte, begin, end int) (values []text.Segment) {
	for _, m := range templateValue().FindAllSubmatchIndex(source[begin:end], -1) {
		from, to := max(m[4], m[6]), max(m[5], m[7])
		value := source[begin+from : begin+to]
		words := m[2] < 0 && bytes.IndexByte(value, ' ') > 0
		if words || m[2] >= 0 && spokenInTemplates[string(source[begin+m[2]:begin+m[3]])] {
			values = append(values, text.NewSegment(begin+from, begin+to))
		}
	}
	return values
}

var spokenInTemplates = map[string]bool{
	"text": true, "title": true, "name": true, "label": true, "caption": true, "alt": true,
	"description": true, "summary": true, "heading": true, "header": true,
}

// moduleImport matches an import statement. Some generators read .md files as
// MDX, so these files can have imports too.
var moduleImport = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^import\s(?:[^\n]*\sfrom\s+|[\w*{][^'"]*\sfrom\s+)?["'][^\n"']+["'];?[ \t]*(?:\n|$)`)
})

// isModuleSyntax reports whether a block is part of the page's module code. top is
// true if all previous blocks were module code.
func isModuleSyntax(block []byte, mdx, top bool) bool {
	if mdx && top && (bytes.HasPrefix(block, []byte("import ")) || bytes.HasPrefix(block, []byte("export "))) {
		return true
	}
	rest := block
	for bytes.HasPrefix(rest, []byte("import ")) {
		n := len(moduleImport().Find(rest))
		if n == 0 {
			return false
		}
		rest = rest[n:]
	}
	return len(rest) < len(block) && isBlank(rest)
}

var trailingAnchor = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\s*(?:\[\[[^\[\]\n]+\]\]|\[#[\w-]+\]|\{:?[ \t]*[#.][\w-]+(?:[ \t]+[#.][\w-]+)*[ \t]*\})\s*$`)
})

// withoutAnchor removes an anchor or attribute list from the end of a title, in the
// notation of site generators: [[install]], [#install], {.method}.
func withoutAnchor(title []byte) []byte {
	if rest := trailingAnchor().ReplaceAll(title, nil); len(bytes.TrimSpace(rest)) > 0 {
		return rest
	}
	return title
}
