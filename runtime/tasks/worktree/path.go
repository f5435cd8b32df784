package worktree

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quote returns path in a form that can be shown in JSON and passed back. If
// the path is not UTF-8 or starts with a double quote, quote puts it in double
// quotes with octal escapes, the way git quotes it. Otherwise it returns the
// path unchanged.
func quote(path string) string {
	if utf8.ValidString(path) && !strings.HasPrefix(path, `"`) {
		return path
	}
	return octal(path)
}

// OnOneLine returns a path of this package's results in a form that cannot look like
// several lines of a text: one with control characters is put in quotes too. It can be
// passed back.
func OnOneLine(path string) string {
	if strings.ContainsFunc(path, unicode.IsControl) {
		return octal(path)
	}
	return path
}

// octal puts path in double quotes with octal escapes.
func octal(path string) string {
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

// unquote is the reverse of quote. It returns an unquoted path unchanged.
func unquote(path string) (string, error) {
	if !strings.HasPrefix(path, `"`) {
		return path, nil
	}
	if len(path) < 2 || !strings.HasSuffix(path, `"`) {
		return "", errors.New("the closing quote is missing")
	}
	var b strings.Builder
	for in := path[1 : len(path)-1]; in != ""; {
		c := in[0]
		in = in[1:]
		if c == '"' {
			return "", errors.New("a double quote inside the quotes is not escaped")
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
			return "", errors.New("an escape must be a backslash and three octal digits")
		}
		n, err := strconv.ParseUint(in[:3], 8, 8)
		if err != nil {
			return "", errors.New("an escape must be a backslash and three octal digits")
		}
		b.WriteByte(byte(n))
		in = in[3:]
	}
	return b.String(), nil
}

// inside parses an untrusted path. It returns the index of the repository that
// the path begins with, and the clean path with / between its elements. It
// rejects absolute paths, git's own files, and paths that lead outside with
// `..`. It does not access the disk.
func (t Tree) inside(path string) (clean string, repo int, err error) {
	path, err = unquote(path)
	switch {
	case err != nil:
		return "", 0, fmt.Errorf("cannot parse path: %w", err)
	case path == "" || strings.ContainsRune(path, 0):
		return "", 0, errors.New("a path must have at least one character and no NUL")
	case len(path) > 4096:
		return "", 0, errors.New("a path must be at most 4,096 bytes long")
	}
	var elements []string
	for i, e := range strings.Split(path, "/") {
		switch {
		case e == "" && i == 0:
			return "", 0, errors.New("a path must begin with a repository's name, not with /")
		case e == "" || e == ".":
		case e == "..":
			if len(elements) == 0 {
				return "", 0, errors.New("the path leads outside the attempt's folder")
			}
			elements = elements[:len(elements)-1]
		case gitsOwn(e):
			return "", 0, errors.New("the path is in git's own files")
		default:
			elements = append(elements, e)
		}
	}
	if len(elements) == 0 {
		return "", 0, errors.New("a path must begin with a repository's name")
	}
	for i, r := range t.Repos {
		if r.Name == elements[0] {
			return strings.Join(elements, "/"), i, nil
		}
	}
	return "", 0, fmt.Errorf("the attempt has no repository %q; a path must begin with a repository's name", elements[0])
}

// gitsOwn reports whether a path element names git's folder on some file
// system. Windows and macOS accept alternative spellings.
func gitsOwn(element string) bool {
	e := strings.ToLower(strings.TrimRight(element, ". "))
	for _, ignored := range []string{"\u200c", "\u200d", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\ufeff"} {
		e = strings.ReplaceAll(e, ignored, "")
	}
	e, _, _ = strings.Cut(e, ":")
	return e == ".git" || e == "git~1"
}
