package artifact

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/blevesearch/vellum/levenshtein"
	"github.com/blugelabs/bluge/index"
	segment "github.com/blugelabs/bluge_segment_api"
)

// encodeSegment builds what finds the chunks of a group: the bluge segment, one
// document a chunk, the columns of its common terms, and the chunks' lengths.
func encodeSegment(docs []Document) (seg, common []byte, lengths []uint32, err error) {
	batch := index.NewBatch()
	var all []*counts
	var c counter
	for _, doc := range docs {
		page := pageCounts(&c, doc)
		for _, chunk := range doc.Chunks {
			c.chunk(page, chunk)
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
	return dir[len(dir)-1], encodeCommon(all), lengths, nil
}

// noNorm is the smallest norm that bluge stores, in one byte a posting: lengths
// are kept once a chunk instead.
func noNorm(string, int) float32 { return math.Float32frombits(1) }

// lexical reads the full-text segments of all groups as one index.
type lexical struct {
	groups  []lexicalGroup
	n       int       // chunks
	norms   []float32 // k1*(1-b+b*length/average), by chunk
	scratch sync.Pool // *accumulator
	fuzzy   func() (*levenshtein.LevenshteinAutomatonBuilder, error)
}

// lexicalGroup is one segment, from chunk first on.
type lexicalGroup struct {
	first, chunks int
	snapshot      *index.Snapshot
	common        map[string]column
}

func newLexical() *lexical {
	return &lexical{fuzzy: sync.OnceValues(func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
		return levenshtein.NewLevenshteinAutomatonBuilder(1, true)
	})}
}

// open adds the segment of a group with chunks.
func (l *lexical) open(g *group) error {
	common, err := decodeCommon(g.bytes(commonSection), g.chunks)
	if err != nil {
		return fmt.Errorf("read common terms: %w", err)
	}
	dir := segments{g.bytes(lexicalSection)}
	snapshot, err := index.OpenReader(index.DefaultConfigWithDirectory(func() index.Directory { return &dir }))
	if err != nil {
		return fmt.Errorf("open full-text segment: %w", err)
	}
	// The library reads a dictionary when it is first asked, under a lock that a
	// fault of the mapping would leave locked: so it is asked now.
	it, err := snapshot.PostingsIterator(nil, fieldName, false, false, false)
	if err != nil {
		return fmt.Errorf("read dictionary: %w", err)
	}
	it.Close()
	l.groups = append(l.groups, lexicalGroup{first: g.firstChunk, chunks: g.chunks, snapshot: snapshot, common: common})
	l.n += g.chunks
	return nil
}

// measure takes the lengths of all chunks.
func (l *lexical) measure(lengths []uint32) {
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

func (l *lexical) close() (err error) {
	for _, g := range l.groups {
		err = cmp.Or(err, g.snapshot.Close())
	}
	return err
}

// Postings is where one term stands. It is for one search at a time; Close ends
// its use.
type Postings struct {
	// Chunks is the number of chunks that hold the term.
	Chunks  int
	text    []byte
	columns [][]byte                   // by group; nil where the term is not common
	lists   []segment.PostingsIterator // by group; nil where it is
	read    bool                       // the lists were iterated and are to be opened again
}

// Postings looks a term up. There are postings for unknown terms too, of no
// chunk.
func (r *Reader) Postings(term string) (*Postings, error) {
	l := r.lexical
	p := &Postings{text: []byte(term), columns: make([][]byte, len(l.groups)), lists: make([]segment.PostingsIterator, len(l.groups))}
	for i, g := range l.groups {
		if c, ok := g.common[term]; ok {
			p.columns[i] = c.bytes
			p.Chunks += c.df
		}
	}
	if err := p.open(l); err != nil {
		return nil, err
	}
	for _, it := range p.lists {
		if it != nil {
			p.Chunks += int(it.Count())
		}
	}
	return p, nil
}

// open opens the lists at their beginning.
func (p *Postings) open(l *lexical) error {
	p.Close()
	for i, g := range l.groups {
		if p.columns[i] != nil {
			continue
		}
		it, err := g.snapshot.PostingsIterator(p.text, fieldName, true, false, false)
		if err != nil {
			p.Close()
			return fmt.Errorf("read postings: %w", err)
		}
		p.lists[i] = it
	}
	p.read = false
	return nil
}

// Each calls visit with the chunks that hold the term, in order.
func (r *Reader) Each(p *Postings, visit func(chunk int)) error {
	return r.lexical.each(p, func(chunk uint32, _ int) { visit(int(chunk)) })
}

// each calls visit with the chunks that hold the term and how often, in order.
func (l *lexical) each(p *Postings, visit func(chunk uint32, freq int)) error {
	if err := p.rewind(l); err != nil {
		return err
	}
	for i, g := range l.groups {
		if column := p.columns[i]; column != nil {
			for d, freq := range column {
				if freq != 0 {
					visit(uint32(g.first+d), int(freq))
				}
			}
			continue
		}
		for {
			posting, err := p.lists[i].Next()
			if err != nil {
				return fmt.Errorf("read postings: %w", err)
			}
			if posting == nil {
				break
			}
			visit(uint32(g.first)+uint32(posting.Number()), posting.Frequency())
		}
	}
	return nil
}

// Close gives the lists back.
func (p *Postings) Close() {
	for i, it := range p.lists {
		if it != nil {
			it.Close()
			p.lists[i] = nil
		}
	}
	p.read = true
}

// Similar returns the indexed terms one edit away from term (a transposition
// counts as one), the most frequent first, at most limit.
func (r *Reader) Similar(term string, limit int) ([]string, error) {
	builder, err := r.lexical.fuzzy()
	if err != nil {
		return nil, err
	}
	dfa, err := builder.BuildDfa(term, 1)
	if err != nil {
		return nil, err
	}
	found := map[string]uint64{}
	for _, g := range r.lexical.groups {
		it, err := g.snapshot.DictionaryIterator(fieldName, dfa, nil, nil)
		if err != nil {
			return nil, err
		}
		for entry, err := it.Next(); entry != nil || err != nil; entry, err = it.Next() {
			if err != nil {
				return nil, err
			}
			found[entry.Term()] += entry.Count()
		}
		it.Close()
	}
	all := slices.SortedFunc(maps.Keys(found), func(x, y string) int {
		return cmp.Or(cmp.Compare(found[y], found[x]), cmp.Compare(x, y))
	})
	return all[:min(limit, len(all))], nil
}
