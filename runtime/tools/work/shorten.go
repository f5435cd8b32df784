package work

import "unicode/utf8"

// shorten truncates a text to maxBytes without splitting a character, and marks
// that it did.
func shorten(s string, maxBytes int) string {
	if len(s) <= maxBytes {
		return s
	}
	for maxBytes > 0 && !utf8.RuneStart(s[maxBytes]) {
		maxBytes--
	}
	return s[:maxBytes] + " [cut]"
}
