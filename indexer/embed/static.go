package embed

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/deskhand/deskhand/indexer/language"
)

// Static is a local embedding model with one vector per token. The vector of some text
// is the sum over its tokens of (1 + ln count) * E[token], scaled to length 1. The
// length of a token's row represents its importance. The computation takes
// microseconds, so Static needs no cache, no batches and no second process.
//
// The last dimension of the rows is unused. In a question's vector, it is 0. In a
// document's vector, it lowers the similarity to questions: the other dimensions are
// scaled down, and the last one brings the vector back to length 1.
//
// A Static may be used concurrently.
type Static struct {
	data       []byte
	name       string
	dimensions int
	vocabulary Vocabulary
	scales     []byte          // f32 per row
	rows       []byte          // 4 bits per number
	languages  []language.Code // that the model was trained on besides English
	scratch    sync.Pool
}

const (
	// maxTextBytes is the maximum number of bytes that are read when a vector is
	// computed.
	maxTextBytes = 64 << 10
	// A chunk's vector is computed from its headings and the first 300 words of its
	// body, which gave the best results. The body is also truncated to 8 KiB, which
	// is about four times the usual length of 300 words.
	maxBodyWords = 300
	maxBodyBytes = 8 << 10
	// headingShare is the weight of the headings' vector, and leadShare is the weight
	// of the lead's vector. Both are added to the vector of the whole document. The
	// lead is the first leadWords words of prose in the body. A section usually states
	// its topic early, in a sentence. The tables or examples after it have more words
	// but say less (docs/ranking.md).
	headingShare = 1
	leadShare    = 0.5
	leadWords    = 30
	// A section with almost no text below its heading is similar to every question that
	// contains one of its words, but answers none of them. The same applies to a
	// section that has only a table or code. The similarity of a document with n words
	// of prose is therefore multiplied by (n + leastNear*halfNear) / (n + halfNear):
	// 0.2 with no prose, 0.8 with 18 words and 0.95 with 90. In combination with the
	// keyword ranking, this improved NDCG@5 by 0.02 to 0.03 on four sets, for any
	// halfNear from 5 to 8.
	halfNear  = 6
	leastNear = 0.2
)

// Name identifies the weights. Models with equal names return equal vectors.
func (m *Static) Name() string { return m.name }

// Dimensions returns the length of every vector.
func (m *Static) Dimensions() int { return m.dimensions }

// Vocabulary returns the model's vocabulary.
func (m *Static) Vocabulary() *Vocabulary { return &m.vocabulary }

// Speaks reports whether the model was trained on texts in a language. In others, it
// recognizes only names and code.
func (m *Static) Speaks(c language.Code) bool {
	return c == language.English || slices.Contains(m.languages, c)
}

// Documents returns the vectors of docs. Each has length 1, or is all zeros if the
// document has no known word. It returns an error only if ctx is cancelled.
func (m *Static) Documents(ctx context.Context, docs []Document) ([][]float32, error) {
	vectors := make([][]float32, len(docs))
	all := make([]float32, len(docs)*m.dimensions)
	for i := range docs {
		if i%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		vectors[i] = all[i*m.dimensions : (i+1)*m.dimensions : (i+1)*m.dimensions]
		m.document(vectors[i], &docs[i])
	}
	return vectors, nil
}

// Query returns the vector of a question. It never fails.
func (m *Static) Query(_ context.Context, text string) ([]float32, error) { return m.Embed(text), nil }

// Embed returns the vector of text. It has length 1, or is all zeros if text has no
// known word. Embed reads only the first 64 KiB of text.
func (m *Static) Embed(text string) []float32 {
	b := m.bag()
	defer m.put(b)
	b.read(cut(text, maxTextBytes))
	vector := make([]float32, m.dimensions)
	b.sum(vector)
	return vector
}

// Row copies the vector of a row into vector, which must have Dimensions() elements.
// row must be in [0, Vocabulary().Len()).
func (m *Static) Row(row int, vector []float32) {
	clear(vector)
	addRow(vector, m.row(row), m.scale(row))
}

