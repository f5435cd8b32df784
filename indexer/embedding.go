package indexer

import (
	"context"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/embed"
)

// embedAtOnce is how many chunks an embedder is given at a time: enough for one
// that goes over a network to fill its requests, and few enough that vectors
// of 32 bits a number take no memory to speak of.
const embedAtOnce = 512

// model is what the artifact keeps of the embedder.
func (b *build) model() artifact.Model {
	e := b.options.Embedder
	if e == nil {
		return artifact.Model{}
	}
	provider, name, _ := strings.Cut(e.Name(), ":")
	return artifact.Model{Provider: provider, Name: name, Key: embed.Fingerprint(e) + "\x00" + inputVersion, Weights: embed.Weights(e)}
}

// usage is what an embedder behind a network did so far in this build; nil:
// there is none.
func (b *build) usage() *embed.Usage {
	m, ok := b.options.Embedder.(embed.Meter)
	if !ok {
		return nil
	}
	u := m.Usage().Since(b.before)
	return &u
}

// embed gives the chunks of docs their vectors. Whatever fails ends the build:
// an index with vectors for some chunks alone would hide the others.
func (b *build) embed(ctx context.Context, docs []artifact.Document) (err error) {
	if b.options.Embedder == nil {
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("embed the group at %s: panic: %v", docs[0].Path, r)
		}
	}()
	var texts []embed.Document
	var to []*artifact.Vector
	flush := func() error {
		vectors, err := b.options.Embedder.Documents(ctx, texts)
		if err != nil {
			return err
		}
		if len(vectors) != len(texts) {
			return fmt.Errorf("embed: %d vectors for %d chunks", len(vectors), len(texts))
		}
		for i, v := range vectors {
			if err := b.sized(len(v)); err != nil {
				return err
			}
			if *to[i], err = artifact.NewVector(v); err != nil {
				return fmt.Errorf("embed: %w", err)
			}
		}
		texts, to = texts[:0], to[:0]
		return nil
	}
	for i := range docs {
		d := &docs[i]
		d.Vectors = make([]artifact.Vector, len(d.Chunks))
		for j := range d.Chunks {
			text := embedded(d, j)
			if d.Phrases != nil && len(d.Phrases[j]) > 0 {
				text.Body = strings.Join(d.Phrases[j], ". ") + ".\n" + text.Body // in front: long bodies are cut
			}
			texts, to = append(texts, text), append(to, &d.Vectors[j])
			if len(texts) == embedAtOnce {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return flush()
}

// sized refuses a vector that is longer or shorter than the first one of the
// build.
func (b *build) sized(n int) error {
	if n == 0 || n > artifact.MaxDimensions {
		return fmt.Errorf("embed: a vector has %d dimensions, want 1 to %d", n, artifact.MaxDimensions)
	}
	if b.dimensions.CompareAndSwap(0, int64(n)) || b.dimensions.Load() == int64(n) {
		return nil
	}
	return fmt.Errorf("embed: vectors have %d and %d dimensions", b.dimensions.Load(), n)
}

// inputVersion is that of what embedded and the phrases make of a chunk: vectors of
// another one are not reused.
const inputVersion = "2"

// embedded is a chunk of a page as an embedder sees it. The first one has the page's
// description too. On five labelled sets two have no descriptions; the others gain
// .011 (dapr) and .001 (powershell) NDCG@5 or lose .0003 (the manual). In every chunk
// of a page it costs the manual .012.
func embedded(d *artifact.Document, chunk int) embed.Document {
	c := d.Chunks[chunk]
	body := strings.TrimPrefix(c.Text, c.Heading)
	if chunk == 0 && d.Description != "" && d.Description != c.Text {
		body = d.Description + "\n" + body
	}
	return embed.Document{Title: d.Title, Breadcrumb: c.Breadcrumb, Heading: c.Heading, Body: body}
}
