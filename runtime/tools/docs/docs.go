// Package docs implements the tools over the corpus, search_docs, get_doc and
// list_docs, and the corpus's own prompts and resources.
package docs

import (
	"cmp"
	"strings"

	"github.com/deskhand/deskhand/runtime/clients"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/search"
)

// Options configure the tools. The zero value is ready to use.
type Options struct {
	// Prefix is put before every tool name, joined by "_". It may be empty.
	Prefix string
	// MaxAnswerBytes is the maximum size of an answer's text in bytes. Zero means
	// 64 KiB; values below MinAnswerBytes are raised to it. Clients that show less
	// to their model get less.
	MaxAnswerBytes int
	// Explain adds the reasons for its rank to each hit.
	Explain bool
	// Missed is called after the first page of a search that found little, unless
	// a search with other filters would find something. It may be nil.
	Missed func(query string, filters map[string]string, found search.Found)
}

func (o Options) name(tool string) string {
	if o.Prefix == "" {
		return tool
	}
	return o.Prefix + "_" + tool
}

// maxBytes returns the maximum size, in bytes, of an answer's text for the
// caller. A client may truncate a longer answer before its model sees it.
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

// MinAnswerBytes has room for one hit, or for an outline and part of a chunk.
const MinAnswerBytes = 4096

// Catalog returns everything that the engine's corpus offers. Call it again when
// the engine reloads, because the schemas contain the corpus's facets.
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

// Tools returns the tools over one index.
func Tools(engine *search.Engine, o Options) []contract.Tool {
	return []contract.Tool{
		searchDocs(engine, o),
		getDoc(engine, o),
		listDocs(engine, o),
	}
}
