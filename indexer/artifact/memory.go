package artifact

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/blevesearch/mmap-go"
)

// InMemory builds an artifact from docs, sorted by path, and opens it without a folder:
// the Reader holds the content of the data file in memory. It is suitable for up to a
// few thousand short pages, which form a single group.
func InMemory(m Metadata, model Model, docs []Document) (*Reader, error) {
	group, err := Encode(docs)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	var data bytes.Buffer
	w := &Writer{out: &data, hash: sha256.New(), model: model}
	if err := w.write(header()); err != nil {
		return nil, err
	}
	if err := w.Add(group); err != nil {
		return nil, err
	}
	m.MetadataVersion, m.Languages = MetadataVersion, countLanguages(w.pages)
	m.Index = Index{Engine: engineName, FormatVersion: m.format()}
	if err := w.complete(&m); err != nil {
		return nil, err
	}
	r := &Reader{meta: m, at: bytes.NewReader(data.Bytes()), data: mmap.MMap(data.Bytes()), blocks: newBlockReader()}
	if err := r.read(); err != nil {
		return nil, fmt.Errorf("read the encoded index: %w", err)
	}
	return r, nil
}
