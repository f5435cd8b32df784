package search

import (
	"math"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/ranker"
)

// bins are the steps in which a cosine of 0 to 1 is looked up.
const bins = 32

// kernelOf is what a cosine counts around each of ranker.Kernels.
var kernelOf = func() (t [bins + 1][len(ranker.Kernels)]float32) {
	for b := range t {
		for k, middle := range ranker.Kernels {
			width := 0.1
			if middle == 1 {
				width = 0.02
			}
			far := (float64(b)/bins - middle) / width
			t[b][k] = float32(math.Exp(-far * far / 2))
		}
	}
	return t
}()

// proseShares is embed.ProseShare, as far as it differs.
var proseShares = func() (t [256]float64) {
	for n := range t {
		t[n] = embed.ProseShare(n)
	}
	return t
}()

func binOf(cosine float32) int { return max(0, min(bins, int(cosine*bins+0.5))) }

// inputs are the ranker's of one candidate, but for those that need others of the
// pool. row is the place of its best row, -1 for none.
func (c *closeup) inputs(p *ranked, t *closeText) (in []float32, row int) {
	if t.inputs == nil {
		t.inputs = slices.Clone(c.question[:])
		t.row = c.textInputs(t.inputs, t)
	}
	in = slices.Clone(t.inputs)
	in[ranker.InWords] = float32(p.evidence.Words)
	in[ranker.InMeaning] = float32(p.evidence.Meaning)
	in[ranker.InNear] = float32(p.evidence.Near)
	in[ranker.InPath] = float32(p.evidence.Path)
	in[ranker.InSum] = float32(p.score)
	return in, t.row
}

// textInputs are those that equal texts share.
func (c *closeup) textInputs(in []float32, t *closeText) (row int) {
	set := func(at int, x float64) { in[at] = float32(x) }
	row, cosine, headCosine := c.bestRow(t)
	set(ranker.InRow, cosine)
	set(ranker.InRowScaled, scale(cosine, c.run.spread.Mean, c.run.spread.Max))
	set(ranker.InHeadCosine, headCosine)
	c.wordInputs(in, t, row)
	tokens := t.head.len()
	for _, r := range t.rows {
		tokens += r.tokens.len()
	}
	if row >= 0 {
		set(ranker.InRowAt, float64(row)/float64(len(t.rows)))
	}
	set(ranker.InTokens, math.Log1p(float64(tokens))/6)
	set(ranker.InRows, math.Log1p(float64(len(t.rows)))/4)
	set(ranker.InBytes, math.Log1p(float64(t.bytes))/8)
	set(ranker.InLevel, float64(t.level)/6)
	return row
}

// questionInputs are the same for all candidates of an index.
func (c *closeup) questionInputs(in []float32) {
	r := c.run
	clear(in)
	in[ranker.InNames] = float32(names(r.meant))
	in[ranker.InUnits] = float32(math.Log1p(float64(len(c.units))) / 3)
	in[ranker.InFound] = float32(r.best / max(r.total, 1e-9))
	in[ranker.InAhead] = float32(r.ahead)
	in[ranker.InNearest] = float32(r.nearest)
	if strings.ContainsAny(r.meant, clauseEnds) {
		in[ranker.InAsked] = 1
	}
}

