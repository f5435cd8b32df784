package text

import (
	"fmt"
	"strings"
)

// Count returns n and what it counts, in English.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Nearest returns the one of known that word is most likely a misspelling or a
// beginning of, the first of several; "" if it looks like none.
func Nearest(word string, known []string) string {
	word = strings.ReplaceAll(word, "-", "_")
	best, least := "", 2*(1+min(2, len(word)/3)) // twice how many edits a misspelling may have, and one
	for _, k := range known {
		other := strings.ReplaceAll(k, "-", "_")
		d := 2 * Edits(word, other)
		if d > 0 && len(word) >= 3 && strings.HasPrefix(other, word) {
			d = 1 // what is left out at the end is rarely a misspelling
		}
		if d < least {
			best, least = k, d
		}
	}
	return best
}

// Edits returns how many letters are missing, added, wrong or swapped with the next one
// between two words, in bytes (the optimal string alignment distance).
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

// DidYouMean returns a question about a word, set off from what stands before it;
// empty without a word.
func DidYouMean(word, quote string) string {
	if word == "" {
		return ""
	}
	return ", did you mean " + quote + word + quote + "?"
}
