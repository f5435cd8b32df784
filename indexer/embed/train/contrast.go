package train

import (
	"math"
	"slices"

	"github.com/deskhand/deskhand/indexer/embed"
)

// Learning. In a batch of n pairs, every query should be nearer to its document
// than to the n-1 other documents, and every document should be nearer to its
// query than to the other queries. The loss is InfoNCE in both directions, on the
// cosine times sharpness. Each step changes only the rows that occur in the batch.
// It uses Adam, with a separate step count for each row.
const (
	sharpness = 12
	warmUp    = 100 // steps until the learning rate is reached, but at most a tenth of all steps
	endRate   = 0.02
)

type learner struct {
	*trainer
	phrases      [][][]uint16 // by language
	first        []float32    // first and second are the moments of Adam
	second       []float32
	steps        []int32
	items        []item // queries of the batch, then its documents
	vectors      []float32
	lengths      []float32
	toward       []float32 // gradients with respect to the vectors
	similar      []float32 // n by n matrix of similarities
	rowSums      []float32
	columnSums   []float32
	partialSums  []float32
	counts       []int32  // by row, all zero between steps
	touchedRows  []uint16 // in order of first occurrence in the items
	starts       []int32  // index of each touched row's first use, and the number of uses
	uses         []use
	step         int
	total        int
	rate         float32
	sameQuery    []uint32
	sameDocument []uint32
	pages        []uint64
	wide         []bool
}

func (t *trainer) learn() error {
	l := t.learner()
	epochs := make([][][]int32, t.Epochs)
	for e := range epochs {
		epochs[e] = t.batches(e)
		l.total += len(epochs[e])
	}
	for _, batches := range epochs {
		for _, b := range batches {
			if t.ctx.Err() != nil {
				return nil
			}
			l.learn(b)
			l.step++
			t.Progress("learn", l.step, l.total)
		}
	}
	return nil
}

func (t *trainer) learner() *learner {
	rows := t.vocabulary.Len()
	size := rows * t.Dimensions
	l := &learner{
		trainer: t, first: make([]float32, size), second: make([]float32, size), steps: make([]int32, rows), counts: make([]int32, rows), items: make([]item, 2*batchPairs),
		vectors: make([]float32, 2*batchPairs*t.Dimensions), toward: make([]float32, 2*batchPairs*t.Dimensions),
		lengths: make([]float32, 2*batchPairs), similar: make([]float32, batchPairs*batchPairs),
		rowSums: make([]float32, batchPairs), columnSums: make([]float32, batchPairs),
		partialSums: make([]float32, batchPairs*batchPairs/sumBlock),
		sameQuery:   make([]uint32, batchPairs), sameDocument: make([]uint32, batchPairs),
		pages: make([]uint64, batchPairs), wide: make([]bool, batchPairs),
	}
	l.phrases = [][][]uint16{t.rowsOfAll(phrases)}
	for _, language := range t.others {
		l.phrases = append(l.phrases, t.rowsOfAll(openings[language]))
	}
	return l
}

// rowsOfAll returns the rows of the words of each text.
func (t *trainer) rowsOfAll(texts []string) [][]uint16 {
	var all [][]uint16
	for _, text := range texts {
		var rows []uint16
		embed.Words(text, func(word []byte, joined bool) { rows = t.vocabulary.AppendWord(rows, word, joined) })
		all = append(all, rows)
	}
	return all
}

// learn performs one step. If the number of pairs is not a multiple of 4, it drops the
// last ones.
func (l *learner) learn(batch []int32) {
	n := len(batch) &^ 3
	progress := float64(l.step) / float64(l.total)
	l.rate = float32(l.Rate * min(1, float64(l.step+1)/min(warmUp, 1+float64(l.total)/10)) * max(endRate, 1-progress))
	l.gather(batch[:n])
	l.compare(n)
	l.differences(n)
	l.move(n)
}

// gather fills the items of a batch and computes their vectors.
func (l *learner) gather(batch []int32) {
	n := len(batch)
	blocks(l.ctx, n, 32, func(from, to int) {
		counts := make([]uint8, l.vocabulary.Len())
		for i := from; i < to; i++ {
			p := &l.pairs[batch[i]]
			l.sameQuery[i], l.sameDocument[i] = p.sameQuery, p.sameDocument
			l.pages[i], l.wide[i] = uint64(p.source)<<32|uint64(p.page), p.kind.wide()
			l.pair(int(batch[i]), counts, &l.items[i], &l.items[n+i])
			l.sum(i)
			l.sum(n + i)
		}
	})
}