// wordInputs set the words of the question against those of the text.
func (c *closeup) wordInputs(in []float32, t *closeText, row int) {
	for i := range c.nearest {
		c.nearest[i] = resized(c.nearest[i], len(c.units))
		clear(c.nearest[i])
	}
	heading, head, body, inRow, text := c.nearest[0], c.nearest[1], c.nearest[2], c.nearest[3], c.nearest[4]
	c.raise(heading, c.span(t, t.heading))
	c.raise(head, c.span(t, t.head))
	if row >= 0 {
		c.raise(inRow, c.span(t, t.rows[row].tokens))
	}
	c.bins = resized(c.bins, len(c.units)*(bins+1))
	clear(c.bins)
	for _, number := range c.span(t, t.head) {
		c.count(number, 1)
	}
	for _, one := range t.body {
		number := c.place[one.row] - 1
		c.raiseTo(body, number)
		c.count(number, float32(one.times))
	}
	for u := range text {
		text[u] = max(head[u], body[u])
		inRow[u] = max(head[u], inRow[u])
	}
	in[ranker.InHeading], in[ranker.InHead] = c.share(heading), c.share(head)
	in[ranker.InBody], in[ranker.InText], in[ranker.InRowWords] = c.share(body), c.share(text), c.share(inRow)
	in[ranker.InTextMissed], in[ranker.InRowMissed] = c.missed(text), c.missed(inRow)
	c.kernels(in[ranker.InTextKernels:], text)
	c.kernels(in[ranker.InHeadKernels:], head)
	c.kernels(in[ranker.InRowKernels:], inRow)
	c.counts(in[ranker.InTextCounts:])
	in[ranker.InHeadingAsked] = c.asked(c.span(t, t.heading))
}

// raise raises the nearest of each unit to those of tokens.
func (c *closeup) raise(nearest []float32, tokens []int32) {
	for _, number := range tokens {
		c.raiseTo(nearest, number)
	}
}

// raiseTo raises the nearest of each unit to that of one token.
func (c *closeup) raiseTo(nearest []float32, number int32) {
	cosines := c.cosines[int(number)*len(nearest):][:len(nearest)]
	for u, x := range cosines {
		if x > nearest[u] {
			nearest[u] = x
		}
	}
}

// count counts a token by how near it is to each unit.
func (c *closeup) count(number int32, times float32) {
	n, all := len(c.units), c.bins
	for _, bin := range c.binned[int(number)*n:][:n] {
		all[bin] += times
		all = all[bins+1:]
	}
}

// share is the weighted average of the nearest of all units.
func (c *closeup) share(nearest []float32) float32 {
	sum := float32(0)
	for u, x := range nearest {
		sum += float32(c.units[u].weight * x)
	}
	return sum / max(c.total, 1e-9)
}

// missed is the share of the heaviest unit that has nothing near.
func (c *closeup) missed(nearest []float32) float32 {
	most := float32(0)
	for u, x := range nearest {
		most = max(most, float32(c.units[u].weight*(1-x)))
	}
	return most / max(c.total, 1e-9)
}

// kernels are the weighted units by how near the nearest is.
func (c *closeup) kernels(into, nearest []float32) {
	var sum [len(ranker.Kernels)]float32
	for u, x := range nearest {
		for k, y := range kernelOf[binOf(x)] {
			sum[k] += float32(c.units[u].weight * y)
		}
	}
	for k, x := range sum {
		into[k] = x / max(c.total, 1e-9)
	}
}

// counts are the weighted units by how many tokens are how near.
func (c *closeup) counts(into []float32) {
	var all [len(ranker.Kernels)]float64
	for u := range c.units {
		var sum [len(ranker.Kernels)]float32
		for b, n := range c.bins[u*(bins+1):][:bins+1] {
			if n > 0 {
				for k, y := range kernelOf[b] {
					sum[k] += float32(n * y)
				}
			}
		}
		for k, x := range sum {
			all[k] += float64(float64(c.units[u].weight) * math.Log1p(float64(x)))
		}
	}
	for k, x := range all {
		into[k] = float32(x / max(float64(c.total), 1e-9) / 3)
	}
}

// asked is how near the question's words are to tokens, on the weighted average.
func (c *closeup) asked(tokens []int32) float32 {
	sum, total, n := float32(0), float32(0), len(c.units)
	for _, number := range tokens {
		most := float32(0)
		for _, x := range c.cosines[int(number)*n:][:n] {
			most = max(most, x)
		}
		sum += float32(most * c.length[number])
		total += c.length[number]
	}
	return sum / max(total, 1e-9)
}