func (m *Static) document(vector []float32, d *Document) {
	b := m.bag()
	defer m.put(b)
	head, lead := b.head[:m.dimensions], b.lead[:m.dimensions]
	for _, part := range [...]string{d.Title, d.Breadcrumb, d.Heading} {
		b.read(cut(part, maxBodyBytes))
	}
	b.sum(head)
	body := firstWords(d.Body, maxBodyWords, maxBodyBytes)
	b.read(body)
	b.sum(vector)
	words := 0
	b.text = b.text[:0]
	eachProse(body, func(word string, n int) {
		if words < leadWords {
			b.text = append(append(b.text, word...), ' ')
		}
		words += n
	})
	b.clear()
	b.read(string(b.text))
	b.sum(lead)
	for i := range vector {
		vector[i] += float32(headingShare*head[i]) + float32(leadShare*lead[i]) // not fused, so that all machines compute the same result
	}
	if !normalise(vector) {
		return
	}
	near := ProseShare(words)
	for i := range vector {
		vector[i] *= float32(near)
	}
	vector[len(vector)-1] = float32(math.Sqrt(1 - near*near))
}

func (m *Static) scale(row int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(m.scales[4*row:]))
}

func (m *Static) row(row int) []byte {
	half := m.dimensions / 2
	return m.rows[row*half : (row+1)*half]
}

// bag counts the tokens in some text. It keeps the tokens in the order of their
// first occurrence, so that floating-point sums are reproducible.
type bag struct {
	model  *Static
	counts []uint16 // by row
	seen   []uint16 // rows with a count above 0
	rows   []uint16
	head   []float32
	lead   []float32
	text   []byte // text of the lead
	count  func(word []byte, joined bool)
}

func (m *Static) bag() *bag {
	if b, ok := m.scratch.Get().(*bag); ok {
		return b
	}
	b := &bag{model: m, counts: make([]uint16, m.vocabulary.rows), head: make([]float32, m.dimensions), lead: make([]float32, m.dimensions)}
	b.count = func(word []byte, joined bool) {
		b.rows = m.vocabulary.AppendWord(b.rows[:0], word, joined)
		for _, row := range b.rows {
			if b.counts[row] == 0 {
				b.seen = append(b.seen, row)
			}
			if b.counts[row] < math.MaxUint16 {
				b.counts[row]++
			}
		}
	}
	return b
}

func (m *Static) put(b *bag) {
	b.clear()
	m.scratch.Put(b)
}

// clear resets the bag.
func (b *bag) clear() {
	for _, row := range b.seen {
		b.counts[row] = 0
	}
	b.seen = b.seen[:0]
}

func (b *bag) read(text string) { Words(text, b.count) }

// sum writes the weighted sum of all counted tokens to vector, scaled to length 1. If
// no tokens were counted, vector is all zeros.
func (b *bag) sum(vector []float32) {
	clear(vector)
	for _, row := range b.seen {
		addRow(vector, b.model.row(int(row)), Weight(int(b.counts[row]))*b.model.scale(int(row)))
	}
	vector[len(vector)-1] = 0
	normalise(vector)
}

// Weight returns the weight of a token that occurs count times. It is 1 + ln count.
func Weight(count int) float32 {
	if count < len(weights) {
		return weights[count]
	}
	return 1 + float32(math.Log(float64(count)))
}

var weights = func() (w [64]float32) {
	for n := 1; n < len(w); n++ {
		w[n] = 1 + float32(math.Log(float64(n)))
	}
	return w
}()

// normalise scales v to length 1. If v is all zeros, it is unchanged and ok is
// false.
func normalise(v []float32) (ok bool) {
	square := 0.0
	for _, x := range v {
		square += float64(x * x)
	}
	if square == 0 {
		return false
	}
	f := float32(1 / math.Sqrt(square))
	for i := range v {
		v[i] *= f
	}
	return true
}

// firstWords returns the given number of words at the start of text, but at most the
// given number of bytes.
func firstWords(text string, words, bytes int) string {
	text = cut(text, bytes)
	in := false
	for i := 0; i < len(text); i++ {
		space := isSpace(text[i])
		if in && space {
			if words--; words == 0 {
				return text[:i]
			}
		}
		in = !space
	}
	return text
}

// cut truncates text to at most n bytes, without splitting a rune.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// Knows reports whether a word has a vector of its own. The vectors of other words are
// built from their pieces, and say little about misspelt words.
func (m *Static) Knows(word string) bool { return m.vocabulary.Row(strings.ToLower(word)) >= 0 }
