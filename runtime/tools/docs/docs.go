// Package docs is the tools over the corpus: search_docs, get_doc, list_docs,
// and the prompts and resources that a corpus brings along.
package docs

import (
	"cmp"
	"strings"

	"github.com/deskhand/deskhand/runtime/clients"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/search"
)

// Options tunes the tools. The zero value is ready to use.
type Options struct {
	// Prefix stands before every tool name, with "_" between. Empty: none.
	Prefix string
	// MaxAnswerBytes bounds the text of an answer. Zero means 64 KiB; less than
	// MinAnswerBytes means that. A client that shows its model less gets less.
	MaxAnswerBytes int
	// Explain adds to each hit of a search why it ranks where it does.
	Explain bool
	// Missed is called after the first page of a search that found little, unless
	// other filters would find something. Nil: nothing is called.
	Missed func(query string, filters map[string]string, found search.Found)
}

func (o Options) name(tool string) string {
	if o.Prefix == "" {
		return tool
	}
	return o.Prefix + "_" + tool
}

// maxBytes bounds the text of an answer to caller, which may drop a part of a
// longer one before its model sees it.
func (o Options) maxBytes(caller contract.Caller) int {
	most := 64 << 10
	if o.MaxAnswerBytes > 0 {
		most = max(o.MaxAnswerBytes, MinAnswerBytes)
	}
	if whole := clients.Of(caller.Name).MaxBytes; whole > 0 {
		return min(most, whole)
	}
	return most
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
