package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/blugelabs/bluge"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/eval"
)

// blugeAsShipped is what the library gives whoever uses it as it comes: the same
// chunks as our index, in four fields, its own analyser, its own BM25, all words
// of a question looked for in all fields. It judges what our ranking adds.
type blugeAsShipped struct {
	eval.Local // opens chunks
	artifact   *artifact.Reader
	reader     *bluge.Reader
	hits       []eval.Hit // by chunk
}

var blugeFields = []string{"title", "breadcrumb", "heading", "body"}

func openBluge(t *testing.T, index string, local eval.Local) *blugeAsShipped {
	t.Helper()
	b := &blugeAsShipped{Local: local}
	var err error
	if b.artifact, err = artifact.Open(index); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.artifact.Close() })
	config := bluge.DefaultConfig(t.TempDir())
	w, err := bluge.OpenOfflineWriter(config, 1000, 10)
	if err != nil {
		t.Fatal(err)
	}
	for chunk := range b.artifact.Len() {
		doc, err := b.document(chunk)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Insert(doc); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if b.reader, err = bluge.OpenReader(config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.reader.Close() })
	return b
}

// document is a chunk; its id is its number.
func (b *blugeAsShipped) document(chunk int) (*bluge.Document, error) {
	c, err := b.artifact.Chunk(chunk)
	if err != nil {
		return nil, err
	}
	page, err := b.artifact.Page(c.Page)
	if err != nil {
		return nil, err
	}
	text, err := b.artifact.Text(nil, chunk)
	if err != nil {
		return nil, err
	}
	b.hits = append(b.hits, eval.Hit{ID: c.ID, Path: page.Path, Heading: c.Heading, Breadcrumb: c.Breadcrumb, Metadata: page.Metadata})
	doc := bluge.NewDocument(fmt.Sprint(chunk))
	for i, value := range []string{page.Title, c.Breadcrumb, c.Heading, string(text)} {
		doc.AddField(bluge.NewTextField(blugeFields[i], value))
	}
	for facet, value := range page.Metadata {
		doc.AddField(bluge.NewKeywordField("facet "+facet, value))
	}
	return doc, nil
}

func (b *blugeAsShipped) Search(ctx context.Context, question string, filters map[string]string, limit int, _ string) ([]eval.Hit, string, error) {
	any := bluge.NewBooleanQuery()
	for _, field := range blugeFields {
		any.AddShould(bluge.NewMatchQuery(question).SetField(field))
	}
	query := bluge.NewBooleanQuery().AddMust(any)
	for facet, value := range filters {
		query.AddMust(bluge.NewTermQuery(value).SetField("facet " + facet).SetBoost(0))
	}
	found, err := b.reader.Search(ctx, bluge.NewTopNSearch(limit, query))
	if err != nil {
		return nil, "", err
	}
	var hits []eval.Hit
	for match, err := found.Next(); match != nil || err != nil; match, err = found.Next() {
		if err != nil {
			return nil, "", err
		}
		var id strings.Builder
		if err := match.VisitStoredFields(func(field string, value []byte) bool {
			if field == "_id" {
				id.Write(value)
			}
			return true
		}); err != nil {
			return nil, "", err
		}
		var chunk int
		if _, err := fmt.Sscan(id.String(), &chunk); err != nil {
			return nil, "", err
		}
		hits = append(hits, b.hits[chunk])
	}
	return hits, "", nil
}
