package embed

import "strings"

// eachProse calls visit for each word of text that could be part of a sentence. The
// argument words is the number of words that this word counts as. Such a word stands
// between white space and consists only of letters, of which only the first may be a
// capital. Punctuation may follow it. These rules exclude names in code, numbers and
// most table cells. In scripts written without spaces, every two characters count as
// a word.
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

// proseOf returns the number of prose words in word, which contains no white
// space.
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
			if c >= 0xe3 && c <= 0xed { // first byte of kana, CJK and Hangul
				characters++
			}
		default:
			return 0
		}
	}
	return max(1, characters/2)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
