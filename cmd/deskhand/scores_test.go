package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/eval"
	"github.com/deskhand/deskhand/runtime/goldentest"
	"github.com/deskhand/deskhand/runtime/search"
)

// manualEngine is an engine over the manual, as deskhand index makes its index.
func manualEngine(t *testing.T) *search.Engine {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "index")
	builtin, err := embed.Open(embed.Default)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := indexer.Build(t.Context(), indexer.Options{Dir: "../../corpus", Out: dir, Strict: true, Embedder: builtin}); err != nil {
		t.Fatal(err)
	}
	engine, err := search.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine
}

// TestGoldenScores holds the quality of search on our own manual to the scores
// last agreed on. A change is a diff to review.
func TestGoldenScores(t *testing.T) {
	const agreed = "../../corpus/eval/scores.txt"
	engine := manualEngine(t)
	cases, warnings, err := eval.Load("../../corpus/eval/manual.json")
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	local := eval.Local{Engine: engine}
	report, err := eval.Run(t.Context(), local, cases, eval.Options{Has: local.Has})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.MissingFiles) > 0 {
		t.Errorf("cases name pages that are not there: %v", report.MissingFiles)
	}
	var got bytes.Buffer
	if err := eval.WriteScores(&got, report); err != nil {
		t.Fatal(err)
	}
	goldentest.Compare(t, agreed, got.String())
}
