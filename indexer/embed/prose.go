package embed

import "strings"

// eachProse calls visit with each word of text that a sentence could have, and
// for how many words it counts: between white space letters alone, only the
// first a capital, and perhaps a mark behind them. Names in code, numbers, cells
// of tables and the like are none. Two characters of a script written without
// spaces count as a word.
func eachProse(text string, visit func(word string, words int)) {
	for i := 0; i < len(text); {
		for i < len(text) && isSpace(text[i]) {
			i++
		}
		from := i
		for i < len(text) && !isSpace(text[i]) {
			i++
		}
		if n := proseOf(text[from:i]); n > 0 {
			visit(text[from:i], n)
		}
	}
}

// proseOf is how many words of prose stand in a text without white space.
func proseOf(word string) int {
	for len(word) > 0 && strings.IndexByte(".,:;!?)", word[len(word)-1]) >= 0 {
		word = word[:len(word)-1]
	}
	if word == "" {
		return 0
	}
	characters := 0
	for i := range len(word) {
		switch c := word[i]; {
		case classes[c] == lower, classes[c] == upper && i == 0:
			if c >= 0xe3 && c <= 0xed { // the first byte of kana, CJK and Hangul
				characters++
			}
		default:
			return 0
		}
	}
	return max(1, characters/2)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
