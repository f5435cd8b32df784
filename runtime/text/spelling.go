package text

import (
	"fmt"
	"strings"
)

// Count returns n and the noun that it counts, in the English singular or
// plural.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
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
