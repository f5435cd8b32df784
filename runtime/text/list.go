package text

import (
	"fmt"
	"strings"
)

// Some returns the first words, separated by commas, but no more than the given
// maximum. If it leaves words out, it appends their number.
func Some(words []string, most int) string {
	if len(words) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
	}
	return strings.Join(words, ", ")
}
