package artifact

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/blevesearch/vellum/levenshtein"
	"github.com/blugelabs/bluge/index"
	segment "github.com/blugelabs/bluge_segment_api"
	"github.com/blugelabs/ice"
)

// encodeSegment builds the lexical index of a group's chunks. It returns the bluge
// segment, with one document per chunk, the postings, and the chunks' lengths.
func encodeSegment(docs []Document) (seg, postings []byte, lengths []uint32, err error) {
	batch := index.NewBatch()
	var all []*counts
	var c counter
	for _, doc := range docs {
		page := pageCounts(&c, doc)
		for i, chunk := range doc.Chunks {
			c.chunk(page, chunk)
			if doc.Phrases != nil {
				c.phrases(doc.Phrases[i])
			}
			done := c.out
			batch.Insert(&done)
			all = append(all, &done)
			lengths = append(lengths, uint32(done.length))
		}
	}
	if len(all) == 0 {
		return nil, nil, nil, nil
	}
	var dir segments
	cfg := index.DefaultConfigWithDirectory(func() index.Directory { return &dir })
	w, err := index.OpenOfflineWriter(cfg.WithNormCalc(noNorm))
	if err != nil {
		return nil, nil, nil, fmt.Errorf("open full-text writer: %w", err)
	}
	if err := w.Batch(batch); err != nil {
		return nil, nil, nil, fmt.Errorf("build full-text segment: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, nil, nil, fmt.Errorf("close full-text segment: %w", err)
	}
	return dir[len(dir)-1], encodePostings(all), lengths, nil
}

// noNorm returns the smallest norm that bluge can store, which takes one byte per
// posting. The index stores each length only once per chunk instead.
func noNorm(string, int) float32 { return math.Float32frombits(1) }

// lexical reads the postings and full-text segments of all groups as one index.
type lexical struct {
	groups  []lexicalGroup
	n       int       // number of chunks
	norms   []float32 // k1*(1-b+b*length/average), by chunk; see measured
	measure sync.Once // computes norms
	all     *[]group  // the groups, for their lengths
	fuzzy   func() (*levenshtein.LevenshteinAutomatonBuilder, error)
	filter  termFilter
}

// lexicalGroup is the lexical index of one group. first is the group's first
// chunk.
type lexicalGroup struct {
	first, chunks int
	of            *group
	// dictionary returns the segment's dictionary. Nothing else in the segment is
	// needed.
	dictionary func() (segment.Dictionary, error)
}

func newLexical(all *[]group) *lexical {
	return &lexical{all: all, fuzzy: sync.OnceValues(func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
		return levenshtein.NewLevenshteinAutomatonBuilder(1, true)
	})}
}

// open adds a group that has chunks.
func (l *lexical) open(g *group) error {
	if g.unchecked == nil || g.unchecked.done[postingSection].Load() {
		if err := checkPostings(g.bytes(postingSection)); err != nil {
			return fmt.Errorf("read postings: %w", err)
		}
	}
	l.groups = append(l.groups, lexicalGroup{first: g.firstChunk, chunks: g.chunks, of: g,
		dictionary: sync.OnceValues(func() (segment.Dictionary, error) { return openDictionary(g.bytes(lexicalSection)) })})
	l.n += g.chunks
	return nil
}

// openDictionary returns the dictionary of a segment. It opens the segment without
// bluge. bluge reads dictionaries in its own goroutines, where a fault in the mapped
// file would crash the process. It opens each segment only once, because the library
// holds a lock while it reads, and a fault would leave the lock held.
func openDictionary(packed []byte) (segment.Dictionary, error) {
	s, err := ice.Load(segment.NewDataBytes(packed))
	if err != nil {
		return nil, fmt.Errorf("open full-text segment: %w", err)
	}
	d, err := s.Dictionary(fieldName)
	if err != nil {
		return nil, fmt.Errorf("read dictionary: %w", err)
	}
	return d, nil
}

// measured returns the norms. It computes them once from the lengths of all chunks, which
// only searches by keyword need. It panics like [group.bytes], also in later calls.
func (l *lexical) measured() []float32 {
	l.measure.Do(func() {
		var lengths []uint32
		for i := range *l.all {
			for b := (*l.all)[i].bytes(lengthSection); len(b) >= 4; b = b[4:] {
				lengths = append(lengths, binary.LittleEndian.Uint32(b))
			}
		}
		l.setNorms(lengths)
	})
	return l.norms
}

