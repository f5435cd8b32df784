package indexer

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// ignoreFile is the rules of one .gitignore, in file order.
type ignoreFile struct {
	// base is the folder of the file, relative to the corpus, with a slash at
	// its end; empty for the corpus itself and for folders above it.
	base string
	// prefix leads from the folder of a file above the corpus to the corpus,
	// with a slash at its end.
	prefix string
	rules  []ignoreRule
}

// ignoreRule is one line of a .gitignore.
type ignoreRule struct {
	negate, dirOnly bool
	// anchored rules are matched with the path from the file's folder, others
	// with the name alone.
	anchored bool
	match    *regexp.Regexp
}

// ignores is the files in force in a folder, the outermost first.
type ignores []ignoreFile

// ignored says whether git would ignore path, relative to the corpus, given
// that it ignores none of the folders above it.
func (files ignores) ignored(path string, dir bool) bool {
	for i := len(files) - 1; i >= 0; i-- {
		f := files[i]
		full := byteRunes(f.prefix + strings.TrimPrefix(path, f.base))
		name := full[strings.LastIndexByte(full, '/')+1:]
		for j := len(f.rules) - 1; j >= 0; j-- {
			r := f.rules[j]
			subject := name
			if r.anchored {
				subject = full
			}
			if (dir || !r.dirOnly) && r.match.MatchString(subject) {
				return !r.negate
			}
		}
	}
	return false
}

// parseIgnore reads the text of a .gitignore. Lines that git would match with
// nothing, such as an unclosed bracket, are left out; no line is an error.
func parseIgnore(src []byte) []ignoreRule {
	var rules []ignoreRule
	for line := range bytes.SplitSeq(bytes.TrimPrefix(src, []byte("\uFEFF")), []byte("\n")) {
		if rule, ok := parseIgnoreLine(string(bytes.TrimSuffix(line, []byte("\r")))); ok {
			rules = append(rules, rule)
		}
	}
	return rules
}

func parseIgnoreLine(line string) (ignoreRule, bool) {
	var r ignoreRule
	if strings.HasPrefix(line, "#") {
		return r, false
	}
	line = trimSpaces(line)
	line, r.negate = strings.CutPrefix(line, "!")
	line, r.dirOnly = strings.CutSuffix(line, "/")
	r.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	expression, ok := wildmatch(line)
	if line == "" || !ok {
		return r, false
	}
	re, err := regexp.Compile(expression)
	r.match = re
	return r, err == nil
}

// trimSpaces cuts trailing spaces, but none that a backslash protects.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
		} else if line[i] == ' ' {
			continue
		}
		end = min(i+1, len(line))
	}
	return line[:end]
}

// wildmatch writes a pattern of gitignore(5) as a regular expression over
// strings made by byteRunes, since git compares bytes. It returns false for a
// pattern that cannot match.
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

// bracket writes the set at the start of pattern and returns its length in
// bytes; false if it is not closed. A set never holds the slash.
func bracket(out *strings.Builder, pattern string) (int, bool) {
	var set [256]bool
	i, negate := 1, false
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		negate = true
		i++
	}
	last := -1 // the byte that a "-" would make a range from
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

// writeSet writes a set as all bytes but those outside of it.
func writeSet(out *strings.Builder, set [256]bool, negate bool) {
	out.WriteString(`[^/`)
	for b, in := range set {
		if in == negate {
			fmt.Fprintf(out, `\x{%x}`, b)
		}
	}
	out.WriteByte(']')
}

// addClass adds a class of POSIX such as "alpha" to set.
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

// byteRunes makes each byte of s a rune of its own.
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
