package text

import (
	"fmt"
	"strings"
)

// Some returns words with commas between, at most most of them, and how many
// there are besides.
func Some(words []string, most int) string {
	if len(words) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
	}
	return strings.Join(words, ", ")
}
