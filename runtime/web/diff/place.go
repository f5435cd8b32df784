package diff

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// Find returns the number of the line, counted from 1, at which a quote now
// begins. If the quote occurs more than once, Find returns the occurrence
// closest to the line with the number near. If the quote no longer occurs, it
// returns 0.
func Find(lines, quote []string, near int) int {
	found := 0
	for i := range len(lines) - len(quote) + 1 {
		if len(quote) == 0 || !slices.Equal(lines[i:i+len(quote)], quote) {
			continue
		}
		if found == 0 || distance(i+1, near) < distance(found, near) {
			found = i + 1
		}
	}
	return found
}

// Opposite returns a digest of the new lines that replace the old lines from first
// to last, both inclusive. Lines that are only next to them in the same change count
// too, because a patch does not say which line replaces which.
func Opposite(patch string, first, last int) string {
	sum := sha256.New()
	for _, h := range hunks(patch) {
		var come []string
		hit := false
		for i, l := range h.lines {
			hit = hit || l.op == Deleted && l.old >= first && l.old <= last
			if l.op == Added {
				come = append(come, l.text)
			}
			if l.op != Same && i < len(h.lines)-1 {
				continue
			}
			for n := 0; hit && n < len(come); n++ {
				sum.Write([]byte(come[n] + "\n"))
			}
			come, hit = nil, false
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func distance(a, b int) int { return max(a-b, b-a) }
