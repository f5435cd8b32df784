package indexer

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/embed"
)

// benchmarkCorpus is DESKHAND_BENCH_CORPUS, else a made one of 12 MB.
func benchmarkCorpus(b *testing.B) string {
	if dir := os.Getenv("DESKHAND_BENCH_CORPUS"); dir != "" {
		return dir
	}
	dir := b.TempDir()
	for i := range 300 {
		put(b, dir, libraryPage(i), prose(i, 40_000))
	}
	return dir
}

// embedders are those that builds are measured with.
func embedders(b *testing.B) map[string]embed.Embedder {
	builtin, err := embed.Open(embed.Default)
	if err != nil {
		b.Fatal(err)
	}
	return map[string]embed.Embedder{"none": nil, "builtin": builtin}
}

func BenchmarkBuildCold(b *testing.B) {
	dir := benchmarkCorpus(b)
	for name, e := range embedders(b) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				out := filepath.Join(b.TempDir(), "out")
				if _, err := Build(b.Context(), Options{Dir: dir, Out: out, Embedder: e}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkBuildUnchanged(b *testing.B) {
	dir := benchmarkCorpus(b)
	for name, e := range embedders(b) {
		b.Run(name, func(b *testing.B) {
			o := Options{Dir: dir, Out: b.TempDir(), Embedder: e}
			if _, err := Build(b.Context(), o); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				r, err := Build(b.Context(), o)
				if err != nil || r.FilesRebuilt != 0 {
					b.Fatalf("Build = %+v, %v; want all reused", r, err)
				}
			}
		})
	}
}

// BenchmarkEmbed is the vectors of a manual on one core, from cut chunks to
// rows of 8 bits.
func BenchmarkEmbed(b *testing.B) {
	dir := os.Getenv("DESKHAND_BENCH_CORPUS")
	if dir == "" {
		dir = "../corpus"
	}
	e, err := embed.Open(embed.Default)
	if err != nil {
		b.Fatal(err)
	}
	build, err := prepare(b.Context(), Options{Dir: dir, Embedder: e})
	if err != nil {
		b.Fatal(err)
	}
	var docs []artifact.Document
	chunks := 0
	for _, p := range build.pages {
		src, err := os.ReadFile(filepath.Join(dir, p.path))
		if err != nil {
			b.Fatal(err)
		}
		cut := chunker.Split(p.path, src, p.settings.strategy)
		docs = append(docs, artifact.Document{Title: cut.Title, Chunks: cut.Chunks})
		chunks += len(cut.Chunks)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if err := build.embed(b.Context(), docs); err != nil {
			b.Fatal(err)
		}
		n += chunks
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "chunks/s")
}
