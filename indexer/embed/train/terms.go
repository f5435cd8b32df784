package train

import (
	"regexp"
	"strings"
	"sync"
)

// term is a name of one or a few words, with its explanation in a list or table: an
// option and its description, or an abbreviation and its expansion. Such lists explain
// the names of a product in everyday words.
type term struct{ name, meaning string }

var (
	// listTerm matches "- **name**: meaning", "- `name` - meaning" and similar lines.
	listTerm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("^\\s*(?:[*+-]|\\d+\\.)\\s+(?:\\*\\*|__|`|\\[)(.{2,80}?)(?:\\*\\*|__|`|\\](?:\\([^)]*\\))?)[^:\u2013\u2014-]{0,40}(?::|\u2013|\u2014|\\s-)[*_]*\\s+(.+)$")
	})
	emphasis = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[*_]{2}|<[^>]*>`) })
)

// Limits on the number of words in a meaning and in a name. maxBodyWords also limits
// the meaning.
const (
	leastMeaning = 5
	longestName  = 6 // words
)

// termsOf returns the terms that the lists and tables in a section explain. It
// ignores fenced code blocks.
func termsOf(markdown string) []term {
	var terms []term
	var block fence
	add := func(name, meaning string) {
		name, meaning = plainLine(name), plainLine(meaning)
		if n := wordCount(name); n > 0 && n <= longestName && wordCount(meaning) >= leastMeaning {
			terms = append(terms, term{name, meaning})
		}
	}
	for line := range strings.Lines(markdown) {
		bare := strings.TrimSpace(line)
		switch {
		case block.has(line):
		case strings.HasPrefix(bare, "|"):
			if cells := strings.Split(strings.Trim(bare, "|"), "|"); len(cells) > 1 {
				add(cells[0], longest(cells[1:]))
			}
		default:
			if m := listTerm().FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
				add(m[1], m[2])
			}
		}
	}
	return terms
}

func longest(cells []string) string {
	most := cells[0]
	for _, c := range cells[1:] {
		if len(c) > len(most) {
			most = c
		}
	}
	return most
}

// plainLine returns a line of Markdown without its markup.
func plainLine(s string) string {
	return oneLine(marks.Replace(emphasis().ReplaceAllString(inlineLink().ReplaceAllString(s, "$1"), "")))
}
