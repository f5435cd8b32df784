package indexer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/fault"
)

// double is an embedder that notes what it is asked and answers as told.
type double struct {
	name   string
	answer func(docs []embed.Document) ([][]float32, error)
	mu     sync.Mutex
	docs   []embed.Document
	most   int // documents at once
}

func (d *double) Name() string    { return d.name }
func (d *double) Dimensions() int { return 0 }
func (d *double) Query(context.Context, string) ([]float32, error) {
	return nil, errors.New("a build asks no question")
}

func (d *double) Documents(_ context.Context, docs []embed.Document) ([][]float32, error) {
	d.mu.Lock()
	d.docs, d.most = append(d.docs, docs...), max(d.most, len(docs))
	d.mu.Unlock()
	if d.answer != nil {
		return d.answer(docs)
	}
	vectors := make([][]float32, len(docs))
	for i := range docs {
		vectors[i] = []float32{float32(len(docs[i].Body)), 1, 2}
	}
	return vectors, nil
}

func TestEmbedderSeesTitleHeadingsAndWords(t *testing.T) {
	dir, out := corpus(t, map[string]string{"a.md": "# Page\n\nFirst *words*.\n\n## Part\n\nSecond words.\n"}), filepath.Join(t.TempDir(), "out")
	d := &double{name: "far:model:1"}
	report := built(t, Options{Dir: dir, Out: out, Embedder: d})
	if len(d.docs) != 2 {
		t.Fatalf("the embedder got %+v, want two chunks", d.docs)
	}
	part := d.docs[1]
	if part.Title != "Page" || part.Breadcrumb != "Page > Part" || part.Heading != "Part" || strings.TrimSpace(part.Body) != "Second words." {
		t.Errorf("the embedder got %+v, want the second chunk, its heading once", part)
	}
	r := opened(t, out)
	if e := r.Embedding(); report.Embedding == nil || *report.Embedding != *e || e.Provider != "far" || e.Model != "model:1" || e.Dimensions != 3 || e.String() != d.name {
		t.Errorf("Embedding() = %+v, report %+v; want far, model:1 and 3 dimensions", e, report.Embedding)
	}
}

func TestTheFirstChunkIsEmbeddedWithThePagesDescription(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a.md", "---\ndescription: Sign in with a token.\n---\n# Page\n\nFirst words.\n\n## Part\n\nSecond words.\n")
	put(t, dir, "b.md", "---\ntitle: Overview\ndescription: Nothing else.\n---\n")
	d := &double{name: "far:model"}
	built(t, Options{Dir: dir, Out: filepath.Join(t.TempDir(), "out"), Embedder: d})
	var bodies []string
	for _, doc := range d.docs {
		bodies = append(bodies, strings.Join(strings.Fields(doc.Body), " "))
	}
	if want := []string{"Sign in with a token. First words.", "Second words.", "Nothing else."}; !slices.Equal(bodies, want) {
		t.Errorf("the embedder got %q, want %q", bodies, want)
	}
}

func TestEmbeddingReusesWhatDidNotChange(t *testing.T) {
	dir, out := library(t, 120, 20_000), filepath.Join(t.TempDir(), "out")
	first := &double{name: "far:one"}
	whole := built(t, Options{Dir: dir, Out: out, Embedder: first})
	if len(first.docs) != whole.Chunks || first.most > embedAtOnce {
		t.Errorf("the embedder got %d chunks, at most %d at once; want %d, at most %d", len(first.docs), first.most, whole.Chunks, embedAtOnce)
	}
	before := contents(t, out)
	again := &double{name: "far:one"}
	if r := built(t, Options{Dir: dir, Out: out, Embedder: again}); len(again.docs) != 0 || r.Embedding == nil || r.FilesReused != r.Files {
		t.Errorf("nothing changed: %d chunks embedded, %+v", len(again.docs), r)
	}
	wantSameFiles(t, "nothing changed", contents(t, out), before)

	put(t, dir, libraryPage(7), libraryText(7, 20_000)+"\nmore\n")
	changed := &double{name: "far:one"}
	built(t, Options{Dir: dir, Out: out, Embedder: changed})
	if n := len(changed.docs); n == 0 || n >= len(first.docs) {
		t.Errorf("one page changed: %d of %d chunks embedded, want those of its group", n, len(first.docs))
	}

	other := &double{name: "far:two"}
	if r := built(t, Options{Dir: dir, Out: out, Embedder: other}); len(other.docs) != r.Chunks || r.FilesChanged != 0 {
		t.Errorf("another model: %d of %d chunks embedded, %d files changed", len(other.docs), r.Chunks, r.FilesChanged)
	}
	if r := built(t, Options{Dir: dir, Out: out}); r.Embedding != nil || opened(t, out).Dimensions() != 0 {
		t.Errorf("no embedder: %+v, want no vectors", r.Embedding)
	}
}

