package diff

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a piece of a line, with the CSS class of its colour: c for comments, s for
// strings, m for numbers, k for keywords, b for what the language has built in, and f for
// names that are declared, keys, tags and decorators. The class is "" if the piece has no
// colour.
type token struct{ class, text string }

// scan splits a file into tokens. It reads the text once from start to end, so
// no text makes it slow.
type scan struct {
	*language
	text  string
	at    int    // the next byte
	plain int    // start of the text without colour that is not yet in a line
	next  string // class of the next name, after a keyword that declares
	last  byte   // the last byte that is no space
	lines [][]token
}

// tokens returns the lines of text as tokens.
func (l *language) tokens(text string) [][]token {
	s := scan{language: l, text: text, lines: [][]token{nil}}
	for s.at < len(s.text) {
		start := s.at
		switch {
		case s.markup:
			s.tag()
		case s.comment(), s.string(), s.pattern(), s.number(), s.word():
		default:
			s.at++
		}
		if c := s.text[s.at-1]; s.at == start+1 && c > ' ' {
			s.last, s.next = c, ""
		}
	}
	s.flush(s.at)
	return s.lines
}

// flush adds the text without colour before to.
func (s *scan) flush(to int) {
	if s.plain < to {
		s.put("", s.text[s.plain:to])
	}
	s.plain = s.at
}

// token adds the text from start to the next byte with a colour.
func (s *scan) token(class string, start int) {
	if class == "" {
		return // flush adds it
	}
	s.flush(start)
	s.put(class, s.text[start:s.at])
	s.plain = s.at
}

func (s *scan) put(class, text string) {
	for {
		part, rest, more := strings.Cut(text, "\n")
		if part != "" {
			last := len(s.lines) - 1
			s.lines[last] = append(s.lines[last], token{class, part})
		}
		if !more {
			return
		}
		s.lines = append(s.lines, nil)
		text = rest
	}
}

func (s *scan) has(prefix string) bool { return strings.HasPrefix(s.text[s.at:], prefix) }

// upTo moves behind the next end, or to the end of the file.
func (s *scan) upTo(end string) {
	if n := strings.Index(s.text[s.at:], end); n >= 0 {
		s.at += n + len(end)
		return
	}
	s.at = len(s.text)
}

// lineEnd moves to the end of the line.
func (s *scan) lineEnd() {
	if n := strings.IndexByte(s.text[s.at:], '\n'); n >= 0 {
		s.at += n
		return
	}
	s.at = len(s.text)
}

func (s *scan) before() rune {
	r, _ := utf8.DecodeLastRuneInString(s.text[:s.at])
	if s.at == 0 {
		return '\n'
	}
	return r
}

func (s *scan) comment() bool {
	start := s.at
	for _, b := range s.blocks {
		if s.has(b[0]) {
			s.at += len(b[0])
			s.upTo(b[1])
			s.token("c", start)
			return true
		}
	}
	for _, c := range s.comments {
		if !s.has(c) {
			continue
		}
		// $#, ${#a}, a#b and https://x are no comments.
		if prev := s.before(); c == "//" && prev == ':' || c != "//" && !unicode.IsSpace(prev) && !strings.ContainsRune("([;,)]", prev) {
			continue
		}
		s.lineEnd()
		s.token("c", start)
		return true
	}
	return false
}

// string moves behind a string.
func (s *scan) string() bool {
	start := s.at
	for _, t := range s.texts {
		if s.has(t[0]) && !(t[0] == "'" && named(s.before(), "")) {
			s.at += len(t[0])
			s.upTo(t[1])
			s.stringToken(start)
			return true
		}
	}
	c := s.text[s.at]
	many := strings.IndexByte(s.templates, c) >= 0
	switch {
	case c == '\'' && s.char:
		n := s.charEnd()
		s.at += n
		s.token("s", start)
		return n > 0
	case !many && strings.IndexByte(s.quotes, c) < 0, c == '\'' && named(s.before(), ""):
		return false
	}
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			if s.at+1 < len(s.text) && (many || s.text[s.at+1] != '\n') {
				s.at++
			}
		case '\n':
			if !many {
				s.token("s", start)
				return true
			}
		case c:
			s.at++
			s.stringToken(start)
			return true
		}
	}
	s.token("s", start)
	return true
}

// stringToken adds a string, which may be a key.
func (s *scan) stringToken(start int) {
	if s.isKey() {
		s.token("f", start)
	} else {
		s.token("s", start)
	}
	s.last = '"'
}

// isKey reports whether what is before the next byte is a key.
func (s *scan) isKey() bool {
	if s.keys == "" {
		return false
	}
	rest := strings.TrimLeft(s.text[s.at:min(len(s.text), s.at+32)], " \t")
	return rest != "" && strings.IndexByte(s.keys, rest[0]) >= 0 && !strings.HasPrefix(rest, "://") && !strings.HasPrefix(rest, "==")
}

