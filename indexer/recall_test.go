package indexer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/philippgille/chromem-go"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/racetest"
)

// The index rounds vectors to 8 bits and scans them with kernels of its own.
// What it finds nearest is held to what chromem-go finds among the vectors as
// the model gave them: on the manual with its graded queries, or on the corpus
// in DESKHAND_BENCH_CORPUS; headings are queries too.
func TestNearestRecallsWhatChromemFinds(t *testing.T) {
	dir, queries, every := "../corpus", manualQueries(t), 1
	if racetest.On {
		every = 20
	}
	if other := os.Getenv("DESKHAND_BENCH_CORPUS"); other != "" {
		dir, queries, every = other, nil, 20
	}
	e, err := embed.Open(embed.Default)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	if _, err := Build(t.Context(), Options{Dir: dir, Out: out, Embedder: e}); err != nil {
		t.Fatal(err)
	}
	r := opened(t, out)
	collection, err := chromem.NewDB().CreateCollection("chunks", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Len() {
		d := documentOf(t, r, i)
		vectors, err := e.Documents(t.Context(), []embed.Document{d})
		if err != nil {
			t.Fatal(err)
		}
		if err := collection.AddDocument(t.Context(), chromem.Document{ID: strconv.Itoa(i), Embedding: vectors[0]}); err != nil {
			t.Fatal(err)
		}
		if i%every == 0 {
			queries = append(queries, d.Heading)
		}
	}
	const first = 10
	found, asked := 0, 0
	for _, text := range queries {
		query, err := e.Query(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		near, _, err := r.Nearest(query, first, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(near) == 0 {
			continue // no word of it is known
		}
		want, err := collection.QueryEmbedding(t.Context(), query, first, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		// Chunks that are as near as the last one are as good: variants of a text,
		// as in the docs of three SDKs, are nearer to each other than 8 bits tell.
		least := float64(want[len(want)-1].Similarity) - 1e-4
		exact := map[int]bool{}
		all, err := collection.QueryEmbedding(t.Context(), query, min(20*first, r.Len()), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range all {
			if float64(w.Similarity) >= least {
				n, _ := strconv.Atoi(w.ID)
				exact[n] = true
			}
		}
		for _, s := range near {
			if exact[s.Chunk] {
				found++
			}
		}
		asked += first
	}
	recall := float64(found) / float64(asked)
	t.Logf("%d queries, %d chunks: recall %.4f", asked/first, r.Len(), recall)
	if recall < 0.99 {
		t.Errorf("of the first ten by chromem-go %.4f are found, want 0.99", recall)
	}
}

// documentOf is a chunk as it was embedded.
func documentOf(t *testing.T, r *artifact.Reader, chunk int) embed.Document {
	t.Helper()
	c, err := r.Chunk(chunk)
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Page(c.Page)
	if err != nil {
		t.Fatal(err)
	}
	text, err := r.Text(nil, chunk)
	if err != nil {
		t.Fatal(err)
	}
	body := strings.TrimPrefix(string(text), c.Heading)
	if chunk == p.First && p.Description != "" {
		body = p.Description + "\n" + body
	}
	return embed.Document{Title: p.Title, Breadcrumb: c.Breadcrumb, Heading: c.Heading, Body: body}
}

func manualQueries(t *testing.T) (queries []string) {
	t.Helper()
	src, err := os.ReadFile("../corpus/eval/manual.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ Query string }
	if err := json.Unmarshal(src, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		queries = append(queries, c.Query)
	}
	return queries
}
