package chunker

import (
	"bytes"

	"github.com/yuin/goldmark/text"
)

// stripper writes the text between HTML or JSX tags. It reads line by line and keeps
// its state between lines. The zero value is outside any tag.
type stripper struct {
	in      inside
	quote   byte   // the open quote inside a tag
	depth   int    // number of open braces inside a tag; JSX values contain code
	until   []byte // end of a comment, script or style
	name    []byte // name of the tag, in lower case
	closing bool   // the tag is </name>
	// component is true for a JSX tag. The values of its attributes are also
	// words.
	component bool
	attribute []byte // name of the attribute whose value may come next, in lower case
	value     int    // offset of the attribute's value, or 0 if readers do not see it
}

type inside int

const (
	inText inside = iota
	inTag
	inHidden // inside a comment, script or style
)

// strip writes the text of one line.
func (s *stripper) strip(w *wordWriter, line text.Segment) {
	source, from := w.source, line.Start
	for at := line.Start; at < line.Stop; {
		switch s.in {
		case inText:
			skip := s.open(source[at:line.Stop])
			if skip == 0 {
				at++
				continue
			}
			w.prose(text.NewSegment(from, at), true, resolve)
			at += skip
		case inTag:
			s.attributeByte(w, line.Start, at)
			closed := s.tagByte(source[at])
			at++
			if closed {
				s.closeTag(w)
			}
		case inHidden:
			end := bytes.Index(source[at:line.Stop], s.until)
			if end < 0 {
				return
			}
			at += end
			if s.in = inText; s.until[0] != '<' {
				at += len(s.until)
			}
		}
		from = at
	}
	switch {
	case s.in != inText || from == line.Stop:
	case isBlank(source[from:line.Stop]):
		w.lineEnd()
	default:
		w.prose(text.NewSegment(from, line.Stop), true, resolve)
	}
}

// open enters the tag or comment at the start of b and returns the length of its
// opening. If b starts with ordinary text, it returns 0.
func (s *stripper) open(b []byte) int {
	if len(b) < 2 || b[0] != '<' {
		return 0
	}
	if bytes.HasPrefix(b, []byte("<!--")) {
		s.in, s.until = inHidden, []byte("-->")
		return 4
	}
	begin := 1
	if b[1] == '/' {
		begin = 2
	}
	end := begin
	for end < len(b) && (isLetter(b[end]) || end > begin && (b[end] == '-' || '0' <= b[end] && b[end] <= '9')) {
		end++
	}
	fragment := end < len(b) && b[end] == '>' // <> and </> in JSX
	declaration := b[1] == '!' || b[1] == '?'
	if end == begin && !fragment && !declaration {
		return 0
	}
	*s = stripper{
		in: inTag, name: bytes.ToLower(b[begin:end]), closing: begin == 2,
		component: begin == 1 && begin < end && 'A' <= b[begin] && b[begin] <= 'Z',
	}
	return end
}

// spoken lists the attributes whose values readers see. Readers also see the
// attribute name of a component, but on an HTML tag this attribute is only an anchor.
var spoken = map[string]bool{"title": true, "alt": true, "label": true, "description": true, "summary": true, "placeholder": true}

// attributeByte tracks a tag's attributes and writes the values that readers see. It
// must be called for each byte before tagByte. It ignores values that span several
// lines.
func (s *stripper) attributeByte(w *wordWriter, lineStart, at int) {
	c := w.source[at]
	switch {
	case s.depth > 0:
	case s.quote == 0 && (c == '"' || c == '\''):
		if name := string(s.attribute); spoken[name] || s.component && name == "name" {
			s.value = at + 1
		}
	case s.quote != 0 && c == s.quote:
		if s.value > lineStart && s.value < at {
			w.space()
			w.segment(text.NewSegment(s.value, at), resolve)
		}
		s.value, s.attribute = 0, nil
	case s.quote != 0 || c == '=':
	case isLetter(c) || c == '-':
		if len(s.attribute) < 20 { // longer than any name in spoken
			s.attribute = append(s.attribute, c|0x20)
		}
	default:
		s.attribute = nil
	}
}

// tagByte reads one byte of a tag and reports whether the tag ends there.
func (s *stripper) tagByte(c byte) bool {
	switch {
	case s.quote != 0:
		if c == s.quote {
			s.quote = 0
		}
	case c == '"' || c == '\'':
		s.quote = c
	case c == '{':
		s.depth++
	case c == '}':
		s.depth = max(s.depth-1, 0)
	case c == '>':
		return s.depth == 0
	}
	return false
}

func (s *stripper) closeTag(w *wordWriter) {
	s.in = inText
	if name := string(s.name); !s.closing && (name == "script" || name == "style") {
		s.in, s.until = inHidden, []byte("</"+name)
	}
	if !insideWords[string(s.name)] {
		w.space()
	}
}

// insideWords lists the tags that can occur inside a word. All other tags separate
// words.
var insideWords = map[string]bool{
	"a": true, "abbr": true, "b": true, "code": true, "del": true, "em": true, "font": true,
	"i": true, "ins": true, "kbd": true, "mark": true, "s": true, "samp": true, "small": true,
	"span": true, "strong": true, "sub": true, "sup": true, "u": true, "var": true, "wbr": true,
}

// isComponent reports whether a paragraph starts with a JSX component's tag. Its
// attributes are not HTML.
func isComponent(source []byte, lines *text.Segments) bool {
	if lines.Len() == 0 {
		return false
	}
	first := lines.At(0)
	tag, ok := bytes.CutPrefix(first.Value(source), []byte("<"))
	tag = bytes.TrimPrefix(tag, []byte("/"))
	return ok && len(tag) > 0 && 'A' <= tag[0] && tag[0] <= 'Z'
}
