package diff

import "slices"

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

func distance(a, b int) int { return max(a-b, b-a) }
