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

// Nearest returns the one of known that word is most likely a misspelling of, the
// first of several; "" if it looks like none.
func Nearest(word string, known []string) string {
	best, least := "", 1+min(2, len(word)/3) // how many edits a misspelling may have, and one
	for _, k := range known {
		if d := edits(strings.ReplaceAll(word, "-", "_"), strings.ReplaceAll(k, "-", "_")); d < least {
			best, least = k, d
		}
	}
	return best
}

// edits is the Levenshtein distance between two words, in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			same := diagonal
			if a[i] != b[j] {
				same++
			}
			diagonal, row[j+1] = row[j+1], min(same, row[j]+1, row[j+1]+1)
		}
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