// sum computes the vector of item i, scaled to length 1.
func (l *learner) sum(i int) {
	v := l.vector(i)
	clear(v)
	for k, row := range l.items[i].rows {
		addScaled(v, l.row(int(row)), l.items[i].weights[k])
	}
	n := length(v)
	l.lengths[i] = float32(n)
	if n > 0 {
		scaleTo(v, 1)
	}
}

// sumBlock is the number of rows of similarities that are summed together. Their
// sums are then added to those of the other blocks.
const sumBlock = 16

// compare sets similar to exp(sharpness*(cosine-1)), or to 0 for false negatives, and
// computes the sums of its rows and columns. A cosine is at most 1, so there is no
// need to find the maximum first.
func (l *learner) compare(n int) {
	documents := l.vectors[n*l.Dimensions : 2*n*l.Dimensions]
	blocks(l.ctx, n, sumBlock, func(from, to int) {
		columns := l.partialSums[from/sumBlock*batchPairs:][:n]
		clear(columns)
		var four [4]float32
		for j := 0; j < n; j += 4 { // four documents at a time stay in the L1 cache
			for i := from; i < to; i++ {
				dot4(l.vector(i), documents[j*l.Dimensions:], &four)
				copy(l.similar[i*n+j:], four[:])
			}
		}
		for i := from; i < to; i++ {
			l.rowSums[i] = l.exponentials(l.similar[i*n:(i+1)*n], columns, i)
		}
	})
	clear(l.columnSums[:n])
	for b := range (n + sumBlock - 1) / sumBlock {
		for j, x := range l.partialSums[b*batchPairs:][:n] {
			l.columnSums[j] += x
		}
	}
}

// exponentials replaces row i with its exponentials and returns their sum. It
// also adds each exponential to columns.
func (l *learner) exponentials(row, columns []float32, i int) (sum float32) {
	query, document, page, wide := l.sameQuery[i], l.sameDocument[i], l.pages[i], l.wide[i]
	sameQuery, sameDocument, pages := l.sameQuery[:len(row)], l.sameDocument[:len(row)], l.pages[:len(row)]
	columns = columns[:len(row)]
	for j, x := range row {
		if (query == sameQuery[j] || document == sameDocument[j] || page == pages[j] && (wide || l.wide[j])) && i != j {
			row[j] = 0
			continue
		}
		e := exp(sharpness * (x - 1))
		row[j] = e
		columns[j] += e
		sum += e
	}
	return sum
}

// exp returns e^x for -87 < x < 1 with about six correct digits.
func exp(x float32) float32 {
	const log2e = 1.44269504
	z := float32(x * log2e)
	whole := int32(z)
	if z < 0 {
		whole--
	}
	f := float32(z-float32(whole)) * 0.69314718 // in [0, ln 2]
	// The first seven terms of the series of e^f.
	p := float32(f*(1.0/5040)) + 1.0/720
	p = float32(f*p) + 1.0/120
	p = float32(f*p) + 1.0/24
	p = float32(f*p) + 1.0/6
	p = float32(f*p) + 0.5
	p = float32(f*p) + 1
	p = float32(f*p) + 1
	return p * math.Float32frombits(uint32(whole+127)<<23)
}

// differences replaces the values in similar with the gradient of the loss with
// respect to the cosines. It also sets toward to the gradient with respect to the
// vectors.
func (l *learner) differences(n int) {
	share := float32(sharpness) / float32(2*n)
	blocks(l.ctx, n, 16, func(from, to int) {
		for i := from; i < to; i++ {
			row, one := l.similar[i*n:(i+1)*n], 1/l.rowSums[i]
			columns := l.columnSums[:len(row)]
			for j, e := range row {
				row[j] = share * (float32(e*one) + float32(e/columns[j]))
			}
			row[i] -= 2 * share
		}
	})
	blocks(l.ctx, n, 16, func(from, to int) {
		var four [4]float32
		clear(l.toward[from*l.Dimensions : to*l.Dimensions])
		for j := 0; j < n; j += 4 {
			for i := from; i < to; i++ {
				copy(four[:], l.similar[i*n+j:])
				addScaled4(l.towardOf(i), l.vectors[(n+j)*l.Dimensions:], &four)
			}
		}
		l.unscale(from, to)
	})
	blocks(l.ctx, n, 16, func(from, to int) {
		var four [4]float32
		clear(l.toward[(n+from)*l.Dimensions : (n+to)*l.Dimensions])
		for i := 0; i < n; i += 4 {
			for j := from; j < to; j++ {
				for k := range four {
					four[k] = l.similar[(i+k)*n+j]
				}
				addScaled4(l.towardOf(n+j), l.vectors[i*l.Dimensions:], &four)
			}
		}
		l.unscale(n+from, n+to)
	})
}

