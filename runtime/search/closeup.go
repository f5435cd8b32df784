package search

import (
	"math"
	"slices"
	"sync"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/ranker"
)

// closeup reads the texts of a pool token by token and sets each token against
// each of the question's. It is for one question at a time.
type closeup struct {
	run   *run
	model *embed.Static
	units []unit
	total float32 // sum of the units' weights
	// The tokens met are numbered as they come. place is that number and 1, by row
	// of the model, 0 for a token that was not met.
	place []int32
	rows  []uint16
	// The lengths of the rows of measured, by row of this model; 0 if not known.
	lengths  []float32
	measured *embed.Static
	// By number: the length of the row, its product with the question's vector, and
	// len(units) cosines.
	length, along, cosines []float32
	binned                 []uint8 // the bins of the cosines
	sequence               []int32 // numbers of the tokens of all texts, one after the other
	texts                  []closeText
	question               [ranker.Count]float32 // the inputs that all candidates share
	// Working memory.
	tokens  []uint16
	matrix  []byte
	scales  []float32
	out     []int32
	head    []float32 // a sum of rows
	line    []float32
	nearest [5][]float32
	bins    []float32 // of all units
	counted []uint16  // by row of the model; 0 between two texts
}

// unit is a token of the question. Its weight is its rarity times the length of
// its row.
type unit struct {
	row    int
	weight float32
}

// closeText is one candidate. Its tokens stand in closeup.sequence from base on.
type closeText struct {
	*reading
	from        *run
	base, level int
	// of is the candidate that has this text, itself or one before.
	of     int
	inputs []float32 // once they are known
	row    int
}

const (
	maxUnits = 48
	// maxCloseUp is how much of a text is read: most are shorter.
	maxCloseUp = 3 << 10
)

var closeups = sync.Pool{New: func() any { return new(closeup) }}

func (r *run) closeup(model *embed.Static) *closeup {
	c := closeups.Get().(*closeup)
	c.run, c.model = r, model
	if n := model.Vocabulary().Len(); len(c.place) < n {
		c.place, c.counted = make([]int32, n), make([]uint16, n)
	}
	if c.measured != model { // which is always the same in most processes
		c.lengths, c.measured = make([]float32, model.Vocabulary().Len()), model
	}
	c.units, c.rows, c.sequence, c.texts = c.units[:0], c.rows[:0], c.sequence[:0], c.texts[:0]
	c.readQuestion()
	return c
}

func (c *closeup) giveBack() {
	for _, row := range c.rows {
		c.place[row] = 0
	}
	c.run, c.model = nil, nil
	clear(c.texts) // they hold on to texts
	closeups.Put(c)
}

// readQuestion finds the question's tokens. A word that is not in the corpus is
// as rare as the rarest of the question's.
func (c *closeup) readQuestion() {
	r := c.run
	rarest := 0.0
	for _, w := range r.weights {
		rarest = max(rarest, w)
	}
	embed.Words(r.meant, func(word []byte, joined bool) {
		c.tokens = c.model.Vocabulary().AppendWord(c.tokens[:0], word, joined)
		weight := r.weights[r.analyzer.Stem(string(word))]
		if weight == 0 {
			weight = rarest
		}
		for _, row := range c.tokens {
			if len(c.units) < maxUnits && !slices.ContainsFunc(c.units, func(u unit) bool { return u.row == int(row) }) {
				c.units = append(c.units, unit{int(row), float32(weight) / float32(len(c.tokens))})
			}
		}
	})
}

// number appends the numbers of a text's tokens to the sequence.
func (c *closeup) number(rows []uint16) {
	for _, row := range rows {
		if c.place[row] == 0 {
			c.rows = append(c.rows, row)
			c.place[row] = int32(len(c.rows))
		}
		c.sequence = append(c.sequence, c.place[row]-1)
	}
}

// span returns the numbers of some of the tokens of a text.
func (c *closeup) span(t *closeText, s tokenSpan) []int32 {
	return c.sequence[t.base+int(s.from) : t.base+int(s.to)]
}

// readText takes apart the text of a candidate of r, unless that was done for a question
// before. r is c.run or has the same question, model and vector.
func (c *closeup) readText(r *run, p *ranked) error {
	names, err := r.reader.Names(p.chunk)
	if err != nil {
		return err
	}
	packed, err := r.pack(p)
	if err != nil {
		return err
	}
	name := [3][]byte{names.Heading, names.Title, names.Breadcrumb}
	// Versions of a section mostly have the same text, which is compared once.
	for i := range c.texts {
		if same := &c.texts[i]; same.of == i && (same.from == r || same.level == names.Level) && same.is(c.model, name, packed) {
			c.texts = append(c.texts, closeText{of: i})
			return nil
		}
	}
	text := readings.get(c.model, name, packed)
	if text == nil {
		if r.text, err = r.reader.UnpackText(r.text, packed); err != nil {
			return err
		}
		text = c.take(name, r.text, packed)
		readings.put(text)
	}
	c.texts = append(c.texts, closeText{reading: text, from: r, base: len(c.sequence), level: names.Level, of: len(c.texts)})
	c.number(text.tokens)
	return nil
}

