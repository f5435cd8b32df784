package train

import (
	"regexp"
	"strings"
)

// term is a word or a few with what a list or a table says of them: an option
// and its description, an abbreviation and what it stands for. This is where
// documentation says its own names in everyday words.
type term struct{ name, meaning string }

var (
	// listTerm is "- **name**: meaning", "- `name` - meaning" and the like.
	listTerm = regexp.MustCompile("^\\s*(?:[*+-]|\\d+\\.)\\s+(?:\\*\\*|__|`|\\[)(.{2,80}?)(?:\\*\\*|__|`|\\](?:\\([^)]*\\))?)[^:\u2013\u2014-]{0,40}(?::|\u2013|\u2014|\\s-)[*_]*\\s+(.+)$")
	emphasis = regexp.MustCompile(`[*_]{2}|<[^>]*>`)
)

// A meaning has at least leastMeaning words and at most what sections have.
const (
	leastMeaning = 5
	longestName  = 6 // words
)

// termsOf returns what the lists and tables of a section explain, outside of
// fenced blocks.
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
			if m := listTerm.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
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

// plainLine is a line of markdown without its marks.
func plainLine(s string) string {
	return oneLine(marks.Replace(emphasis.ReplaceAllString(inlineLink.ReplaceAllString(s, "$1"), "")))
}
