package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode"
)

// Headings of the troubleshooting pages quote errors, so that they are found by
// their text; the program must have those texts.
func TestErrorsOfTheManualAreThoseOfTheProgram(t *testing.T) {
	all := literals(t)
	count := 0
	for _, p := range pages(t) {
		if !strings.HasPrefix(p.path, "corpus/troubleshooting/") {
			continue
		}
		for _, heading := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(p.prose(), -1) {
			for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(heading[1], -1) {
				if !strings.Contains(quoted[1], " ") {
					continue // a path or a word, no sentence
				}
				count++
				if missing := all.missing(quoted[1]); missing != "" {
					t.Errorf("%s quotes %q; the program has no text with %q", p.path, quoted[1], missing)
				}
			}
		}
	}
	if count < 50 {
		t.Errorf("%d errors found, which cannot be all", count)
	}
}

// variable parts of an error as a page shows it: names in capitals, quoted
// things, numbers, dots for the rest.
var example = regexp.MustCompile(`\b(?:DIR|FILE|ADDR|N|M|metadata\.json)\b|'[^']*'|"[^"]*"|\.\.\.|\b[xy]\b|[0-9]+(?:\.[0-9]+)?`)

// texts are strings of the program, each as its fixed parts in order.
type texts [][]string

// verb is where a format takes a value.
var verb = regexp.MustCompile(`%[-+# 0]*[0-9.]*[a-zA-Z]|\x00`)

// add takes a text that says something: several words, or a word and a value.
func (all *texts) add(text string) {
	text = strings.TrimSpace(text)
	if parts := verb.Split(text, -1); letters(text) >= 4 && (len(parts) > 1 || strings.Contains(text, " ")) {
		*all = append(*all, parts)
	}
}

// missing is what is left of an error when the parts that vary and the texts of
// the program are taken out; empty if that is hardly anything, since an error
// is put together in several places.
func (all texts) missing(quoted string) string {
	said := make([]bool, len(quoted))
	from := 0
	for _, m := range append(example.FindAllStringIndex(quoted, -1), []int{len(quoted), len(quoted)}) {
		cover(said, m[0], m[1])
		if all.have(strings.Trim(quoted[from:m[0]], " '\"")) {
			cover(said, from, m[0])
		}
		from = m[1]
	}
	fixed := letters(example.ReplaceAllString(quoted, ""))
	for _, parts := range all {
		for _, m := range match(quoted, parts) {
			cover(said, m[0], m[1])
		}
	}
	if rest := left(quoted, said); 3*letters(rest) > fixed {
		return rest
	}
	return ""
}

// match finds all parts in order in an error, values between them; nil if one is
// not there.
func match(quoted string, parts []string) (found [][2]int) {
	at := 0
	for _, part := range parts {
		i := strings.Index(quoted[at:], part)
		if i < 0 {
			return nil
		}
		if letters(part) > 0 {
			found = append(found, [2]int{at + i, at + i + len(part)})
		}
		at += i + len(part)
	}
	return found
}

// have says whether a text of the program holds a phrase that is long enough to
// tell something.
func (all texts) have(phrase string) bool {
	return letters(phrase) >= 8 && slices.ContainsFunc(all, func(parts []string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(part, phrase) })
	})
}

func cover(said []bool, from, to int) {
	for i := from; i < to; i++ {
		said[i] = true
	}
}

// left is what was not said, with dots for the rest.
func left(quoted string, said []bool) string {
	var b strings.Builder
	for i := range len(quoted) {
		switch {
		case !said[i]:
			b.WriteByte(quoted[i])
		case i == 0 || !said[i-1]:
			b.WriteString("...")
		}
	}
	return b.String()
}

func letters(s string) (n int) {
	for _, r := range s {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}

// literals are all strings in the sources, tests aside, and what the system says
// of files.
func literals(t *testing.T) texts {
	t.Helper()
	var all texts
	all.add(syscall.ENOSPC.Error())
	all.add(syscall.EACCES.Error())
	err := filepath.WalkDir("../..", func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == "testdata" || e.Name() != ".." && strings.HasPrefix(e.Name(), ".") && len(e.Name()) > 2) {
			return fs.SkipDir
		}
		if filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			all.add(joined(n))
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// joined is the text of a string or a sum of strings, with a mark for each part
// that is none; empty for everything else.
func joined(n ast.Node) string {
	switch n := n.(type) {
	case *ast.BasicLit:
		if n.Kind == token.STRING {
			text, _ := strconv.Unquote(n.Value) // the parser has checked it
			return text
		}
	case *ast.BinaryExpr:
		if left, right := joined(n.X), joined(n.Y); n.Op == token.ADD && left+right != "" {
			return cmp.Or(left, "\x00") + cmp.Or(right, "\x00")
		}
	}
	return ""
}
