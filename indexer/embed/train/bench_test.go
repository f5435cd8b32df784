package train

import (
	"fmt"
	"testing"

	"github.com/deskhand/deskhand/indexer/embed"
)

// BenchmarkStep is one batch of learning at the size of the shipped model: of
// 1,024 pairs, 31,000 rows and 256 dimensions.
func BenchmarkStep(b *testing.B) {
	const rows = 31000
	tokens := make([]string, rows)
	for i := range tokens {
		tokens[i] = fmt.Sprint("t", i)
	}
	vocabulary, err := embed.NewVocabulary(tokens)
	if err != nil {
		b.Fatal(err)
	}
	t := &trainer{Options: Options{Dirs: []string{"a"}, Dimensions: 256, Rate: 0.003, Epochs: 1}, ctx: b.Context(), vocabulary: vocabulary}
	t.weights = gaussian(rows*256, 1)
	r := randomOf(1)
	text := func(n int) []uint16 {
		out := make([]uint16, n)
		for i := range out {
			out[i] = uint16(r.below(1 + r.below(1+r.below(rows)))) // a few are frequent
		}
		return out
	}
	var batch []int32
	for i := range batchPairs {
		t.pairs = append(t.pairs, pair{page: int32(i / 8), sameQuery: uint32(i), sameDocument: uint32(i)})
		t.texts = append(t.texts, encoded{text(6), text(150)})
		batch = append(batch, int32(i))
	}
	l := t.learner()
	l.total = 1 << 20
	for b.Loop() {
		l.learn(batch)
		l.step++
	}
}
