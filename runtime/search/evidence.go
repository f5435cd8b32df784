package search

import (
	"math"
	"strings"
	"unicode"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// Evidence explains a hit's rank. Each part is from 0 to 1. The score is their
// weighted sum; the weights sum to 1.
type Evidence struct {
	// Words is the chunk's BM25 relative to the best chunk's.
	Words float64
	// Meaning is the similarity of its vector to the question's: 1 for the
	// nearest chunk of the corpus, 0 for the corpus average and below.
	Meaning float64
	// Near is how much of the question stands close together in its text:
	// within the length of a snippet, each word weighted by its rarity. It is
	// computed only for the best chunks.
	Near float64
	// Path is how much of the question is in the path of its page.
	Path float64
}

// rounded is e in steps of a millionth, as scores are.
func (e Evidence) rounded() Evidence {
	for _, x := range []*float64{&e.Words, &e.Meaning, &e.Near, &e.Path} {
		*x = math.Round(*x*1e6) / 1e6
	}
	return e
}

// weights say what each part of the evidence counts.
type weights struct {
	words, meaning, near, path float64
	prose                      bool // the question has no names of code
}

// The weights were chosen on eleven labelled documentation sets, see
// docs/ranking.md: the same for all, in steps of 0.05, and one rule: the more of
// a question is names (identifiers, flags, error texts), the more its words
// count and the less its meaning.
func weightsFor(question string) weights {
	share := names(question)
	if end := nameFirst(question); end > 0 {
		share = names(question[:end])
	}
	lean := 0.18 * share
	return weights{words: 0.48 + lean, meaning: 0.35 - lean, near: 0.085, path: 0.085, prose: share == 0}
}

// textWeights are those of questions to short texts, see [OverTexts]: a name and
// two sentences hold few of the words that people have for the same thing, so
// that meaning counts more. On the 60 requests of tuning.json (docs/tools.md)
// recall@5 is 0.77 with them and 0.72 with those of documentation; 0.2 to 0.3
// for words and 0.5 to 0.65 for meaning differ by a request or two.
var textWeights = weights{words: 0.3, meaning: 0.55, near: 0.05, path: 0.1}

// withoutMeaning are the weights where nothing has a meaning: of an index without
// vectors, or while what makes them is away.
func (w weights) withoutMeaning() weights {
	w.words, w.meaning = w.words+w.meaning, 0
	return w
}

// What doubt is made of: the share of a question from which on the best chunk by
// words is taken at its word, and how far ahead of the average the nearest chunk
// is by cosine when meaning begins to be trusted instead, and when it fully is.
// On the mean of five models and eleven sets 0.2 to 0.25 with 0.3 to 0.35 for
// the latter are within 0.0005 NDCG@5; half a question for the first, or 0.45
// for the last, cost 0.001.
const (
	enoughFound  = 0.4
	aheadAtLeast = 0.25
	aheadFully   = 0.3
)

// doubt are the weights of a question in prose of which the best chunk by words
// has no more than the share found, while the nearest by meaning is so far
// ahead of the average: such words are common ones, and the best chunk by them
// would count as much as one that has the whole question. What words lose goes
// to meaning by half. A pasted error that the docs do not have stays as it is:
// its parts are meant to the letter.
func (w weights) doubt(found, ahead float64) weights {
	if !w.prose || found >= enoughFound {
		return w
	}
	trust := min(1, max(0, (ahead-aheadAtLeast)/(aheadFully-aheadAtLeast)))
	lost := w.words * trust * (1 - math.Pow(found/enoughFound, 2))
	w.words, w.meaning = w.words-lost, w.meaning+lost/2
	sum := 1 - lost/2
	w.words, w.meaning, w.near, w.path = w.words/sum, w.meaning/sum, w.near/sum, w.path/sum
	return w
}

func (w weights) score(e Evidence) float64 {
	return w.words*e.Words + w.meaning*e.Meaning + w.near*e.Near + w.path*e.Path
}

// names is the share of a question's words that look like names of code: with
// digits, an inner capital, or a sign that prose does not have.
func names(question string) float64 {
	words := strings.Fields(spaced(question))
	n := 0
	for _, w := range words {
		if isName(strings.Trim(w, `.,;:!?"'`)) {
			n++
		}
	}
	return float64(n) / float64(max(1, len(words)))
}

// spaced puts spaces around the characters of Chinese, Japanese and Korean, which
// are written without: a name among them is one word of many, and not all of the
// question.
func spaced(question string) string {
	if !strings.ContainsFunc(question, spaceless) {
		return question
	}
	var b strings.Builder
	for _, c := range question {
		if !spaceless(c) {
			b.WriteRune(c)
			continue
		}
		b.WriteByte(' ')
		b.WriteRune(c)
		b.WriteByte(' ')
	}
	return b.String()
}

func spaceless(c rune) bool {
	return c >= 0x2e80 && unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// A query that begins with a name and goes on with phrasings of it, behind one of
// clauseEnds, is about the name: its words count namedFirst times as much.
const (
	namedFirst = 2
	clauseEnds = ";\n\u2013\u2014"
)

// named is where the name ends that a query begins with; 0: it begins with none,
// or has nothing else.
type named int

func nameFirst(query string) named {
	end := strings.IndexAny(query, clauseEnds)
	if end <= 0 || names(query[:end]) < 0.5 || names(query) >= 0.5 {
		return 0
	}
	return named(end)
}

// weight is what a term of the query counts.
func (n named) weight(t artifact.Term) float64 {
	if t.End <= int(n) {
		return namedFirst
	}
	return 1
}

func isName(w string) bool {
	if strings.ContainsAny(w, "_./:()=<>{}[]$") || strings.HasPrefix(w, "-") || strings.ContainsAny(w, "0123456789") {
		return true
	}
	for i, r := range w {
		if i > 0 && unicode.IsUpper(r) {
			return true
		}
	}
	return false
}

// scale brings a cosine to the range of Evidence.Meaning. What a cosine is worth
// differs from model to model and question to question, so it is set against
// those of the whole corpus.
func scale(cosine, mean, best float64) float64 {
	if best <= mean {
		return 0
	}
	return math.Max(0, (cosine-mean)/(best-mean))
}