// charEnd returns the length of a character in quotes, or 0 if there is none.
func (s *scan) charEnd() int {
	rest := s.text[s.at+1:]
	if rest == "" || rest[0] == '\n' || named(s.before(), "") {
		return 0
	}
	if rest[0] == '\\' {
		if n := strings.IndexByte(rest[1:min(len(rest), 12)], '\''); n >= 0 {
			return n + 3
		}
		return 0
	}
	if _, n := utf8.DecodeRuneInString(rest); n < len(rest) && rest[n] == '\'' {
		return n + 2
	}
	return 0
}

// longestPattern is the maximum length in bytes of a regular expression. It keeps
// unfinished ones from being read again and again.
const longestPattern = 1000

// pattern moves behind a regular expression, which stands where no division can.
func (s *scan) pattern() bool {
	if !s.patterns || s.text[s.at] != '/' || !strings.ContainsRune("\x00(,=:[!&|?{};~", rune(s.last)) {
		return false
	}
	start, set := s.at, false
	for i := s.at + 1; i < min(len(s.text), s.at+longestPattern) && s.text[i] != '\n'; i++ {
		switch c := s.text[i]; {
		case c == '\\':
			i++
		case c == '[':
			set = true
		case c == ']':
			set = false
		case c == '/' && !set:
			s.at = i + 1
			s.token("s", start)
			return true
		}
	}
	return false
}

func (s *scan) number() bool {
	c := s.text[s.at]
	if c < '0' || c > '9' {
		return false
	}
	start := s.at
	for s.name(""); s.at+1 < len(s.text) && s.text[s.at] == '.' && s.text[s.at+1] >= '0' && s.text[s.at+1] <= '9'; s.name("") {
		s.at++
	}
	s.token("m", start)
	s.last, s.next = '0', ""
	return true
}

// named reports whether r can be part of a name.
func named(r rune, letters string) bool {
	return r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
		r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) || letters != "" && strings.ContainsRune(letters, r)
}

// name moves behind the characters of a name, whole characters at a time.
func (s *scan) name(letters string) {
	for s.at < len(s.text) {
		r, n := utf8.DecodeRuneInString(s.text[s.at:])
		if !named(r, letters) {
			return
		}
		s.at += n
	}
}

// stringPrefixes are the names that may stand directly before a string.
const stringPrefixes = " r b f u rb br fr rf l u8 "

func (s *scan) word() bool {
	start := s.at
	if s.decorators && s.text[s.at] == '@' {
		s.at++
	}
	s.name(s.letters)
	if s.at == start || s.text[start] == '@' && s.decorators && s.at == start+1 {
		s.at = start
		return false
	}
	word := s.text[start:s.at]
	if s.at < len(s.text) && s.text[s.at] == '\'' && strings.Contains(s.quotes, "'") && strings.Contains(stringPrefixes, " "+strings.ToLower(word)+" ") {
		s.at++ // the quote does not follow a name here, so the string is read from it
		s.lineString()
		s.token("s", start)
		return true
	}
	class, known := s.classOf(word)
	switch {
	case s.decorators && word[0] == '@':
		class = "f"
	case s.next != "" && class != "k":
		class = s.next
	case s.isKey() && (class == "" || s.anyKey()):
		class = "f"
	}
	s.token(class, start)
	s.next, s.last = "", 'a'
	if class == "k" {
		s.last = ';' // a regular expression may follow
		if strings.Contains(" "+s.declare+" ", " "+known+" ") {
			s.next = "f"
		}
	}
	return true
}

// anyKey reports whether keywords can be keys.
func (s *scan) anyKey() bool { return s.keys != "" && !s.anyCase }

// lineString moves behind a string in single quotes that ends in its line.
func (s *scan) lineString() {
	for ; s.at < len(s.text) && s.text[s.at] != '\n'; s.at++ {
		switch s.text[s.at] {
		case '\\':
			if s.at+1 < len(s.text) && s.text[s.at+1] != '\n' {
				s.at++
			}
		case '\'':
			s.at++
			return
		}
	}
}

// classOf returns a word's class, and the word as the language's table has it.
func (s *scan) classOf(word string) (class, known string) {
	if s.anyCase {
		word = strings.ToLower(word)
	}
	return s.classes()[word], word
}

// tag moves behind the next part of HTML or XML.
func (s *scan) tag() {
	if s.comment() {
		return
	}
	start := s.at
	s.at++
	if s.text[start] != '<' {
		return
	}
	if s.name("/!?:.-"); s.at == start+1 || strings.IndexByte(":.-", s.text[start+1]) >= 0 {
		s.at = start + 1
		return
	}
	s.token("f", start)
	for s.at < len(s.text) && s.text[s.at] != '>' && s.text[s.at] != '<' {
		start = s.at
		if c := s.text[s.at]; c == '"' || c == '\'' {
			s.at++
			s.upTo(string(c))
			s.token("s", start)
			continue
		}
		if s.name("-:.@"); s.at == start {
			s.at++
		} else {
			s.token("b", start)
		}
	}
	if s.at < len(s.text) && s.text[s.at] == '>' {
		start = s.at
		s.at++
		s.token("f", start)
	}
}
