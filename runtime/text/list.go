package text

import (
	"fmt"
	"strings"
)

// Some returns at most most of the words, separated by commas, and the number
// of words left out.
func Some(words []string, most int) string {
	if len(words) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
	}
	return strings.Join(words, ", ")
}
