package search

import (
	"fmt"

	"github.com/deskhand/deskhand/runtime/fault"
)

// By is the kind of evidence to rank hits by.
type By string

// Both is the default. Each of the others measures one part: Words uses only
// BM25, and Meaning uses only the cosine of the 60 nearest chunks, however far
// away they are.
const (
	Both    By = "both"
	Words   By = "words"
	Meaning By = "meaning"
)

// checkBy rejects an unknown kind, and a kind of evidence that the index does not
// have. It changes "" to Both.
func (ed *snapshot) checkBy(by *By) error {
	switch *by {
	case "":
		*by = Both
	case Both, Words:
	case Meaning:
		if ed.mute != nil {
			return ed.mute
		}
		if ed.embedder == nil {
			return fault.New("no_vectors", "the index has no vectors, so it cannot rank by meaning",
				"build it with an embedder: deskhand index --embed builtin")
		}
	default:
		return invalid(fmt.Sprintf("cannot rank by '%s'; use %s, %s or %s", *by, Both, Words, Meaning))
	}
	return nil
}

// weights returns the weights for a question ranked by all evidence or by one kind.
func (by By) weights(question string) weights {
	switch by {
	case Words:
		return weights{words: 1}
	case Meaning:
		return weights{meaning: 1}
	}
	return weightsFor(question)
}
