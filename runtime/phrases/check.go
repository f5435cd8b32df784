package phrases

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits for a phrase. A phrase is text that a person types to search.
const (
	leastRunes = 6
	mostRunes  = 120
	mostWords  = 20
)

// checked returns the usable phrases for s, and the reasons why the other phrases
// are not usable. It returns no more phrases than the limit allows.
func checked(given []string, s *Section, most int) (fit, why []string) {
	docs := bare(s.Title + " " + s.Breadcrumb + " " + s.Text)
	var seen []string
	for _, phrase := range given {
		phrase = strings.Join(strings.Fields(phrase), " ")
		words := bare(phrase)
		reason := unfit(phrase)
		switch {
		case reason != "":
		case strings.Contains(docs, words):
			reason = "it is copied from the docs"
		case slices.Contains(seen, words):
			reason = "it repeats another phrase"
		case len(fit) == most:
			reason = fmt.Sprintf("there are more than %d phrases", most)
		}
		if reason != "" {
			why = append(why, fmt.Sprintf("%q: %s", short(phrase), reason))
			continue
		}
		seen, fit = append(seen, words), append(fit, phrase)
	}
	return fit, why
}

// unfit returns what is wrong with a phrase, or "" if nothing is.
func unfit(phrase string) string {
	n := utf8.RuneCountInString(phrase)
	switch {
	case !utf8.ValidString(phrase):
		return "it is not UTF-8"
	case n > mostRunes || len(strings.Fields(phrase)) > mostWords:
		return fmt.Sprintf("it is longer than %d characters or %d words", mostRunes, mostWords)
	case strings.ContainsFunc(phrase, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }):
		return "it contains control characters"
	case strings.ContainsAny(phrase, "`<>{}|") || strings.Contains(phrase, "](") || strings.Contains(phrase, "**") || strings.Contains(phrase, "://"),
		strings.HasPrefix(phrase, "#"), strings.HasPrefix(phrase, "- "), strings.HasPrefix(phrase, "* "):
		return "it contains markup or an address"
	case letters(phrase) < leastRunes && !strings.ContainsFunc(phrase, wide):
		return fmt.Sprintf("it has fewer than %d letters", leastRunes)
	}
	return ""
}

// wide reports whether a character is Chinese, Japanese or Korean: a few such
// characters are enough for a phrase.
func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// bare returns text in lower case with only letters and digits, so punctuation
// and line ends cannot hide a copy.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

func short(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:59]) + "…"
	}
	return s
}
