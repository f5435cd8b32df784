package search

import (
	"math"
	"strings"
	"unicode"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// Evidence explains a hit's rank. Words, Meaning, Near and Path are from 0 to 1, and
// the score is their weighted sum; the weights sum to 1. Verbatim adds to it, up to a
// score of 1. If words find little of a
// question, a ranker then orders the first hits by all parts; see package ranker.
type Evidence struct {
	// Words is the chunk's BM25 score relative to the best chunk's score.
	Words float64
	// Meaning is the similarity between the vectors of the chunk and the
	// question: 1 for the nearest chunk of the corpus, 0 for the corpus average
	// and anything below it.
	Meaning float64
	// Near is the share of the question whose words are close together in the
	// chunk's text, that is, within the length of a snippet. Each word is
	// weighted by its rarity. Near is computed only for the best chunks.
	Near float64
	// Path is the share of the question that is in the path of the chunk's page.
	Path float64
	// Verbatim is the share of the question, without one word, that the chunk's text
	// has word for word in one piece, such as a message that a program printed. It is 0
	// if a title names half of the question or more, and computed only for the best
	// chunks.
	Verbatim float64
	// Row is the similarity to the question of the nearest row of the chunk's text (a
	// paragraph, a list item or a row of a table, with its headings), scaled like
	// Meaning. Each is how near the text's nearest words are to the question's words,
	// one by one, from 0 to 1. Both are 0 if the ranker did not order the hit.
	Row, Each float64
	// Learnt is how much each ranker.Group moved the hit: 1 makes it e times as likely
	// as the average candidate, -1 e times less likely. It is nil if the ranker did not
	// order the hit, or no explanation was asked for.
	Learnt map[string]float64
	// Weights holds the weight of each part of the score, by its name: words, meaning,
	// near, path and verbatim. It is nil if the score is not their sum, as for a hit that
	// the ranker ordered, or if no explanation was asked for.
	Weights map[string]float64
}

// rounded returns e rounded to six decimals, like scores.
func (e Evidence) rounded() Evidence {
	for _, x := range []*float64{&e.Words, &e.Meaning, &e.Near, &e.Path, &e.Verbatim, &e.Row, &e.Each} {
		*x = math.Round(*x*1e6) / 1e6
	}
	for g, x := range e.Learnt {
		e.Learnt[g] = math.Round(x*1e4) / 1e4
	}
	return e
}

// weights holds the weight of each part of the evidence.
type weights struct {
	words, meaning, near, path float64
	prose                      bool // the question contains no code names
}

// weightsFor returns the weights for a question. The weights were tuned in steps
// of 0.05 on eleven labelled documentation sets and are the same for all sets
// (docs/ranking.md). There is one rule: the larger the share of names in a
// question (identifiers, flags, error messages), the more its words count and the
// less its meaning does.
func weightsFor(question string) weights {
	share := names(question)
	if end := nameFirst(question); end > 0 {
		share = names(question[:end])
	}
	lean := 0.18 * share
	return weights{words: 0.48 + lean, meaning: 0.35 - lean, near: 0.085, path: 0.085, prose: share == 0}
}

// textWeights are the weights for searches over short texts; see [OverTexts]. A
// name and two sentences contain few of the words that people use for the same
// thing, so meaning counts more. On the 60 requests of tuning.json (docs/tools.md),
// recall@5 is 0.77 with them and 0.72 with the documentation weights. Values of 0.2
// to 0.3 for words and 0.5 to 0.65 for meaning change the result by one or two
// requests.
var textWeights = weights{words: 0.3, meaning: 0.55, near: 0.05, path: 0.1}

// withoutMeaning returns the weights for an index without vectors, or for the time
// during which its embedder is unavailable.
func (w weights) withoutMeaning() weights {
	w.words, w.meaning = w.words+w.meaning, 0
	return w
}

// Parameters of weights.doubt. If the best keyword match has at least enoughFound
// of a question, the weights stay unchanged. aheadAtLeast is how far the nearest
// chunk's cosine must exceed the average before meaning gains weight, and
// aheadFully is the distance at which meaning gains the most. For the mean over
// five models and eleven sets, 0.2 to 0.25 for aheadAtLeast with 0.3 to 0.35 for
// aheadFully stay within 0.0005 NDCG@5; 0.5 for enoughFound or 0.45 for
// aheadFully costs 0.001.
const (
	enoughFound  = 0.4
	aheadAtLeast = 0.25
	aheadFully   = 0.3
)

// doubt returns the weights for a prose question. found is the share of the
// question in the best keyword match, and ahead is how far the cosine of the
// nearest chunk by meaning exceeds the average. If found is small, the words found
// are common ones, and with unchanged weights their best chunk would count as much
// as a chunk that has the whole question. Half of the weight that words lose goes
// to meaning. The weights of a question with code names, such as a pasted error
// that the docs do not contain, stay unchanged: its parts are meant literally.
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

// weightsOf returns the weights of a hit's evidence by the names of its parts, or nil if
// the hit's score is not their weighted sum.
func (r *run) weightsOf(p *ranked) map[string]float64 {
	if p.evidence.Learnt != nil || math.Abs(min(1, r.scoreOf(p))-min(1, p.score)) > 1e-6 {
		return nil
	}
	w, all := r.weigh, map[string]float64{}
	for name, x := range map[string]float64{"words": w.words, "meaning": w.meaning, "near": w.near, "path": w.path, "verbatim": verbatimWeight} {
		if r.isForeign(p.chunk) {
			x *= foreign
		}
		all[name] = math.Round(x*1e4) / 1e4
	}
	return all
}

func (w weights) score(e Evidence) float64 {
	return w.words*e.Words + w.meaning*e.Meaning + w.near*e.Near + w.path*e.Path + verbatimWeight*e.Verbatim
}

// names returns the share of a question's words that look like code names, that
// is, words with digits, an inner capital, or a character that prose does not
// use.
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

// spaced puts spaces around Chinese, Japanese and Korean characters. These
// languages are written without spaces, and a name in such a question must count as
// one word of many, not as the whole question.
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

// If a query begins with a name, and phrasings of that name follow after one of
// clauseEnds, the query is about the name. The name's words then count namedFirst
// times as much.
const (
	namedFirst = 2
	clauseEnds = ";\n\u2013\u2014"
)

// named is the position in a query after the name that the query begins with. It
// is 0 if the query does not begin with a name, or contains only a name.
type named int

func nameFirst(query string) named {
	end := strings.IndexAny(query, clauseEnds)
	if end <= 0 || names(query[:end]) < 0.5 || names(query) >= 0.5 {
		return 0
	}
	return named(end)
}

// weight returns the weight of a query term.
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

// scale maps a cosine to the range of Evidence.Meaning. The meaning of a cosine
// differs between models and questions, so it is compared with the cosines of the
// whole corpus.
func scale(cosine, mean, best float64) float64 {
	if best <= mean {
		return 0
	}
	return math.Max(0, (cosine-mean)/(best-mean))
}
