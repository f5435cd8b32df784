package work

import "unicode/utf8"

// shorten cuts a text after maxBytes, between two characters, and says so.
func shorten(s string, maxBytes int) string {
	if len(s) <= maxBytes {
		return s
	}
	for maxBytes > 0 && !utf8.RuneStart(s[maxBytes]) {
		maxBytes--
	}
	return s[:maxBytes] + " [cut]"
}