// headingEnd is where the text begins behind its own heading.
func headingEnd(text []byte, heading string) int {
	at := 0
	for at < len(text) && (text[at] == '\n' || text[at] == ' ') {
		at++
	}
	if rest := text[at:]; len(rest) > len(heading) && string(rest[:len(heading)]) == heading && rest[len(heading)] == '\n' {
		return at + len(heading)
	}
	return 0
}

// A line of wrappedFrom bytes or more that goes on with a small letter was
// wrapped, up to maxRow bytes.
const (
	wrappedFrom = 60
	maxRow      = 600
)

// eachRow calls visit for each row of a text: a line, or several where a
// paragraph was wrapped.
func eachRow(text string, visit func(from, to int)) {
	for from, at := 0, 0; at < len(text); {
		end := at
		for end < len(text) && text[end] != '\n' {
			end++
		}
		next := end + 1
		if end-at < wrappedFrom || next >= len(text) || text[next] < 'a' || text[next] > 'z' || end-from >= maxRow {
			visit(from, end)
			from = next
		}
		at = next
	}
}

// compare finds the products of all tokens met with the question's vector, and
// the cosines with its tokens.
func (c *closeup) compare() {
	n, dimensions := len(c.rows), c.model.Dimensions()
	stride := (dimensions + artifact.RowAlign - 1) / artifact.RowAlign * artifact.RowAlign
	c.matrix = resized(c.matrix, n*stride)
	c.scales, c.length, c.along = resized(c.scales, n), resized(c.length, n), resized(c.along, n)
	c.cosines, c.binned, c.out = resized(c.cosines, n*len(c.units)), resized(c.binned, n*len(c.units)), resized(c.out, n)
	for i, row := range c.rows {
		numbers := c.matrix[i*stride : (i+1)*stride]
		clear(numbers[dimensions:])
		c.scales[i], c.length[i] = c.numbers(int(row), numbers[:dimensions])
	}
	query, numbers := make([]int16, stride), make([]byte, dimensions)
	c.total = 0
	for u := range c.units {
		unit := &c.units[u]
		scale, length := c.numbers(unit.row, numbers)
		for i, x := range numbers {
			query[i] = int16(int8(x))
		}
		unit.weight *= length
		c.total += unit.weight
		artifact.Dots(c.out, query, c.matrix)
		for i, x := range c.out {
			cosine := float32(0)
			if both := c.length[i] * length; both > 0 {
				cosine = float32(x) * scale * c.scales[i] / both
			}
			c.cosines[i*len(c.units)+u], c.binned[i*len(c.units)+u] = cosine, uint8(binOf(cosine))
		}
	}
	c.questionInputs(c.question[:])
	scale := roundedTo(query, c.run.vector)
	artifact.Dots(c.out, query, c.matrix)
	for i, x := range c.out {
		c.along[i] = float32(x) * scale * c.scales[i]
	}
}

// numbers writes a row of the model, without its last number, which is not used.
func (c *closeup) numbers(row int, numbers []byte) (scale, length float32) {
	scale = c.model.Numbers(row, numbers)
	numbers[len(numbers)-1] = 0
	known := &c.lengths[row]
	if *known == 0 {
		square := 0
		for _, x := range numbers {
			square += int(int8(x)) * int(int8(x))
		}
		*known = float32(math.Sqrt(float64(square))) * scale
	}
	return scale, *known
}

// roundedTo writes a vector in whole numbers to query; scale times these is the
// vector. Their sums over a row of 4 bits fit 32.
func roundedTo(query []int16, vector []float32) (scale float32) {
	const largest = 1 << 14
	most := float32(0)
	for _, x := range vector {
		most = max(most, x, -x)
	}
	clear(query)
	if most == 0 {
		return 0
	}
	for i, x := range vector {
		query[i] = int16(math.RoundToEven(float64(x) / float64(most) * largest))
	}
	return most / largest
}

// resized is s with n elements of any value.
func resized[T any](s []T, n int) []T {
	return slices.Grow(s[:0], n)[:n]
}

// alongOf adds the products of tokens with the question's vector.
func (c *closeup) alongOf(tokens []int32) (along float64) {
	for _, number := range tokens {
		along += float64(c.along[number])
	}
	return along
}
