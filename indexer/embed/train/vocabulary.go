package train

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/indexer/embed"
)

const (
	minCount       = 5 // minimum count of a word; minCountAdded applies to words that are added to a model
	minCountAdded  = 3
	maxLearntBytes = 24
	pieceRows      = 1500
	maxPieceBytes  = 8
	maxRows        = math.MaxUint16
)

// chooseWords builds the vocabulary. It contains words ranked by frequency and number
// of sources, single characters, and pieces of the words that were omitted.
func (t *trainer) chooseWords() error {
	var tokens []string
	have := map[string]bool{}
	add := func(token string) {
		if !have[token] && len(tokens) < maxRows {
			have[token] = true
			tokens = append(tokens, token)
		}
	}
	least := minCount
	if t.From != nil {
		least = minCountAdded
		for row := range t.From.Vocabulary().Len() {
			add(t.From.Vocabulary().Token(row))
		}
	}
	for _, w := range t.ranked(least, have) {
		add(w)
	}
	if t.From == nil {
		for _, c := range "abcdefghijklmnopqrstuvwxyz0123456789" {
			add(string(c))
			add("##" + string(c))
		}
		for _, p := range pieces(t.dictionary.entries, have) {
			add(p)
		}
	}
	var err error
	t.vocabulary, err = embed.NewVocabulary(tokens)
	t.report.Rows = len(tokens)
	return err
}

// ranked returns the words that deserve a row and are not in have, best first.
func (t *trainer) ranked(least int, have map[string]bool) []string {
	type scored struct {
		word  string
		score float64
	}
	total := map[string]*entry{} // the joined form and the plain form count as one word
	for i := range t.dictionary.entries {
		e := &t.dictionary.entries[i]
		if other := total[e.word]; other != nil {
			total[e.word] = &entry{word: e.word, count: e.count + other.count, sources: max(e.sources, other.sources)}
		} else {
			total[e.word] = e
		}
	}
	var all []scored
	for w, e := range total {
		if e.count >= least && !have[w] && learnable(w) {
			all = append(all, scored{w, float64(e.count) * (0.3 + 0.35*float64(min(e.sources, 8)))})
		}
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.word, b.word))
	})
	var words []string
	for _, s := range all[:min(len(all), t.Words)] {
		words = append(words, s.word)
	}
	return words
}

// learnable reports whether a word is suitable for learning. Words that are too long
// or are numbers are not, which excludes keys, hashes and dates.
func learnable(word string) bool {
	digits := 0
	for i := range len(word) {
		if word[i] >= '0' && word[i] <= '9' {
			digits++
		}
	}
	switch {
	case len(word) > maxLearntBytes:
		return false
	case digits == len(word):
		return digits <= 4
	}
	return digits <= 2 || len(word) <= 6
}

// pieces returns the continuation pieces that are most useful for unknown words.
func pieces(entries []entry, have map[string]bool) []string {
	score := map[string]int{}
	for _, e := range entries {
		w := e.word
		if have[w] || e.joined || len(w) > maxLearntBytes || len(w) < 4 || !ascii(w) {
			continue
		}
		n := min(len(w)-1, 16)
		for n > 3 && !have[w[:n]] {
			n--
		}
		rest := w[n:]
		for i := range rest {
			for l := 2; l <= maxPieceBytes && i+l <= len(rest); l++ {
				score[rest[i:i+l]] += min(e.count, 50) * (l - 1)
			}
		}
	}
	var all []string
	for p := range score {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(score[b]-score[a], strings.Compare(a, b)) })
	all = all[:min(len(all), pieceRows)]
	for i := range all {
		all[i] = "##" + all[i]
	}
	return all
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// encoded is a pair whose words have been replaced by rows of the vocabulary.
type encoded struct {
	query    []uint16
	document []uint16
}

const (
	maxQueryRows    = 48
	maxDocumentRows = 320
)

// encode converts the pairs' words to rows and counts the rows.
func (t *trainer) encode() error {
	rows := t.dictionary.rows(t.ctx, t.vocabulary)
	return t.encodeWith(func(uint8) [][]uint16 { return rows })
}

// rows returns the rows of each word.
func (d *dictionary) rows(ctx context.Context, v *embed.Vocabulary) [][]uint16 {
	rows := make([][]uint16, len(d.entries))
	blocks(ctx, len(rows), 4096, func(from, to int) {
		for i := from; i < to; i++ {
			e := d.entries[i]
			rows[i] = v.AppendWord(nil, []byte(e.word), e.joined)
		}
	})
	return rows
}

// encodeWith does the same as encode. rows returns the rows of each word in a language.
func (t *trainer) encodeWith(rows func(language uint8) [][]uint16) error {
	t.dictionary = dictionary{}
	t.texts = make([]encoded, len(t.pairs))
	blocks(t.ctx, len(t.pairs), 1024, func(from, to int) {
		for i := from; i < to; i++ {
			p := &t.pairs[i]
			t.texts[i] = encoded{rowsOf(p.query, rows(p.in[0]), maxQueryRows), rowsOf(p.document, rows(p.in[1]), maxDocumentRows)}
			p.query, p.document = nil, nil
		}
	})
	t.frequency = make([]int, t.vocabulary.Len())
	for _, e := range t.texts {
		for _, text := range [...][]uint16{e.query, e.document} {
			for _, row := range text {
				t.frequency[row]++
			}
			t.report.Tokens += len(text)
		}
	}
	return nil
}

func rowsOf(words []int32, rows [][]uint16, most int) []uint16 {
	var out []uint16
	for _, w := range words {
		out = append(out, rows[w]...)
	}
	return slices.Clip(out[:min(len(out), most)])
}