// towardOf returns the gradient of item i.
func (l *learner) towardOf(i int) []float32 {
	return l.toward[i*l.Dimensions : (i+1)*l.Dimensions]
}

// unscale converts the gradients of some items. The gradients with respect to the
// scaled vectors become gradients with respect to the unscaled vectors.
func (l *learner) unscale(from, to int) {
	for i := from; i < to; i++ {
		g, v := l.towardOf(i), l.vector(i)
		if l.lengths[i] == 0 {
			clear(g)
			continue
		}
		var along float32
		for k, x := range v {
			along += float32(x * g[k])
		}
		for k, x := range v {
			g[k] = (g[k] - float32(along*x)) / l.lengths[i]
		}
	}
}

// use records that an item contains a row, with the row's weight.
type use struct {
	item   int32
	weight float32
}

// findUses lists, for each touched row that may change, the items that contain it, in
// item order.
func (l *learner) findUses(n int) {
	l.touchedRows = l.touchedRows[:0]
	for _, it := range l.items[:2*n] {
		for _, r := range it.rows {
			if int(r) < l.fixed {
				continue
			}
			if l.counts[r] == 0 {
				l.touchedRows = append(l.touchedRows, r)
			}
			l.counts[r]++
		}
	}
	total := int32(0)
	l.starts = l.starts[:0]
	for _, r := range l.touchedRows {
		l.starts = append(l.starts, total)
		total, l.counts[r] = total+l.counts[r], total
	}
	l.starts = append(l.starts, total)
	l.uses = slices.Grow(l.uses[:0], int(total))[:total]
	for i, it := range l.items[:2*n] {
		for k, r := range it.rows {
			if int(r) < l.fixed {
				continue
			}
			l.uses[l.counts[r]] = use{int32(i), it.weights[k]}
			l.counts[r]++
		}
	}
	for _, r := range l.touchedRows {
		l.counts[r] = 0
	}
}

// move updates the rows in the batch. Each row is handled by a single core, so that
// every gradient is summed in item order.
func (l *learner) move(n int) {
	l.findUses(n)
	blocks(l.ctx, len(l.touchedRows), 64, func(from, to int) {
		gradient := make([]float32, l.Dimensions)
		for k := from; k < to; k++ {
			clear(gradient)
			for _, u := range l.uses[l.starts[k]:l.starts[k+1]] {
				addScaled(gradient, l.towardOf(int(u.item)), u.weight)
			}
			l.adam(int(l.touchedRows[k]), gradient)
		}
	})
}

// Adam's decay rates, for the mean and the mean square.
const (
	keepFirst  = 0.9
	keepSecond = 0.99
)

// adam moves a row against its gradient.
func (l *learner) adam(row int, g []float32) {
	from, to := row*l.Dimensions, (row+1)*l.Dimensions
	w, a, b := l.weights[from:to], l.first[from:to], l.second[from:to]
	g, a, b = g[:len(w)], a[:len(w)], b[:len(w)]
	l.steps[row]++
	steps := float64(min(l.steps[row], 2000))
	first, second := l.rate/float32(1-math.Pow(keepFirst, steps)), 1/float32(1-math.Pow(keepSecond, steps))
	for i := range w {
		x := g[i]
		a[i] = float32(keepFirst*a[i]) + float32((1-keepFirst)*x)
		b[i] = float32(keepSecond*b[i]) + float32((1-keepSecond)*float32(x*x))
		w[i] -= float32(first*a[i]) / (float32(math.Sqrt(float64(float32(b[i]*second)))) + 1e-8)
	}
}
