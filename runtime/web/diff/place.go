package diff

import "slices"

// Find is where the lines of a quote stand now, counted from 1: at near if they
// do, else at the closest place. 0: they are not there any more.
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
