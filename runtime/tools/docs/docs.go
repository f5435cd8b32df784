// Package docs is the tools over the corpus: search_docs, get_doc, list_docs,
// and the prompts and resources that a corpus brings along.
package docs

import (
	"cmp"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/search"
)

// Options tunes the tools. The zero value is ready to use.
type Options struct {
	// Prefix stands before every tool name, with "_" between. Empty: none.
	Prefix string
	// MaxAnswerBytes bounds the text of an answer. Zero means 64 KiB, which is
	// under the 25,000 tokens that clients cut at; less than MinAnswerBytes means
	// that.
	MaxAnswerBytes int
	// Explain adds to each hit of a search why it ranks where it does.
	Explain bool
}

func (o Options) name(tool string) string {
	if o.Prefix == "" {
		return tool
	}
	return o.Prefix + "_" + tool
}

func (o Options) maxBytes() int {
	if o.MaxAnswerBytes <= 0 {
		return 64 << 10
	}
	return max(o.MaxAnswerBytes, MinAnswerBytes)
}

// MinAnswerBytes is room for one hit, or for an outline and a piece of a chunk.
const MinAnswerBytes = 4096

// Catalog is all that the engine's corpus offers. It is made again when the
// engine reloads: schemas carry the facets of the corpus.
func Catalog(engine *search.Engine, o Options) (contract.Catalog, error) {
	m := engine.Metadata()
	resources, err := resources(engine)
	if err != nil {
		return contract.Catalog{}, err
	}
	return contract.Catalog{
		Tools:        Tools(engine, o),
		Prompts:      prompts(m.Prompts),
		Resources:    resources,
		Instructions: cmp.Or(strings.TrimSpace(m.Instructions), Instructions(o)),
	}, nil
}

// Tools is the list.
func Tools(engine *search.Engine, o Options) []contract.Tool {
	return []contract.Tool{
		searchDocs(engine, o),
		getDoc(engine, o),
		listDocs(engine, o),
	}
}
