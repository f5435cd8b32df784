// Package embed turns text into vectors, for documents and for questions alike.
//
// Embedder is what the rest of deskhand knows; each provider is a line in the
// table below. Static, the provider that needs nothing but itself, is a model
// of ours: words.go cuts text into words, vocabulary.go finds their rows,
// format.go is the file, static.go the arithmetic. Package train makes such
// files.
//
// Remote asks somebody else's model over a network. batch.go speaks the request
// that most services understand, single.go those of the others; ask.go decides
// what is tried again, cache.go keeps what was paid for.
package embed

import (
	"context"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/indexer/embed/model"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Embedder makes vectors. All vectors of one Embedder have the same number of
// dimensions and the length 1, or are all zero for a text that says nothing to
// it: such a text is near nothing. It may be used concurrently.
type Embedder interface {
	// Name identifies what makes the vectors, weights included: vectors of
	// different names cannot be compared.
	Name() string
	// Dimensions is the length of every vector; 0 where it is not known before
	// the first one came.
	Dimensions() int
	// Documents returns one vector for each of docs, in their order. What fails
	// over a network is a fault: "embedder_down" and "embedder_refused" of the
	// other side, "bad_vectors" for an answer that is of no use.
	Documents(ctx context.Context, docs []Document) ([][]float32, error)
	// Query returns the vector of a question, at once when ctx ends.
	Query(ctx context.Context, text string) ([]float32, error)
}

// Document is one chunk as an Embedder sees it. Any field may be empty.
type Document struct {
	// Title is the page's, Heading the chunk's own; Breadcrumb has the headings
	// between the two.
	Title, Breadcrumb, Heading string
	// Body is the chunk's words without its heading.
	Body string
}

// Options tunes what Open returns. The zero value is the default.
type Options struct {
	// Cache is a folder for the vectors of documents that came over a network, so
	// that none is paid for twice. It is made if need be, and may be shared by
	// any number of processes. Empty: nothing is kept.
	Cache string
}

// provider is one way to make an Embedder.
type provider struct {
	name string
	// claims reports whether a specification is for this provider.
	claims func(spec string) bool
	open   func(spec string, o Options) (Embedder, error)
	// far providers are behind a network, or in another process: an index says
	// no more of them than their specification.
	far bool
}

// Default is the specification of the embedder that is used where nobody names
// one: the model that deskhand ships.
const Default = "builtin"

// providers are asked in this order.
var providers = []provider{
	{Default, func(spec string) bool { return spec == Default }, openBuiltin, false},
	{"none", func(spec string) bool { return spec == "none" }, openNone, false},
	{"openai:MODEL", begins("openai:"), service("https://api.openai.com/v1", "OPENAI_API_KEY", hosted), true},
	{"ollama:MODEL", begins("ollama:"), openOllama, true},
	{"cohere:MODEL", begins("cohere:"), openCohere, true},
	{"mistral:MODEL", begins("mistral:"), service("https://api.mistral.ai/v1", "MISTRAL_API_KEY", mistral), true},
	{"jina:MODEL", begins("jina:"), service("https://api.jina.ai/v1", "JINA_API_KEY", hosted), true},
	{"mixedbread:MODEL", begins("mixedbread:"), service("https://api.mixedbread.ai/v1", "MIXEDBREAD_API_KEY", hosted), true},
	{"localai:MODEL", begins("localai:"), service("http://localhost:8080/v1", "", local), true},
	{"azure:DEPLOYMENT", begins("azure:"), openAzure, true},
	{"vertex:MODEL", begins("vertex:"), openVertex, true},
	{"http://HOST/v1#MODEL", isURL, openURL, true},
	{"a model file (FILE.model)", func(spec string) bool { return strings.HasSuffix(spec, ".model") }, openFile, false},
}

// begins claims the specifications with a prefix.
func begins(prefix string) func(string) bool {
	return func(spec string) bool { return strings.HasPrefix(spec, prefix) }
}

// Open is OpenWith without options.
func Open(spec string) (Embedder, error) { return OpenWith(spec, Options{}) }

// OpenWith returns the embedder that spec names: nil for "none", else what one
// of the providers makes of it. Nothing is sent anywhere. The error is fault
// "bad_embedder" for a specification that nobody knows, "no_key" where the
// environment lacks the provider's key, or the provider's.
func OpenWith(spec string, o Options) (Embedder, error) {
	if p := providerOf(spec); p != nil {
		return p.open(spec, o)
	}
	var names []string
	for _, p := range providers {
		names = append(names, p.name)
	}
	return nil, fault.New("bad_embedder", "there is no embedder "+spec, "use one of: "+strings.Join(names, ", "))
}

// Far reports whether what spec names is asked over a network.
func Far(spec string) bool {
	p := providerOf(spec)
	return p != nil && p.far
}

// providerOf is the provider that a specification is for; nil: there is none.
func providerOf(spec string) *provider {
	i := slices.IndexFunc(providers, func(p provider) bool { return p.claims(spec) })
	if i < 0 {
		return nil
	}
	return &providers[i]
}

// openBuiltin reads the shipped model where it lies in the program, which takes
// microseconds (BenchmarkOpenBuiltin). Its bytes are as whole as the program
// itself; a test verifies them.
func openBuiltin(string, Options) (Embedder, error) { return Parse(model.Weights) }

func openNone(string, Options) (Embedder, error) { return nil, nil }

func openFile(path string, _ Options) (Embedder, error) {
	m, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	return m, nil
}
