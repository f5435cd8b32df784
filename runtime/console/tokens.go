package console

import (
	"regexp"
	"sync"
	"unicode/utf8"
)

// tokenPieces are what the tokenizer o200k_base splits a text into before it
// looks up its vocabulary: words with the sign before them, up to three digits,
// runs of signs, line ends, spaces.
var tokenPieces = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[^\r\n\pL\pN]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\pM]*[\p{Ll}\p{Lm}\p{Lo}\pM]+('(?:s|t|re|ve|m|ll|d))?|[^\r\n\pL\pN]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\pM]+|\pN{1,3}| ?[^\s\pL\pN]+[\r\n/]*|\s*[\r\n]+|\s+`)
})

// Tokens estimates how many tokens of o200k_base a text has. A word of up to
// ten letters is mostly in its vocabulary, and so are up to four signs in a row.
// On what models read of our tools it is at most 10 % off
// (TestTokensAreNearWhatTheTokenizerCounts).
func Tokens(text string) (n int) {
	for _, piece := range tokenPieces().FindAllString(text, -1) {
		length := utf8.RuneCountInString(piece)
		switch c := piece[len(piece)-1]; {
		case c >= utf8.RuneSelf: // other scripts take a token for one or two letters
			n += (length + 1) / 2
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			n += (length + 10) / 11
		default:
			n += (length + 3) / 4
		}
	}
	return n
}
