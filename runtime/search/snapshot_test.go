package search

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/fault"
)

// embedIndex writes files, or one page of its own, with the vectors of e, which an index says are
// those of the model called name.
func embedIndex(t *testing.T, dir string, e embed.Embedder, name string, weights []byte, files ...file) {
	t.Helper()
	w, err := artifact.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	w.Use(artifact.Model{Provider: "static", Name: name, Key: name, Weights: weights})
	if files == nil {
		files = []file{{path: "a.md", text: "# Retries\n\nThe client attempts a call again.\n\n## Colours\n\nRed and blue.\n"}}
	}
	var docs []artifact.Document
	for _, f := range files {
		doc := cutPage(f)
		for _, c := range doc.Chunks {
			vectors, err := e.Documents(context.Background(), []embed.Document{{Heading: c.Heading, Body: c.Text}})
			if err != nil {
				t.Fatal(err)
			}
			v, err := artifact.NewVector(vectors[0])
			if err != nil {
				t.Fatal(err)
			}
			doc.Vectors = append(doc.Vectors, v)
		}
		docs = append(docs, doc)
	}
	g, err := artifact.Encode(docs)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(g); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(artifact.Metadata{}); err != nil {
		t.Fatal(err)
	}
}

// retries is an engine over the index of embedIndex with the built-in model e.
func retries(t *testing.T, e embed.Embedder) *Engine {
	t.Helper()
	dir := t.TempDir()
	embedIndex(t, dir, e, strings.TrimPrefix(e.Name(), "static:"), nil)
	engine, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine
}

func TestEngineFindsTheEmbedderOfItsIndex(t *testing.T) {
	e, err := embed.Open(embed.Default)
	if err != nil {
		t.Fatal(err)
	}
	own := strings.TrimPrefix(e.Name(), "static:")
	file, err := embed.Parse(tiny(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		embedder embed.Embedder
		model    string
		weights  []byte
		mute     string // fault; empty: none
	}{
		"the shipped one":                     {e, own, nil, ""},
		"one that lies in the index":          {file, strings.TrimPrefix(file.Name(), "static:"), tiny(t), ""},
		"one of another release":              {e, "0123456789abcdef", nil, "other_model"},
		"one that is not what the index says": {file, own, tiny(t), "other_model"},
		"one with other dimensions":           {file, own, nil, "other_model"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			embedIndex(t, dir, c.embedder, c.model, c.weights)
			for _, o := range []Options{{}, {Chromem: true}} {
				engine, err := OpenWith(dir, o)
				if err != nil {
					t.Fatal(err)
				}
				defer engine.Close()
				if f := fault.Of(engine.Mute()); c.mute == "" && engine.Mute() != nil || c.mute != "" && (f == nil || f.Code != c.mute || f.Hint == "") {
					t.Errorf("Mute() = %v, want fault %q", engine.Mute(), c.mute)
				}
				if (engine.current.embedder != nil) != (c.mute == "") {
					t.Errorf("embedder = %v", engine.current.embedder)
				}
				if page, err := engine.Search(t.Context(), Query{Text: "retries"}); err != nil || len(page.Hits) == 0 {
					t.Errorf("Search = %+v, %v; want a hit", page, err)
				}
			}
		})
	}
}

// tiny is a model file of four words.
func tiny(t *testing.T) []byte {
	t.Helper()
	v, err := embed.NewVocabulary([]string{"client", "call", "red", "retries"})
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]float32, v.Len()*8)
	for i := range rows {
		rows[i] = float32(i*i%7) - 3
	}
	data, err := embed.Encode(v, 8, rows)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestIndexCannotSendQuestionsWhereItLikes(t *testing.T) {
	e, err := embed.Open(embed.Default)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	embedIndex(t, dir, e, "//box.example/v1#m", nil)
	raw, err := os.ReadFile(filepath.Join(dir, artifact.MetadataFile))
	if err != nil {
		t.Fatal(err)
	}
	var m artifact.Metadata
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	m.Embedding.Provider = "http"
	if raw, err = m.Encode(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, artifact.MetadataFile), raw, 0o644); err != nil {
		t.Fatal(err)
	}
	for chosen, code := range map[string]string{"builtin": "not_chosen", "": "not_chosen", "http://box.example/v1/#m": "", "http://box.example/v1#other": "not_chosen"} {
		engine, err := OpenWith(dir, Options{Embedder: chosen})
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Close()
		if f := fault.Of(engine.Mute()); code == "" && engine.Mute() != nil || code != "" && (f == nil || f.Code != code) {
			t.Errorf("with embedder %q Mute() = %v, want fault %q", chosen, engine.Mute(), code)
		}
	}
}

func TestIndexWithoutVectorsIsNotMute(t *testing.T) {
	e := engine(t, nil, file{path: "a.md", text: "# A\n\nwords\n"})
	if err := e.Mute(); err != nil || e.current.embedder != nil {
		t.Errorf("Mute() = %v, embedder %v; want none", err, e.current.embedder)
	}
}

func TestReloadFindsTheEmbedderAnew(t *testing.T) {
	e, err := embed.Open(embed.Default)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	embedIndex(t, dir, e, "0123456789abcdef", nil)
	engine, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	embedIndex(t, dir, e, strings.TrimPrefix(e.Name(), "static:"), nil)
	if changed, err := engine.Reload(); !changed || err != nil || engine.Mute() != nil || engine.current.embedder == nil {
		t.Errorf("Reload = %v, %v, Mute %v; want the embedder", changed, err, engine.Mute())
	}
	if err := os.Remove(filepath.Join(dir, artifact.MetadataFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Reload(); err == nil || engine.current.embedder == nil {
		t.Errorf("Reload of nothing = %v, embedder %v; want an error and the old one", err, engine.current.embedder)
	}
}