func TestEmbedderThatFailsLeavesTheOldIndex(t *testing.T) {
	dir, out := library(t, 40, 20_000), filepath.Join(t.TempDir(), "out")
	built(t, Options{Dir: dir, Out: out})
	before := contents(t, out)
	down := fault.New("embedder_down", "the embedder does not answer", "try again")
	for name, c := range map[string]struct {
		answer func([]embed.Document) ([][]float32, error)
		want   string
	}{
		"a fault":             {func([]embed.Document) ([][]float32, error) { return nil, down }, down.Message},
		"too few vectors":     {func(d []embed.Document) ([][]float32, error) { return make([][]float32, len(d)-1), nil }, "vectors for"},
		"uneven vectors":      {uneven, "dimensions"},
		"a vector of nothing": {func(d []embed.Document) ([][]float32, error) { return make([][]float32, len(d)), nil }, "dimensions"},
		"a panic":             {func([]embed.Document) ([][]float32, error) { panic("oh") }, "panic: oh"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Build(t.Context(), Options{Dir: dir, Out: out, Embedder: &double{name: "far:one", answer: c.answer}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Build = %v, want an error with %q", err, c.want)
			}
			if name == "a fault" && fault.Of(err) != down {
				t.Errorf("Build = %v, want the embedder's fault", err)
			}
			wantSameFiles(t, "after a failed build", contents(t, out), before)
		})
	}
}

// uneven gives the last of the documents a longer vector.
func uneven(docs []embed.Document) ([][]float32, error) {
	vectors := make([][]float32, len(docs))
	for i := range vectors {
		vectors[i] = []float32{1, 2}
	}
	vectors[len(docs)-1] = []float32{1, 2, 3}
	return vectors, nil
}

func TestModelFileGoesWithTheIndex(t *testing.T) {
	v, err := embed.NewVocabulary([]string{"word", "page", "number", "library"})
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]float32, v.Len()*8)
	for i := range rows {
		rows[i] = float32(i%5) - 2
	}
	data, err := embed.Encode(v, 8, rows)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "my.model")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	e, err := embed.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	built(t, Options{Dir: library(t, 5, 2000), Out: out, Embedder: e})
	r := opened(t, out)
	if string(r.Weights()) != string(data) {
		t.Error("the index does not hold the model file")
	}
	back, err := embed.Reopen(r.Embedding().String(), r.Weights())
	if err != nil || back.Name() != e.Name() {
		t.Errorf("Reopen = %v, %v; want %s", back, err, e.Name())
	}
}

func TestEmbeddedBuildIsDeterministic(t *testing.T) {
	e, err := embed.Open(embed.Default)
	if err != nil {
		t.Fatal(err)
	}
	dir := library(t, 60, 20_000)
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	built(t, Options{Dir: dir, Out: a, Embedder: e})
	built(t, Options{Dir: dir, Out: b, Embedder: e, Workers: 1})
	wantSameFiles(t, "built twice", contents(t, a), contents(t, b))
	if r := opened(t, a); r.Weights() != nil || r.Dimensions() != e.Dimensions() {
		t.Errorf("%d bytes of weights, %d dimensions; want none of the shipped model, %d", len(r.Weights()), r.Dimensions(), e.Dimensions())
	}
}
