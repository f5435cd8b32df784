package chunker

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrBadID is wrapped by every error that ParseID returns.
var ErrBadID = errors.New("expected {filepath} or {filepath}#{heading-path}")

// ID returns the ID of a chunk in the file at path. fragment identifies the chunk in
// the file, or is empty for the whole file. ID percent-encodes the bytes in path that
// would make the ID ambiguous or split it over two lines: '#', '%', backslash, control
// characters, line separators and invalid UTF-8. It keeps spaces, quotes and letters of
// any script.
func ID(path, fragment string) string {
	id := encodePath(path)
	if fragment != "" {
		id += "#" + fragment
	}
	return id
}

// ParseID is the inverse of ID. path is the file's name in the corpus. fragment is
// empty if id has no '#'. A '%' that does not start an encoded byte is read literally,
// so that users can type paths. The error wraps ErrBadID. ParseID rejects a missing
// path, a missing fragment after '#', a path that is absolute or leaves the corpus, a
// second '#', and control characters.
func ParseID(id string) (path, fragment string, err error) {
	if !utf8.ValidString(id) || strings.ContainsFunc(id, breaksLine) {
		return "", "", badID(id)
	}
	encoded, fragment, hasFragment := strings.Cut(id, "#")
	path = decodePath(encoded)
	if hasFragment && (fragment == "" || strings.Contains(fragment, "#")) ||
		strings.Contains(encoded, `\`) || isAbsolute(encoded) || !staysInside(path) {
		return "", "", badID(id)
	}
	return path, fragment, nil
}

func badID(id string) error { return fmt.Errorf("chunk id %q: %w", id, ErrBadID) }

// isAbsolute reports whether an encoded path starts with a drive. It need not check for
// a leading slash, because staysInside rejects empty path elements.
func isAbsolute(encoded string) bool {
	return len(encoded) > 1 && encoded[1] == ':' && isLetter(encoded[0])
}

// staysInside reports whether path names a file below the corpus.
func staysInside(path string) bool {
	for element := range strings.SplitSeq(path, "/") {
		if element == "" || element == "." || element == ".." {
			return false
		}
	}
	return strings.IndexByte(path, 0) < 0
}

// breaksLine reports whether r is a control character or ends a line.
func breaksLine(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
}

func encodePath(path string) string {
	var b strings.Builder
	for i, r := range path {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(path[i:])
		}
		switch {
		case r == '#', r == '%', r == '\\', breaksLine(r),
			r == utf8.RuneError && size == 1,
			r == ':' && i == 1 && isAbsolute(path):
			for _, c := range []byte(path[i : i+size]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		default:
			b.WriteString(path[i : i+size])
		}
	}
	return b.String()
}

func decodePath(encoded string) string {
	if !strings.Contains(encoded, "%") {
		return encoded
	}
	var b strings.Builder
	for i := 0; i < len(encoded); i++ {
		if encoded[i] == '%' && i+2 < len(encoded) {
			if c, err := strconv.ParseUint(encoded[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(encoded[i])
	}
	return b.String()
}

// slug returns the part of an ID that represents one heading. It is in lower case and
// contains only a to z, digits and dashes. If a heading has no such characters, for
// example because it is in Chinese, its slug is "section". Line ends inside a heading
// are removed, as in docs-mcp.
func slug(heading string) string {
	var b strings.Builder
	dash := false
	for _, r := range heading {
		switch r = unicode.ToLower(r); {
		case r == ' ' || r == '-':
			dash = b.Len() > 0
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			if dash {
				b.WriteByte('-')
				dash = false
			}
			b.WriteRune(r)
		}
	}
	if b.Len() == 0 {
		return "section"
	}
	return b.String()
}

// numbering makes names unique: the second "a" becomes "a-2". It skips names that are
// already taken. Use newNumbering to create one.
type numbering struct {
	taken map[string]bool
	next  map[string]int
}

func newNumbering() numbering {
	return numbering{taken: map[string]bool{}, next: map[string]int{}}
}

func (n numbering) unique(name string) string {
	got := name
	for n.taken[got] {
		n.next[name] = max(n.next[name], 1) + 1
		got = name + "-" + strconv.Itoa(n.next[name])
	}
	n.taken[got] = true
	return got
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
