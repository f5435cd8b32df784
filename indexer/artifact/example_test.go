package artifact_test

import (
	"crypto/sha256"
	"fmt"
	"log"
	"os"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/artifact"
)

// An index of two files is written, opened, and asked for a chunk.
func Example() {
	dir, err := os.MkdirTemp("", "index")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	files := []struct{ path, text string }{ // in the order of their paths
		{"auth.md", "# Signing in\n\nWith a key.\n"},
		{"retries.md", "# Retries\n\n## Backoff\n\nThe client waits longer each time.\n"},
	}
	var docs []artifact.Document
	for _, f := range files {
		page := chunker.Split(f.path, []byte(f.text), chunker.Options{})
		docs = append(docs, artifact.Document{
			Source: artifact.Source{Path: f.path, Size: int64(len(f.text)), Digest: sha256.Sum256([]byte(f.text))},
			Title:  page.Title, Chunks: page.Chunks,
		})
	}
	w, err := artifact.Create(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort() // does nothing after Commit
	group, err := artifact.Encode(docs)
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Add(group); err != nil {
		log.Fatal(err)
	}
	if _, err := w.Commit(artifact.Metadata{CorpusDescription: "Two pages."}); err != nil {
		log.Fatal(err)
	}

	r, err := artifact.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	page, ok, err := r.FindPage("retries.md")
	if err != nil || !ok {
		log.Fatal("no such page", err)
	}
	chunk, ok, err := r.Find(page, "retries/backoff")
	if err != nil || !ok {
		log.Fatal("no such chunk", err)
	}
	text, err := r.Markdown(chunk)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d chunks of %d pages\n%s", r.Len(), r.Pages(), text)
	// Output:
	// 3 chunks of 2 pages
	// ## Backoff
	//
	// The client waits longer each time.
}
