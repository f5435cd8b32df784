package work

import "unicode/utf8"

// shorten truncates s to maxBytes without splitting a character, and marks the
// truncation.
func shorten(s string, maxBytes int) string {
	if len(s) <= maxBytes {
		return s
	}
	for maxBytes > 0 && !utf8.RuneStart(s[maxBytes]) {
		maxBytes--
	}
	return s[:maxBytes] + " [cut]"
}
