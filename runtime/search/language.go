package search

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/indexer/language"
)

// languageIndex holds each chunk's language, for an index in which not all pages
// are in English.
type languageIndex struct {
	all    []language.Code // by number of chunks, most first
	of     []uint8         // by chunk: the index of its language in all
	chunks []int           // number of chunks, by the language's index in all
}

// newLanguages builds the index from each chunk's language.
func newLanguages(of []language.Code) *languageIndex {
	count := map[language.Code]int{}
	for _, c := range of {
		count[c]++
	}
	l := &languageIndex{of: make([]uint8, len(of))}
	for c := range count {
		l.all = append(l.all, c)
	}
	slices.SortFunc(l.all, func(x, y language.Code) int { return cmp.Or(cmp.Compare(count[y], count[x]), cmp.Compare(x, y)) })
	place := map[language.Code]uint8{}
	for i, c := range l.all {
		place[c] = uint8(i)
		l.chunks = append(l.chunks, count[c])
	}
	for i, c := range of {
		l.of[i] = place[c]
	}
	return l
}

// tongues returns the languages of the index, or nil if all of it is in English.
func (ed *snapshot) tongues() (*languageIndex, error) {
	ed.spoken.Do(func() {
		of, err := ed.reader.Languages()
		if ed.languagesErr = err; err == nil && of != nil {
			ed.languages = newLanguages(of)
		}
	})
	return ed.languages, ed.languagesErr
}

// A question is in a language other than the index's main language if its words
// are more frequent in that language's chunks than in those of the main language,
// by at least leastLead in logarithms. One missing word must not rule out a
// language with few chunks. So each language counts as having additional chunks,
// the number of which is the constant smoothed. In these, a word is as frequent
// as in the language in which it is most frequent.
const (
	smoothed  = 0.5
	leastLead = 2.0
)

// listen detects the question's language and counts the question's terms in each
// language.
func (r *run) listen(text string) error {
	var err error
	if r.spoken, err = r.tongues(); err != nil || r.spoken == nil {
		return err
	}
	l := r.spoken
	r.in = map[string][]int{}
	scores := make([]float64, len(l.all))
	words := make([][]string, len(l.all)) // term of each word, by language
	for i, c := range l.all {
		r.analyzer.Speak(c)
		for n, t := range r.analyzer.Terms(text) {
			if n == maxLookups {
				break
			}
			if !t.Joined {
				words[i] = append(words[i], strings.Clone(t.Text))
			}
		}
	}
	for n := range words[0] {
		share, most := make([]float64, len(l.all)), 0.0
		for i := range l.all {
			in, err := r.countIn(words[i][n])
			if err != nil {
				return err
			}
			share[i] = float64(in[i])
			most = max(most, share[i]/float64(l.chunks[i]))
		}
		if most == 0 {
			continue
		}
		for i, chunks := range l.chunks {
			scores[i] += math.Log((share[i] + smoothed*most) / (float64(chunks) + smoothed))
		}
	}
	for i := range scores {
		if scores[i] > scores[r.own]+1e-9 && scores[i] >= scores[0]+leastLead {
			r.own = i
		}
	}
	r.language = l.all[r.own]
	r.analyzer.Speak(r.language)
	return r.findElsewhere(words)
}

// findElsewhere sets r.elsewhere. words holds the term of each word of the question,
// by language.
func (r *run) findElsewhere(words [][]string) error {
	r.elsewhere = map[string]string{}
	for n := range words[0] {
		own := words[r.own][n]
		for _, of := range append([][]string{words[r.own]}, words...) {
			in, err := r.countIn(of[n])
			if err != nil {
				return err
			}
			if slices.Max(in) > 0 {
				r.elsewhere[own] = of[n]
				break
			}
		}
	}
	return nil
}

// countIn returns, by language, how many chunks have a term.
func (r *run) countIn(term string) ([]int, error) {
	if in, ok := r.in[term]; ok {
		return in, nil
	}
	p, err := r.reader.Postings(term)
	if err != nil {
		return nil, err
	}
	in := make([]int, len(r.spoken.all))
	r.in[term] = in
	if p.Chunks == 0 {
		return in, nil
	}
	return in, r.reader.Each(p, func(chunk int) { in[r.spoken.of[chunk]]++ })
}

