package search

import (
	"bytes"
	"container/list"
	"hash/maphash"
	"slices"
	"sync"
	"unsafe"

	"github.com/deskhand/deskhand/indexer/embed"
)

// reading is what the close reading of a text finds that does not depend on the question.
// It does not change.
type reading struct {
	model  *embed.Static
	name   [3][]byte // heading, title and breadcrumb
	packed []byte    // the text, as the artifact has it

	tokens        []uint16  // rows of the model: of the heading, the title, the breadcrumb and the text
	heading, head tokenSpan // head is the heading, the title and the breadcrumb
	headSquare    float64   // the square of the sum of the head's rows
	rows          []closeRow
	body          []tokenCount // the tokens of the rows, each once
	bytes         int          // of the text, without its heading
}

// tokenSpan is a part of reading.tokens.
type tokenSpan struct{ from, to int32 }

func (s tokenSpan) len() int { return int(s.to - s.from) }

// closeRow is a paragraph, a list item or a row of a table.
type closeRow struct {
	tokens   tokenSpan
	from, to int32 // in the text
	prose    int32 // words
	// The sum of the rows of its tokens, multiplied with itself and with that of the head.
	square, withHead float64
}

// tokenCount is how often a text has a token.
type tokenCount struct{ row, times uint16 }

// is reports whether r is the reading of this text.
func (r *reading) is(model *embed.Static, name [3][]byte, packed []byte) bool {
	return r.model == model && slices.EqualFunc(r.name[:], name[:], bytes.Equal) && bytes.Equal(r.packed, packed)
}

// size returns how many bytes a reading takes.
func (r *reading) size() int {
	n := int(unsafe.Sizeof(*r)) + len(r.packed) + 2*len(r.tokens) + 4*len(r.body) + len(r.rows)*int(unsafe.Sizeof(closeRow{}))
	for _, s := range r.name {
		n += len(s)
	}
	return n
}

// take takes a text apart, whose packed form is given too.
func (c *closeup) take(name [3][]byte, text, packed []byte) *reading {
	t := &reading{model: c.model, packed: bytes.Clone(packed)}
	for i, s := range name {
		t.name[i] = bytes.Clone(s) // it is a part of the artifact, which may be closed
	}
	c.tokens = c.tokens[:0]
	read := func(s string) tokenSpan {
		from := len(c.tokens)
		c.tokens = c.model.AppendTokens(c.tokens, s)
		return tokenSpan{int32(from), int32(len(c.tokens))}
	}
	heading := string(name[0])
	t.heading = read(heading)
	read(string(name[1]))
	t.head = tokenSpan{t.heading.from, read(string(name[2])).to}
	before := headingEnd(text, heading)
	t.bytes = len(text) - before
	body := string(cutText(text[before:], maxCloseUp))
	eachRow(body, func(from, to int) {
		if tokens := read(body[from:to]); tokens.to > tokens.from {
			t.rows = append(t.rows, closeRow{tokens: tokens, from: int32(before + from), to: int32(before + to), prose: int32(embed.ProseWords(body[from:to]))})
		}
	})
	t.tokens = slices.Clone(c.tokens)
	t.body = c.countEach(t.tokens[t.head.to:])
	c.head, c.line = resized(c.head, c.model.Dimensions()), resized(c.line, c.model.Dimensions())
	c.sum(c.head, t.of(t.head))
	t.headSquare, _ = products(c.head, c.head)
	for i := range t.rows {
		row := &t.rows[i]
		c.sum(c.line, t.of(row.tokens))
		row.square, row.withHead = products(c.line, c.head)
	}
	return t
}

// countEach returns the tokens, each once, with how often they occur.
func (c *closeup) countEach(tokens []uint16) []tokenCount {
	different := 0
	for _, row := range tokens {
		if c.counted[row]++; c.counted[row] == 1 {
			different++
		}
	}
	counts := make([]tokenCount, 0, different)
	for _, row := range tokens {
		if n := c.counted[row]; n > 0 {
			counts = append(counts, tokenCount{row, n})
			c.counted[row] = 0
		}
	}
	return counts
}

// of returns some of the tokens.
func (r *reading) of(s tokenSpan) []uint16 { return r.tokens[s.from:s.to] }

// sum adds the rows of tokens.
func (c *closeup) sum(into []float32, tokens []uint16) {
	clear(into)
	for _, row := range tokens {
		c.model.AddRow(into, int(row), 1)
	}
	into[len(into)-1] = 0
}

// products returns the product of a with itself and with b.
func products(a, b []float32) (square, both float64) {
	var x, y [4]float32 // four, so that one addition need not wait for the one before
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		p, q := (*[4]float32)(a[i:]), (*[4]float32)(b[i:])
		x[0] += float32(p[0] * p[0]) // not fused, so that all machines agree
		x[1] += float32(p[1] * p[1])
		x[2] += float32(p[2] * p[2])
		x[3] += float32(p[3] * p[3])
		y[0] += float32(p[0] * q[0])
		y[1] += float32(p[1] * q[1])
		y[2] += float32(p[2] * q[2])
		y[3] += float32(p[3] * q[3])
	}
	for ; i < len(a); i++ {
		x[0] += float32(a[i] * a[i])
		y[0] += float32(a[i] * b[i])
	}
	return float64(x[0]+x[1]) + float64(x[2]+x[3]), float64(y[0]+y[1]) + float64(y[2]+y[3])
}

// readings are the last readings of this process, by their texts, so that versions and
// rebuilt indexes share them. Questions of one task often have the same candidates.
var readings = readingCache{most: 4 << 20}

// maxReading is the size of a reading that is not kept, in bytes.
const maxReading = 32 << 10

// readingCache keeps the readings that were used last. It may be used concurrently.
type readingCache struct {
	most int // bytes

	mu    sync.Mutex
	by    map[uint64]*list.Element // of *reading
	used  list.List                // the last used is in front
	bytes int
}

var readingSeed = maphash.MakeSeed()

func readingKey(name [3][]byte, packed []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(readingSeed)
	for _, s := range name {
		h.Write(s)
		h.WriteByte(0)
	}
	h.Write(packed)
	return h.Sum64()
}

// get returns the reading of a text, or nil.
func (c *readingCache) get(model *embed.Static, name [3][]byte, packed []byte) *reading {
	key := readingKey(name, packed)
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.by[key]
	if e == nil {
		return nil
	}
	r := e.Value.(*reading)
	if !r.is(model, name, packed) {
		return nil
	}
	c.used.MoveToFront(e)
	return r
}

// put adds a reading, and drops those that were not used for the longest time.
func (c *readingCache) put(r *reading) {
	if r.size() > maxReading {
		return
	}
	key := readingKey(r.name, r.packed)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[uint64]*list.Element{}
	}
	if e := c.by[key]; e != nil {
		c.drop(key, e)
	}
	c.by[key] = c.used.PushFront(r)
	c.bytes += r.size()
	for c.bytes > c.most {
		last := c.used.Back()
		old := last.Value.(*reading)
		c.drop(readingKey(old.name, old.packed), last)
	}
}

func (c *readingCache) drop(key uint64, e *list.Element) {
	c.bytes -= c.used.Remove(e).(*reading).size()
	delete(c.by, key)
}
