package diff

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a range of a line. from and to are byte positions.
type span struct{ from, to int }

// mostWords is the maximum number of words in a line that is compared. The
// limit is necessary because the time is quadratic.
const mostWords = 200

// changed returns the ranges in which two lines differ, word by word. If the
// lines have little in common, both results are nil.
func changed(old, now string) (inOld, inNew []span) {
	a, b := words(old), words(now)
	if len(a) > mostWords || len(b) > mostWords {
		return nil, nil
	}
	keepA, keepB := common(a, b)
	kept := 0
	for i, keep := range keepA {
		if keep {
			kept += len(strings.TrimSpace(a[i]))
		}
	}
	if whole := max(len(strings.TrimSpace(old)), len(strings.TrimSpace(now))); kept*3 < whole {
		return nil, nil
	}
	return parts(a, keepA), parts(b, keepB)
}

// parts returns the ranges of the words that are not kept. It joins adjacent
// ranges.
func parts(words []string, keep []bool) (all []span) {
	at := 0
	for i, w := range words {
		if !keep[i] {
			if n := len(all); n > 0 && all[n-1].to == at {
				all[n-1].to += len(w)
			} else {
				all = append(all, span{at, at + len(w)})
			}
		}
		at += len(w)
	}
	return all
}

// words splits a line into words, runs of white space, and other characters.
func words(text string) (all []string) {
	kind := func(r rune) int {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_':
			return 1
		case unicode.IsSpace(r):
			return 2
		}
		return 0
	}
	for text != "" {
		r, n := utf8.DecodeRuneInString(text)
		for k := kind(r); k != 0 && n < len(text); {
			next, size := utf8.DecodeRuneInString(text[n:])
			if kind(next) != k {
				break
			}
			n += size
		}
		all = append(all, text[:n])
		text = text[n:]
	}
	return all
}

// common marks a longest common subsequence of two lists of words.
func common(a, b []string) (inA, inB []bool) {
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	inA, inB = make([]bool, len(a)), make([]bool, len(b))
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			inA[i], inB[j] = true, true
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return inA, inB
}