func (l *lexical) setNorms(lengths []uint32) {
	total := 0.0
	for _, n := range lengths {
		total += float64(n)
	}
	average := max(1, total/float64(max(1, len(lengths))))
	l.norms = make([]float32, len(lengths))
	for i, n := range lengths {
		l.norms[i] = float32(saturation * (1 - lengthShare + lengthShare*float64(n)/average))
	}
}

// Postings lists the chunks that contain one term. It may be used concurrently while
// its Reader is open.
type Postings struct {
	// Chunks is the number of chunks that contain the term.
	Chunks int
	lists  []groupList // postings in each group that contains the term, in order
}

// Postings looks up a term. If no chunk contains the term, it returns postings
// without chunks.
func (r *Reader) Postings(term string) (*Postings, error) {
	if r.lexical.filter.lacks(HashTerm(term)) {
		return noPostings, nil
	}
	var p *Postings
	hash := hashTerm(term)
	for i := range r.lexical.groups {
		g := &r.lexical.groups[i]
		list, err := findPostings(g.of.bytes(postingSection), term, hash, g.chunks)
		if err != nil {
			return nil, r.damagedBy(err)
		}
		if list.chunks > 0 {
			if p == nil {
				p = &Postings{lists: make([]groupList, 0, len(r.lexical.groups)-i)}
			}
			list.group = i
			p.lists = append(p.lists, list)
			p.Chunks += list.chunks
		}
	}
	if p == nil {
		return noPostings, nil
	}
	return p, nil
}

// noPostings are the postings of a term that no chunk contains.
var noPostings = new(Postings)

// Each calls visit for each chunk that contains the term, in order.
func (r *Reader) Each(p *Postings, visit func(chunk int)) error {
	var postings []posting
	for _, list := range p.lists {
		g := &r.lexical.groups[list.group]
		for d, freq := range list.column {
			if freq != 0 {
				visit(g.first + d)
			}
		}
		var err error
		if postings, err = list.decode(postings[:0], g.chunks); err != nil {
			return r.damagedBy(err)
		}
		for _, p := range postings {
			visit(g.first + int(p.chunk))
		}
	}
	return nil
}

// Similar returns at most limit indexed terms that are one edit away from term, most
// frequent first. A transposition counts as one edit.
func (r *Reader) Similar(term string, limit int) ([]string, error) {
	found, err := r.AllSimilar(term)
	return frequent(found, limit), err
}

// AllSimilar returns all terms that Similar chooses from, each with the number of chunks
// that contain it.
func (r *Reader) AllSimilar(term string) (map[string]uint64, error) {
	f := &r.lexical.filter
	if f.learn(r); f.plainOnly(term) {
		return r.similarBy(f, term)
	}
	builder, err := r.lexical.fuzzy()
	if err != nil {
		return nil, err
	}
	dfa, err := builder.BuildDfa(term, 1)
	if err != nil {
		return nil, err
	}
	return r.lexical.dictionary(dfa, nil, nil)
}

// Begun returns at most limit indexed terms that start with the given term, most
// frequent first.
func (r *Reader) Begun(term string, limit int) ([]string, error) {
	found, err := r.AllBegun(term)
	return frequent(found, limit), err
}

// AllBegun returns all terms that Begun chooses from, each with the number of chunks
// that contain it.
func (r *Reader) AllBegun(term string) (map[string]uint64, error) {
	return r.lexical.dictionary(nil, []byte(term), append([]byte(term), 0xff))
}

func frequent(found map[string]uint64, limit int) []string {
	all := slices.SortedFunc(maps.Keys(found), func(x, y string) int {
		return cmp.Or(cmp.Compare(found[y], found[x]), cmp.Compare(x, y))
	})
	return all[:min(limit, len(all))]
}

// dictionary returns the terms in [from, to) that the automaton a accepts, each
// with the number of chunks that contain it. If a is nil, it returns all terms in
// the range. If to is nil, the range has no end.
func (l *lexical) dictionary(a segment.Automaton, from, to []byte) (map[string]uint64, error) {
	found := map[string]uint64{}
	for _, g := range l.groups {
		d, err := g.dictionary()
		if err != nil {
			return nil, err
		}
		it := d.Iterator(a, from, to)
		for entry, err := it.Next(); entry != nil || err != nil; entry, err = it.Next() {
			if err != nil {
				return nil, err
			}
			found[entry.Term()] += entry.Count()
		}
		it.Close()
	}
	return found, nil
}
