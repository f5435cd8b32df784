package artifact

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/blugelabs/bluge"
	"github.com/blugelabs/bluge/index"
	"github.com/blugelabs/bluge/search"
	"github.com/blugelabs/bluge/search/similarity"
	segment "github.com/blugelabs/bluge_segment_api"
)

// terms looks words up for a search.
func terms(t testing.TB, r *Reader, words ...string) []WeightedTerm {
	t.Helper()
	var out []WeightedTerm
	for _, w := range words {
		p, err := r.Postings(w)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, WeightedTerm{Postings: p})
	}
	return out
}

// reference is BM25 from its definition over all chunks of docs.
func reference(docs []Document, query []string) []Scored {
	var all []counts
	var c counter
	total := 0.0
	for _, d := range docs {
		page := pageCounts(&c, d)
		for _, chunk := range d.Chunks {
			c.chunk(page, chunk)
			all = append(all, c.out)
			total += float64(c.out.length)
		}
	}
	average := total / float64(len(all))
	scores := make([]float64, len(all))
	for _, q := range query {
		tf := make([]float64, len(all))
		df := 0.0
		for i, doc := range all {
			for _, t := range doc.terms {
				if t.text == q {
					tf[i] = float64(t.n)
					df++
				}
			}
		}
		idf := math.Log(1 + (float64(len(all))-df+0.5)/(df+0.5))
		for i, doc := range all {
			scores[i] += idf * tf[i] / (tf[i] + 1.2*(1-0.6+0.6*float64(doc.length)/average))
		}
	}
	var out []Scored
	for i, score := range scores {
		if score > 0 {
			out = append(out, Scored{i, score})
		}
	}
	slices.SortStableFunc(out, func(a, b Scored) int {
		if a.Score != b.Score {
			return int(math.Copysign(1, b.Score-a.Score))
		}
		return a.Chunk - b.Chunk
	})
	return out
}

func TestLexicalIsBM25(t *testing.T) {
	docs := corpus(12)
	dir := t.TempDir()
	build(t, dir, docs)
	r := reopen(t, dir)
	for _, query := range [][]string{{"word31"}, {"word1", "word2"}, {"section", "word5", "word9", "page"}, {"nothing", "word7"}} {
		want := reference(docs, query)
		terms := terms(t, r, query...)
		for _, k := range []int{1, 10, 1000} {
			got, err := r.Lexical(terms, k, nil)
			if err != nil || len(got) != min(k, len(want)) {
				t.Fatalf("Lexical(%v, %d) = %d hits, %v; want %d", query, k, len(got), err, min(k, len(want)))
			}
			for i := range got {
				if math.Abs(got[i].Score-want[i].Score) > 1e-3 {
					t.Fatalf("Lexical(%v, %d)[%d] = %+v, want %+v", query, k, i, got[i], want[i])
				}
			}
		}
	}
}

// blugeSimilarity is bluge's BM25 with the parentheses that its idf lacks.
type blugeSimilarity struct{ *similarity.BM25Similarity }

func (s blugeSimilarity) Scorer(boost float64, stats segment.CollectionStats, term segment.TermStats) search.Scorer {
	n, df := float64(stats.DocumentCount()), float64(term.DocumentFrequency())
	idf := math.Log(1 + (n-df+0.5)/(df+0.5))
	return similarity.NewBM25Scorer(boost, saturation, lengthShare, s.AverageFieldLength(stats), search.NewExplanation(idf, "idf"))
}

