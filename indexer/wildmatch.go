package indexer

import (
	"fmt"
	"regexp"
	"strings"
)

// wildmatch converts a gitignore(5) pattern to a regular expression. The expression
// is for strings from byteRunes, because git compares bytes. If the pattern cannot
// match anything, wildmatch returns false.
func wildmatch(pattern string) (string, bool) {
	var out strings.Builder
	out.WriteString(`\A(?s:`)
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			stars := len(pattern[i:]) - len(strings.TrimLeft(pattern[i:], "*"))
			rest := pattern[i+stars:]
			whole := i == 0 || pattern[i-1] == '/'
			switch {
			case stars > 1 && whole && rest == "":
				out.WriteString(`.*`)
			case stars > 1 && whole && rest[0] == '/':
				out.WriteString(`(?:.*/)?`)
				i++
			default:
				out.WriteString(`[^/]*`)
			}
			i += stars - 1
		case '?':
			out.WriteString(`[^/]`)
		case '[':
			n, ok := bracket(&out, pattern[i:])
			if !ok {
				return "", false
			}
			i += n - 1
		case '\\':
			if i++; i == len(pattern) {
				return "", false
			}
			out.WriteString(regexp.QuoteMeta(byteRunes(pattern[i : i+1])))
		default:
			out.WriteString(regexp.QuoteMeta(byteRunes(pattern[i : i+1])))
		}
	}
	out.WriteString(`)\z`)
	return out.String(), true
}

// bracket writes the bracket expression at the start of pattern and returns its
// length in bytes. It returns false if the bracket is not closed. The expression
// never matches a slash.
func bracket(out *strings.Builder, pattern string) (int, bool) {
	var set [256]bool
	i, negate := 1, false
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		negate = true
		i++
	}
	last := -1 // the start of a range if "-" comes next
	for first := true; ; first = false {
		if i >= len(pattern) {
			return 0, false
		}
		c := pattern[i]
		if c == ']' && !first {
			break
		}
		if end := strings.Index(pattern[i:], ":]"); c == '[' && end > 1 && pattern[i+1] == ':' {
			if !addClass(&set, pattern[i+2:i+end]) {
				return 0, false
			}
			i, last = i+end+2, -1
			continue
		}
		ranged := c == '-' && last >= 0 && i+1 < len(pattern) && pattern[i+1] != ']'
		if ranged {
			i++
			c = pattern[i]
		}
		if c == '\\' {
			if i++; i >= len(pattern) {
				return 0, false
			}
			c = pattern[i]
		}
		from := int(c)
		if ranged {
			from = last
		}
		for b := from; b <= int(c); b++ {
			set[b] = true
		}
		if last = int(c); ranged {
			last = -1
		}
		i++
	}
	writeSet(out, set, negate)
	return i + 1, true
}

// writeSet writes a set of bytes as a negated class of all other bytes.
func writeSet(out *strings.Builder, set [256]bool, negate bool) {
	out.WriteString(`[^/`)
	for b, in := range set {
		if in == negate {
			fmt.Fprintf(out, `\x{%x}`, b)
		}
	}
	out.WriteByte(']')
}

// addClass adds the bytes of a POSIX class, for example "alpha", to set.
func addClass(set *[256]bool, name string) bool {
	re, err := regexp.Compile(`[[:` + name + `:]]`)
	if err != nil || strings.ContainsAny(name, "[]\\^") {
		return false
	}
	for b := range 128 {
		if re.MatchString(string(rune(b))) {
			set[b] = true
		}
	}
	return true
}

// byteRunes converts each byte of s to a rune.
func byteRunes(s string) string {
	ascii := true
	for i := 0; i < len(s) && ascii; i++ {
		ascii = s[i] < 0x80
	}
	if ascii {
		return s
	}
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}
