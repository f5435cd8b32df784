package search

import "strings"

// literal reports that a query is to be taken word by word, so the ranker, which
// learnt from questions, does not order its hits. A query is literal if it
//   - consists of code names by half or more, such as an option or a path;
//   - quotes text;
//   - has parts after a colon, such as a pasted error;
//   - states an error, see [printed].
//
// So is every query with filters, see [run.read].
func literal(query string) bool {
	return names(query) >= 0.5 || strings.Contains(query, `"`) || strings.Contains(query, ": ") || printed(query)
}

// Words that programs print if something goes wrong, and words that a question begins
// with.
var (
	errorWords = set("error errors failed fails failure exception denied refused invalid unexpected unsupported panic fatal")
	askWords   = set("how what which why where when who can do does is are should will could would")
)

// printed reports that a query looks like an error that a program printed: it has one
// of errorWords or a name like TypeError, and is not asked as a question.
func printed(query string) bool {
	if strings.Contains(query, "?") {
		return false
	}
	found := false
	for i, word := range strings.Fields(query) {
		word = strings.Trim(word, ".,;:!()'")
		if i == 0 && askWords[strings.ToLower(word)] {
			return false
		}
		found = found || errorWords[strings.ToLower(word)] || strings.HasSuffix(word, "Error") || strings.HasSuffix(word, "Exception")
	}
	return found
}

func set(words string) map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(words) {
		all[w] = true
	}
	return all
}
