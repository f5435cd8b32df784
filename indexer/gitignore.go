package indexer

import (
	"bytes"
	"regexp"
	"strings"
)

// ignoreFile holds the rules in one .gitignore, in file order.
type ignoreFile struct {
	// base is the folder that contains the file, relative to the corpus and with a
	// trailing slash. It is empty for the root of the corpus and for folders above
	// it.
	base string
	// prefix is the path from the file's folder to the corpus, with a trailing slash.
	// It is set only if the file is in a folder above the corpus.
	prefix string
	rules  []ignoreRule
}

// ignoreRule is one line of a .gitignore.
type ignoreRule struct {
	negate, dirOnly bool
	// anchored rules match the whole path, relative to the file's folder. Other rules
	// match only the name.
	anchored bool
	match    *regexp.Regexp
}

// ignores holds the .gitignore files that apply to a folder, outermost first.
type ignores []ignoreFile

// ignored reports whether git would ignore path, which is relative to the corpus.
// The caller must have checked that none of the parent folders are ignored.
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

// parseIgnore reads the content of a .gitignore. It skips lines that match nothing in
// git, for example if a bracket is not closed. No line is treated as an error.
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

// trimSpaces removes trailing spaces unless a backslash escapes them.
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