// TestLexicalIsBlugesBM25 asks the same index through bluge's own query path.
func TestLexicalIsBlugesBM25(t *testing.T) {
	docs := corpus(12)
	var dir segments
	cfg := bluge.DefaultConfigWithDirectory(func() index.Directory { return &dir })
	cfg.DefaultSimilarity = blugeSimilarity{similarity.NewBM25Similarity()}
	w, err := bluge.OpenOfflineWriter(cfg, 1000, 10)
	if err != nil {
		t.Fatal(err)
	}
	var c counter
	for _, d := range docs {
		page := pageCounts(&c, d)
		for _, chunk := range d.Chunks {
			c.chunk(page, chunk)
			doc := c.out
			if err := w.Insert(&doc); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	reader, err := bluge.OpenReader(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	out := t.TempDir()
	build(t, out, docs)
	r := reopen(t, out)
	for _, term := range []string{"word31", "section", "introduct"} {
		it, err := reader.Search(context.Background(), bluge.NewTopNSearch(1000, bluge.NewTermQuery(term).SetField(fieldName)))
		if err != nil {
			t.Fatal(err)
		}
		want := map[int]float64{}
		for m, err := it.Next(); m != nil; m, err = it.Next() {
			if err != nil {
				t.Fatal(err)
			}
			want[int(m.Number)] = m.Score
		}
		got, err := r.Lexical(terms(t, r, term), 1000, nil)
		if err != nil || len(got) != len(want) || len(got) == 0 {
			t.Fatalf("Lexical(%s) = %d hits, %v; bluge has %d", term, len(got), err, len(want))
		}
		for _, g := range got {
			// bluge stores lengths in a norm of reduced precision.
			if math.Abs(g.Score-want[g.Chunk]) > 1e-3*max(1, g.Score) {
				t.Errorf("Lexical(%s): chunk %d scores %v, bluge says %v", term, g.Chunk, g.Score, want[g.Chunk])
			}
		}
	}
}

// TestLexicalIsExactWithManyTerms compares the best with the best of a search
// that leaves nothing out.
func TestLexicalIsExactWithManyTerms(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, corpus(60))
	r := reopen(t, dir)
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		words := []string{"section", "page", "number"}
		for range 1 + random.IntN(6) {
			words = append(words, fmt.Sprintf("word%d", random.IntN(977)))
		}
		terms := terms(t, r, words...)
		for i := range terms {
			terms[i].Weight = 0.5 + random.Float64()
		}
		all, err := r.Lexical(terms, r.Len(), nil)
		if err != nil {
			t.Fatal(err)
		}
		best, err := r.Lexical(terms, 10, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(best, all[:10]) {
			t.Errorf("Lexical(%v, 10) = %v\nwant %v", words, best, all[:10])
		}
		odd := func(chunk int) bool { return chunk%2 == 1 }
		filtered, err := r.Lexical(terms, 10, odd)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(all, func(s Scored) bool { return !odd(s.Chunk) })[:10]
		if !slices.Equal(filtered, want) {
			t.Errorf("Lexical(%v, 10, odd) = %v\nwant %v", words, filtered, want)
		}
	}
}

func TestLexicalOfIsWhatLexicalSays(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, corpus(60))
	r := reopen(t, dir)
	random := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		words := []string{"section", "page", "nothing", fmt.Sprintf("word%d", random.IntN(977)), fmt.Sprintf("word%d", random.IntN(977))}
		terms := terms(t, r, words...)
		all, err := r.Lexical(terms, r.Len(), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float64, r.Len())
		for _, s := range all {
			want[s.Chunk] = s.Score
		}
		chunks := random.Perm(r.Len())[:100]
		chunks = append(chunks, chunks[0])
		got, err := r.LexicalOf(terms, chunks)
		if err != nil || len(got) != len(chunks) {
			t.Fatalf("LexicalOf(%v, %d chunks) = %d scores, %v", words, len(chunks), len(got), err)
		}
		for i, c := range chunks {
			if got[i] != want[c] {
				t.Errorf("LexicalOf(%v) of chunk %d = %v, Lexical says %v", words, c, got[i], want[c])
			}
		}
	}
	if got, err := r.LexicalOf(terms(t, r, "page"), []int{r.Len()}); err == nil {
		t.Errorf("LexicalOf a chunk that is not there = %v, want an error", got)
	}
}

func TestSimilarFindsOneEditAndBegunABeginning(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, []Document{page("a.md", "# Configuration\n\nRetries with jitter and backoff.\n", nil)})
	r := reopen(t, dir)
	for term, want := range map[string]string{"jiter": "jitter", "jittre": "jitter", "bakcoff": "backoff", "jiiitter": "", "backofff": "backoff", "conf": "", "jittering": ""} {
		got, err := r.Similar(term, 3)
		if err != nil || len(got) > 1 || want != "" && (len(got) == 0 || got[0] != want) || want == "" && len(got) != 0 {
			t.Errorf("Similar(%q) = %v, %v; want %q", term, got, err, want)
		}
	}
	for term, want := range map[string]string{"conf": "configur", "back": "backoff"} {
		if got, err := r.Begun(term, 3); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("Begun(%q) = %v, %v; want %q", term, got, err, want)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	docs := corpus(40)
	bytes := int64(0)
	for _, d := range docs {
		bytes += d.Size
	}
	b.SetBytes(bytes)
	for b.Loop() {
		if _, err := Encode(docs); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLexical(b *testing.B) {
	dir := b.TempDir()
	build(b, dir, corpus(400))
	r := reopen(b, dir)
	for name, words := range map[string][]string{
		"rare":   {"word31", "word77"},
		"common": {"section", "page", "number", "word31"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				terms := make([]WeightedTerm, len(words))
				for i, w := range words {
					p, err := r.Postings(w)
					if err != nil {
						b.Fatal(err)
					}
					terms[i].Postings = p
				}
				if _, err := r.Lexical(terms, 100, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	build(b, dir, corpus(400))
	for b.Loop() {
		r, err := Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}

// A dictionary that was opened before its file was cut short is read in the
// goroutine of the query, whose panic is that query's error: one in another
// goroutine would end the process.
func TestDictionaryOfATruncatedFilePanicsWhereItIsAsked(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: a mapped file cannot be cut short on Windows")
	}
	dir := t.TempDir()
	m, _ := build(t, dir, corpus(40))
	r := reopen(t, dir)
	if got, err := r.Similar("wird31", 3); err != nil || len(got) == 0 {
		t.Fatalf("Similar(wird31) = %v, %v; want some", got, err)
	}
	if err := os.Truncate(filepath.Join(dir, m.Index.Path), 100); err != nil {
		t.Fatal(err)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() == nil {
			t.Error("Similar of a truncated file answers")
		}
	}()
	r.Similar("qqqqqqq", 3)
}

func TestSimilarMayBeAskedConcurrently(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, corpus(40))
	r := reopen(t, dir)
	want, err := r.Similar("wird31", 3)
	if err != nil {
		t.Fatal(err)
	}
	var askers sync.WaitGroup
	for range 4 {
		askers.Go(func() {
			for range 50 {
				if got, err := r.Similar("wird31", 3); err != nil || !slices.Equal(got, want) {
					t.Errorf("Similar(wird31) = %v, %v; want %v", got, err, want)
					return
				}
			}
		})
	}
	askers.Wait()
}
