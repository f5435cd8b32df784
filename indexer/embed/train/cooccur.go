package train

import (
	"math"
	"slices"
	"sync"
)

const (
	window = 6
	// nearest is the count for an adjacent word. A word that is d words further
	// away counts nearest/(1 + d/4). The counts are integers, because sums of
	// integers do not depend on the order.
	nearest = 420
	// subsample is the frequency above which some occurrences are skipped at
	// random.
	subsample = 1e-4
	// shift is subtracted from every PMI. contextPower flattens the context
	// frequencies. In a row with more than fullRow cells, cells with a count below rare
	// are treated as noise.
	shift        = 0.7
	contextPower = 0.75
	rare         = 0.6 * nearest
	fullRow      = 50
)

// sparse is a symmetric matrix stored by row.
type sparse struct {
	starts  []int // start of each row, and the end of the last one
	columns []uint16
	values  []float32
}

// cooccurrences returns the positive PMI (pointwise mutual information) of rows
// that occur near each other.
func (t *trainer) cooccurrences() sparse {
	counts := t.countNear()
	return ppmi(counts, t.vocabulary.Len())
}

// cell counts how often and how closely two rows occur together. The key of two rows
// is low<<16 | high.
type cell struct {
	key   uint32
	count uint32
}

// table is an open-addressed hash table of cells. A cell with count 0 is free.
type table struct {
	mu    sync.Mutex
	cells []cell
	used  int
}

const tables = 256 // few enough that each can have a buffer, and enough that each table fits in the cache

func (t *table) add(cells []cell) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range cells {
		if (t.used+1)*4 > len(t.cells)*3 {
			t.grow()
		}
		at := t.find(c.key)
		if t.cells[at].count == 0 {
			t.used++
		}
		t.cells[at] = cell{c.key, t.cells[at].count + c.count}
	}
}

func (t *table) find(key uint32) int {
	mask := uint32(len(t.cells) - 1)
	at := (key * 2654435769) >> 8 & mask
	for t.cells[at].count != 0 && t.cells[at].key != key {
		at = (at + 1) & mask
	}
	return int(at)
}

func (t *table) grow() {
	old := t.cells
	t.cells = make([]cell, max(1024, 2*len(old)))
	for _, c := range old {
		if c.count != 0 {
			t.cells[t.find(c.key)] = c
		}
	}
}

// countNear counts neighbours in the text of all pairs. If a document occurs
// several times, it is counted once.
func (t *trainer) countNear() []cell {
	keep := make([]float64, len(t.frequency))
	for i, n := range t.frequency {
		p := float64(n)/float64(max(t.report.Tokens, 1)) + 1e-12
		keep[i] = min(1, math.Sqrt(subsample/p)+subsample/p)
	}
	first := make([]bool, len(t.pairs))
	seen := map[uint32]bool{}
	for i, p := range t.pairs {
		first[i] = !seen[p.sameDocument]
		seen[p.sameDocument] = true
	}
	all := make([]table, tables)
	progress := t.counter("neighbours", (len(t.pairs)+4095)/4096)
	blocks(t.ctx, len(t.pairs), 4096, func(from, to int) {
		defer progress()
		n := newNear(all)
		for i := from; i < to; i++ {
			if first[i] {
				r := randomOf(t.Seed, uint64(i), 2)
				n.text = n.text[:0]
				for _, text := range [...][]uint16{t.texts[i].query, t.texts[i].document} {
					for _, row := range text {
						if r.chance(keep[row]) {
							n.text = append(n.text, row)
						}
					}
				}
				n.count()
			}
		}
		n.flush()
	})
	var cells []cell
	for i := range all {
		for _, c := range all[i].cells {
			if c.count != 0 {
				cells = append(cells, c)
			}
		}
		all[i].cells = nil
	}
	slices.SortFunc(cells, func(a, b cell) int { return int(int64(a.key) - int64(b.key)) })
	return cells
}

// near collects the cells from some of the pairs, by table.
type near struct {
	all     []table
	buffers [tables][]cell
	text    []uint16
}

const bufferCells = 1024

func newNear(all []table) *near { return &near{all: all} }

var nearness = func() (w [window]uint32) {
	for d := range w {
		w[d] = uint32(math.Round(nearest / (1 + 0.25*float64(d))))
	}
	return w
}()

func (n *near) count() {
	for i, a := range n.text {
		for d, b := range n.text[i+1 : min(len(n.text), i+1+window)] {
			if a == b {
				continue
			}
			key := uint32(min(a, b))<<16 | uint32(max(a, b))
			k := key * 2246822519 >> 24
			n.buffers[k] = append(n.buffers[k], cell{key, nearness[d]})
			if len(n.buffers[k]) == bufferCells {
				n.all[k].add(n.buffers[k])
				n.buffers[k] = n.buffers[k][:0]
			}
		}
	}
}

func (n *near) flush() {
	for k := range n.buffers {
		if len(n.buffers[k]) > 0 {
			n.all[k].add(n.buffers[k])
		}
	}
}

// ppmi computes the PMI of sorted cells. Each PMI is the mean of two values, one for
// each of the two rows as the context of the other.
func ppmi(cells []cell, rows int) sparse {
	sums, lengths := make([]float64, rows), make([]int, rows)
	for _, c := range cells {
		a, b := c.key>>16, c.key&0xffff
		sums[a] += float64(c.count)
		sums[b] += float64(c.count)
		lengths[a]++
		lengths[b]++
	}
	flat, total := make([]float64, rows), 0.0
	for i, s := range sums {
		flat[i] = math.Pow(s, contextPower)
		total += flat[i]
	}
	m := sparse{starts: make([]int, rows+1)}
	kept := cells[:0:0]
	values := []float32{}
	for _, c := range cells {
		a, b := int(c.key>>16), int(c.key&0xffff)
		if float64(c.count) < rare && (lengths[a] > fullRow || lengths[b] > fullRow) {
			continue
		}
		n := float64(c.count) * total
		pmi := 0.5*(math.Log(n/(sums[a]*flat[b]))+math.Log(n/(sums[b]*flat[a]))) - shift
		if pmi > 0 {
			kept = append(kept, c)
			values = append(values, float32(pmi))
			m.starts[a+1]++
			m.starts[b+1]++
		}
	}
	for i := range rows {
		m.starts[i+1] += m.starts[i]
	}
	m.columns, m.values = make([]uint16, 2*len(kept)), make([]float32, 2*len(kept))
	next := slices.Clone(m.starts)
	put := func(row, column uint32, value float32) {
		m.columns[next[row]], m.values[next[row]] = uint16(column), value
		next[row]++
	}
	for i, c := range kept {
		put(c.key>>16, c.key&0xffff, values[i])
		put(c.key&0xffff, c.key>>16, values[i])
	}
	return m
}
