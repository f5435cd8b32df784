package train

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/fault"
)

// dictionary assigns numbers to words. A joined identifier has a different number
// than the plain word with the same letters.
type dictionary struct {
	ids     map[string]int32
	entries []entry
}

type entry struct {
	word    string
	joined  bool
	count   int
	sources int
}

// number appends the numbers of the words in text to words. It also counts the
// words.
func (d *dictionary) number(words []int32, text string) []int32 {
	var key []byte
	embed.Words(text, func(word []byte, joined bool) {
		key = key[:0]
		if joined {
			key = append(key, '+')
		}
		key = append(key, word...)
		id, ok := d.ids[string(key)]
		if !ok {
			id = d.add(string(key), entry{word: string(word), joined: joined, sources: 1})
		}
		d.entries[id].count++
		words = append(words, id)
	})
	return words
}

func (d *dictionary) add(key string, e entry) int32 {
	if d.ids == nil {
		d.ids = map[string]int32{}
	}
	id := int32(len(d.entries))
	d.ids[key] = id
	d.entries = append(d.entries, e)
	return id
}

// merge adds the entries and counts of other, and returns the new number of each
// entry in other.
func (d *dictionary) merge(other *dictionary) []int32 {
	numbers := make([]int32, len(other.entries))
	for i, e := range other.entries {
		key := e.word
		if e.joined {
			key = "+" + key
		}
		id, ok := d.ids[key]
		if ok {
			d.entries[id].count += e.count
			d.entries[id].sources += e.sources
		} else {
			id = d.add(key, e)
		}
		numbers[i] = id
	}
	return numbers
}

// Limits on the number of words in a pair. maxDocumentWords is enough for 230 words
// and their parts.
const (
	maxQueryWords    = 60
	maxDocumentWords = 400
)

// pair creates the pairs of all sources.
func (t *trainer) pair(sources [][]*page, progress func()) error {
	all := make([][]rough, len(sources))
	each(t.ctx, len(sources), func(i int) {
		defer progress()
		all[i] = t.sourcePairs(sources[i])
		sources[i] = nil
	})
	return t.number(all)
}

// number converts the words of all pairs, by source, to numbers.
func (t *trainer) number(sources [][]rough) error {
	pairs := make([][]pair, len(sources))
	words := make([]dictionary, len(sources))
	each(t.ctx, len(sources), func(i int) {
		pairs[i] = make([]pair, len(sources[i]))
		for j, p := range sources[i] {
			query, document := words[i].number(nil, p.query), words[i].number(nil, p.document)
			pairs[i][j] = pair{
				kind: p.kind, source: int32(i), page: int32(p.page), in: p.in,
				query: query[:min(len(query), maxQueryWords)], document: document[:min(len(document), maxDocumentWords)],
				sameQuery:    uint32(hash64(beginning(cmp.Or(p.same[0], p.query), 400))),
				sameDocument: uint32(hash64(beginning(cmp.Or(p.same[1], p.document), 120))),
			}
		}
		sources[i] = nil
	})
	t.report.Kinds = map[string]int{}
	for i := range pairs {
		numbers := t.dictionary.merge(&words[i])
		words[i] = dictionary{}
		for _, p := range pairs[i] {
			renumber(p.query, numbers)
			renumber(p.document, numbers)
			t.report.Kinds[kindNames[p.kind]]++
		}
		t.pairs = append(t.pairs, pairs[i]...)
		pairs[i] = nil
	}
	t.report.Pairs = len(t.pairs)
	if len(t.pairs) < minPairs {
		return fault.New("no_training_text", fmt.Sprintf("there is too little text to learn from: it has %d pairs of texts, for example a heading and its section, and %d are needed", len(t.pairs), minPairs),
			"pass folders with more Markdown pages that have headings with text below them")
	}
	return nil
}

// minPairs is the minimum number of pairs in a batch.
const minPairs = 16

// FewPairs is the recommended minimum number of pairs for a model trained from scratch.
// It corresponds to about 10 MB of documentation. With fewer pairs, the model knows too
// few words to be better than an adapted model.
const FewPairs = 20_000

func renumber(words []int32, numbers []int32) {
	for i, w := range words {
		words[i] = numbers[w]
	}
}

// sourcePairs creates the pairs of one source. If there are too many pairs, it
// omits randomly chosen pages.
func (t *trainer) sourcePairs(pages []*page) []rough {
	links := indexLinks(pages)
	var all []rough
	for n := range pages {
		if t.ctx.Err() != nil {
			return nil
		}
		all = append(all, pagePairs(t.Seed, n, pages, links)...)
	}
	all = cleaned(all)
	if len(all) <= t.SourcePairs {
		return all
	}
	share := float64(t.SourcePairs) / float64(len(all))
	return slices.DeleteFunc(all, func(p rough) bool {
		r := randomOf(t.Seed, hash64(pages[p.page].path), 1)
		return !r.chance(share)
	})
}
