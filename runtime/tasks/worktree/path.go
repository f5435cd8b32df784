package worktree

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// quote is a path as it can be shown in JSON and given back: as it is, or in
// double quotes with octal escapes, as git quotes, if it is not UTF-8 or starts
// with a double quote.
func quote(path string) string {
	if utf8.ValidString(path) && !strings.HasPrefix(path, `"`) {
		return path
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(path) {
		switch c := path[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// unquote is the reverse of quote. A path that is not quoted is itself.
func unquote(path string) (string, error) {
	if !strings.HasPrefix(path, `"`) {
		return path, nil
	}
	if len(path) < 2 || !strings.HasSuffix(path, `"`) {
		return "", errors.New("the quote has no end")
	}
	var b strings.Builder
	for in := path[1 : len(path)-1]; in != ""; {
		c := in[0]
		in = in[1:]
		if c == '"' {
			return "", errors.New("there is a quote inside the quotes")
		}
		if c != '\\' {
			b.WriteByte(c)
			continue
		}
		if in != "" && (in[0] == '"' || in[0] == '\\') {
			b.WriteByte(in[0])
			in = in[1:]
			continue
		}
		if len(in) < 3 {
			return "", errors.New("an escape is a backslash and three octal digits")
		}
		n, err := strconv.ParseUint(in[:3], 8, 8)
		if err != nil {
			return "", errors.New("an escape is a backslash and three octal digits")
		}
		b.WriteByte(byte(n))
		in = in[3:]
	}
	return b.String(), nil
}

// inside takes a path from outside apart: the repository that it begins with,
// and the path in full with / between its elements. It refuses absolute paths,
// `..` that leads out, and whatever is git's own. It does not look at the disk.
func (t Tree) inside(path string) (clean string, repo int, err error) {
	path, err = unquote(path)
	switch {
	case err != nil:
		return "", 0, fmt.Errorf("path cannot be read: %w", err)
	case path == "" || strings.ContainsRune(path, 0):
		return "", 0, errors.New("a path has at least one character and no NUL")
	case len(path) > 4096:
		return "", 0, errors.New("a path has at most 4,096 bytes")
	}
	var elements []string
	for i, e := range strings.Split(path, "/") {
		switch {
		case e == "" && i == 0:
			return "", 0, errors.New("a path begins with the name of a repository, not with /")
		case e == "" || e == ".":
		case e == "..":
			if len(elements) == 0 {
				return "", 0, errors.New("the path leads out of the attempt")
			}
			elements = elements[:len(elements)-1]
		case gitsOwn(e):
			return "", 0, errors.New("the path is in git's own files")
		default:
			elements = append(elements, e)
		}
	}
	if len(elements) == 0 {
		return "", 0, errors.New("a path begins with the name of a repository")
	}
	for i, r := range t.Repos {
		if r.Name == elements[0] {
			return strings.Join(elements, "/"), i, nil
		}
	}
	return "", 0, fmt.Errorf("the attempt has no repository %q: a path begins with the name of one", elements[0])
}

// gitsOwn says whether an element of a path is git's folder on some file
// system: those of Windows and macOS know other ways to write it.
func gitsOwn(element string) bool {
	e := strings.ToLower(strings.TrimRight(element, ". "))
	for _, ignored := range []string{"\u200c", "\u200d", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\ufeff"} {
		e = strings.ReplaceAll(e, ignored, "")
	}
	e, _, _ = strings.Cut(e, ":")
	return e == ".git" || e == "git~1"
}
