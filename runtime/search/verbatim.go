package search

import (
	"bytes"
	"slices"
	"unicode"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// Parameters of Evidence.Verbatim, measured on nineteen labelled sets
// (docs/ranking.md). A weight of 0.1 gains about two thirds as much.
const (
	verbatimWeight = 0.2
	// titledFrom is the share of a question in the title and heading of a candidate
	// from which Verbatim does not count: such a question names a section, and other
	// texts that have these words refer to that section. With 0.7, questions that are
	// the texts of links lose more; with 0.4, error messages gain a little less.
	titledFrom = 0.5
	// maxVerbatim is the maximum number of a question's terms.
	maxVerbatim = 40
	// maxBetween is the maximum number of bytes between two words of a run, such as
	// quotes and other marks.
	maxBetween = 12
)

// wordOrder holds the terms of a question in their order.
type wordOrder []orderedTerm

// orderedTerm is a term, and the places of the terms directly before it: several if
// a compound word has parts.
type orderedTerm struct {
	text   string
	before []int
}

// orderOf returns the order of a question's terms. It is nil if the question has
// only one, or too many.
func orderOf(text string, terms []artifact.Term) (all wordOrder) {
	if len(terms) < 2 || len(terms) > maxVerbatim {
		return nil
	}
	for i, t := range terms {
		one := orderedTerm{text: t.Text}
		for j, b := range terms[:i] {
			if b.End <= t.Start && !hasWord([]byte(text[b.End:t.Start])) {
				one.before = append(one.before, j)
			}
		}
		all = append(all, one)
	}
	return all
}

func hasWord(s []byte) bool {
	return bytes.ContainsFunc(s, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) })
}

// reached is the evidence of a run that ends at a place of the question.
type reached struct {
	at       int
	sum, top float64 // top is that of its heaviest term
}

// bestRun returns the evidence in the best run of the question's terms that r.line has
// word for word, without the run's heaviest term: one word alone is no run. r.found
// holds the terms in the line, in order.
func (r *run) bestRun(terms []string) (best float64) {
	line, found := r.line, r.found
	// r.runs[r.ends[i]:r.ends[i+1]] are the runs that end with found[i].
	r.runs, r.ends = r.runs[:0], append(r.ends[:0], 0)
	for i, hit := range found {
		for at, t := range r.wordOrder {
			if t.text != terms[hit.term] {
				continue
			}
			run := reached{at, hit.weight, hit.weight}
			for j := i - 1; j >= 0 && hit.start-found[j].end <= maxBetween; j-- {
				ends := r.runs[r.ends[j]:r.ends[j+1]]
				if found[j].end > hit.start || len(ends) == 0 || hasWord(line[found[j].end:hit.start]) {
					continue
				}
				for _, b := range ends {
					if sum := b.sum + hit.weight; sum > run.sum && slices.Contains(t.before, b.at) {
						run.sum, run.top = sum, max(b.top, hit.weight)
					}
				}
			}
			r.runs = append(r.runs, run)
			best = max(best, run.sum-run.top)
		}
		r.ends = append(r.ends, len(r.runs))
	}
	return best
}

// titled reports whether the title and heading of a candidate have so much of the
// question that it names this section.
func (r *run) titled(p *ranked) (bool, error) {
	names, err := r.reader.Names(p.chunk)
	if err != nil {
		return false, err
	}
	r.analyzer.Wanted = &r.want
	defer func() { r.analyzer.Wanted = nil }()
	r.line = append(append(append(r.line[:0], names.Title...), ' '), names.Heading...)
	return r.share(string(r.line)) >= titledFrom, nil
}

// quotes decides whether texts are searched for runs of the question's words: not if
// one of the best candidates is titled.
func (r *run) quotes(first []ranked) error {
	r.verbatim = r.by == Both && !r.short && r.wordOrder != nil
	for i := 0; r.verbatim && i < len(first); i++ {
		titled, err := r.titled(&first[i])
		if err != nil {
			return err
		}
		r.verbatim = !titled
	}
	return nil
}
