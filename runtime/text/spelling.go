package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Count returns n and the noun that it counts, in the English singular or
// plural.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, ok := strings.CutSuffix(what, "y"); ok && !strings.ContainsAny(stem[max(0, len(stem)-1):], "aeou") {
		return fmt.Sprintf("%d %sies", n, stem) // libraries, but days
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Nearest returns the known word of which word is most likely a misspelling or a
// prefix, or "" if there is none. If several are equally likely, it returns the
// first.
func Nearest(word string, known []string) string {
	word = strings.ReplaceAll(word, "-", "_")
	best, least := "", 2*(1+min(2, len(word)/3)) // twice the maximum number of edits in a misspelling, plus 2
	for _, k := range known {
		other := strings.ReplaceAll(k, "-", "_")
		d := 2 * Edits(word, other)
		if d > 0 && len(word) >= 3 && strings.HasPrefix(other, word) {
			d = 1 // a missing end is rarely a misspelling
		}
		if d < least {
			best, least = k, d
		}
	}
	return best
}

const (
	// maxSimilar is the maximum number of IDs that Similar returns.
	maxSimilar = 5
	// maxSimilarBytes is the maximum length of a word that Similar compares. Longer ones are
	// no misspelled names, and would take long.
	maxSimilarBytes = 256
)

// Similar returns the IDs that word may be meant to be, nearest first, at most five. An ID is
// NAME or NAME@VERSION, and names has their names. An ID is similar if it or its name is part of word, has
// word as a part, or differs from word in at most two edits. Case is ignored.
func Similar(word string, ids, names []string) []string {
	type near struct {
		id    string
		edits int
	}
	if len(word) > maxSimilarBytes {
		return nil
	}
	var found []near
	word = strings.ToLower(word)
	name := word[:cmp.Or(max(0, strings.LastIndexByte(word, '@')), len(word))]
	for i, id := range ids {
		least := -1
		for form, word := range map[string]string{strings.ToLower(names[i]): name, strings.ToLower(id): word} {
			n := Edits(form, word)
			if (n <= 2 || strings.Contains(form, word) || strings.Contains(word, form)) && (least < 0 || n < least) {
				least = n
			}
		}
		if least >= 0 {
			found = append(found, near{id, least})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.edits - b.edits })
	var nearest []string
	for _, f := range found[:min(len(found), maxSimilar)] {
		nearest = append(nearest, f.id)
	}
	return nearest
}

// Edits returns the number of bytes that must be added, removed, changed or
// swapped with the next byte to turn one word into the other (the optimal string
// alignment distance).
func Edits(a, b string) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			same := row[j]
			if a[i] != b[j] {
				same++
			}
			next[j+1] = min(same, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}

// DidYouMean returns the end of a sentence, starting with a comma, that asks
// whether word was meant. It returns "" if word is empty.
func DidYouMean(word, quote string) string {
	if word == "" {
		return ""
	}
	return ", did you mean " + quote + word + quote + "?"
}
