package indexer

import (
	"os"
	"path/filepath"
	"testing"
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

func BenchmarkBuildCold(b *testing.B) {
	dir := benchmarkCorpus(b)
	for b.Loop() {
		out := filepath.Join(b.TempDir(), "out")
		if _, err := Build(b.Context(), Options{Dir: dir, Out: out}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBuildUnchanged(b *testing.B) {
	o := Options{Dir: benchmarkCorpus(b), Out: b.TempDir()}
	if _, err := Build(b.Context(), o); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := Build(b.Context(), o)
		if err != nil || r.FilesRebuilt != 0 {
			b.Fatalf("Build = %+v, %v; want all reused", r, err)
		}
	}
}