// rarity returns the number of chunks and how many of them have a term. It counts
// in the question's language if a chunk there has the term.
func (r *run) rarity(term string, p *artifact.Postings) (chunks, with int, err error) {
	if r.all != nil {
		e, err := r.all.entry(term)
		if err != nil {
			return 0, 0, err
		}
		return r.all.chunks, e.with, nil
	}
	if r.spoken != nil {
		in, err := r.countIn(term)
		if err != nil {
			return 0, 0, err
		}
		if in[r.own] > 0 {
			return r.spoken.chunks[r.own], in[r.own], nil
		}
	}
	return r.reader.Len(), p.Chunks, nil
}

// foreign is the factor for the score of a hit in a language other than the
// question's. With this factor, the translation of a page in the question's
// language comes first, and a page without a translation is still found. On the
// labelled translations (docs/ranking.md), anything from 0 to 0.6 gives the same
// result, and 1 costs 0.008 by keyword.
const foreign = 0.6

// isForeign reports whether a chunk is in a language other than the question's.
func (r *run) isForeign(chunk int) bool {
	return r.spoken != nil && int(r.spoken.of[chunk]) != r.own
}

// scoreOf returns the score of a ranked chunk.
func (r *run) scoreOf(p *ranked) float64 {
	score := r.weigh.score(p.evidence)
	if r.isForeign(p.chunk) {
		score *= foreign
	}
	return score
}

// ownOnly restricts the test keep to chunks in the question's language. othersOnly
// restricts keep to chunks in other languages.
func (r *run) ownOnly(keep func(int) bool) func(int) bool {
	return func(chunk int) bool { return !r.isForeign(chunk) && (keep == nil || keep(chunk)) }
}

func (r *run) othersOnly(keep func(int) bool) func(int) bool {
	return func(chunk int) bool { return r.isForeign(chunk) && (keep == nil || keep(chunk)) }
}

// untaught reports whether the model is a local one that was not trained on the
// question's language. In such a question, it knows only the names. A model of the
// user's own may know more, but trusting it more gave worse results (docs/ranking.md).
func (r *run) untaught() bool {
	m, static := r.embedder.(*embed.Static)
	return static && r.by == Both && !m.Speaks(r.language)
}

// untaughtShare is the factor for the weight of meaning in an untaught question
// (docs/ranking.md).
const untaughtShare = 0.6

// untaught returns the weights for a question of which the model knows few words.
func (w weights) untaught() weights {
	lost := (1 - untaughtShare) * w.meaning
	w.words, w.meaning = w.words+lost, w.meaning-lost
	return w
}

// isAbroad reports whether the question is in a language that no page has, and a local
// model knows it. Of such a question, the pages have only names and words that mean
// something else in another language, such as "die".
func (r *run) isAbroad(text string) bool {
	m, static := r.embedder.(*embed.Static)
	if !static || r.by != Both {
		return false
	}
	asked, ok := language.OfQuestion(text)
	if !ok || asked == language.English || !m.Speaks(asked) {
		return false
	}
	return r.spoken == nil || !slices.Contains(r.spoken.all, asked)
}

// abroadShare is the factor for the weight of words in such a question
// (docs/ranking.md).
const abroadShare = 0.5

// abroad returns the weights for a question in a language that no page has.
func (w weights) abroad() weights {
	lost := (1 - abroadShare) * w.words
	w.words, w.meaning = w.words-lost, w.meaning+lost
	return w
}

// grammar reports whether a term of a Chinese question is a function word. Chinese
// function words are rare in docs, so their rarity does not reveal them. In other
// languages rarity does reveal function words: if they are dropped, questions in
// German and Spanish lose 0.007 by keyword, and if all hiragana are dropped,
// questions in Japanese lose 0.015.
func (r *run) grammar(term string) bool {
	return r.language == language.Chinese && language.Chinese.Joins(term)
}
