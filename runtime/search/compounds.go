package search

import (
	"strings"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/language"
)

// Docs write "rollback" and "login" where a question says "roll back" and "log in",
// and the other way round. leastHalf is the minimum length in bytes of each half of
// a split word. leastJoined is the minimum length of a joined word.
const (
	leastHalf   = 3
	leastJoined = 5
)

// addJoined adds the joined forms of neighbouring words to the query, with the
// weight of similar words.
func (r *run) addJoined(text string, terms []artifact.Term) error {
	if r.language != language.English {
		return nil
	}
	last := artifact.Term{Start: -1}
	for _, t := range terms {
		if t.Joined {
			continue
		}
		if last.Start >= 0 && last.End <= t.Start {
			if joined := joinedWith(text[last.Start:last.End], text[t.Start:t.End], text[last.End:t.Start]); joined != "" {
				if _, err := r.add(r.analyzer.Stem(joined), similarWeight); err != nil {
					return err
				}
			}
		}
		last = t
	}
	return nil
}

// joinedWith returns two neighbouring words of a question as one word, or "" if
// English does not write them as one.
func joinedWith(before, word, between string) string {
	if between != " " || len(before)+len(word) < leastJoined || len(before) < 2 || len(word) < 2 || !plainWord(before) || !plainWord(word) {
		return ""
	}
	if !secondHalves[strings.ToLower(word)] {
		return ""
	}
	return strings.ToLower(before + word)
}

// secondHalves holds the second words of compounds that English writes as one word
// or as two. Joining any two neighbours would be wrong: docs are full of
// identifiers, and "state management" is not about StateManagement.
var secondHalves = func() map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq("back base board down end flow in line name off on out over path point set space stamp time up word") {
		set[w] = true
	}
	return set
}()

func plainWord(word string) bool {
	return !strings.ContainsFunc(word, func(c rune) bool { return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') })
}

// halves splits an unknown word into two words. If several splits are possible,
// it returns the pair whose rarer half is in the most chunks, or nil if there is
// none.
func (r *run) halves(word string) ([]string, error) {
	if !plainWord(word) {
		return nil, nil
	}
	word = strings.ToLower(word)
	var best []string
	most := 1 // a half that is in only one chunk may be a misspelling
	for at := leastHalf; at <= len(word)-leastHalf; at++ {
		a, b := r.analyzer.Stem(word[:at]), r.analyzer.Stem(word[at:])
		first, err := r.count(a)
		if err != nil {
			return nil, err
		}
		if first <= most {
			continue
		}
		second, err := r.count(b)
		if err != nil {
			return nil, err
		}
		if n := min(first, second); n > most {
			best, most = []string{word[:at], word[at:]}, n
		}
	}
	return best, nil
}
