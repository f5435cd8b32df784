// Package embed computes vectors of texts, for documents and questions alike.
//
// The rest of deskhand uses the interface Embedder; the table below lists the
// providers. Static is the provider without dependencies, a model of our own:
// words.go cuts text into words, vocabulary.go finds their rows, format.go is
// the file format, static.go the arithmetic. Package train makes such files.
//
// Remote uses another model over a network. batch.go makes the request that
// most services understand, single.go those of the others; ask.go decides what
// to retry, cache.go keeps the vectors already paid for.
package embed

import (
	"context"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/indexer/embed/model"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Embedder computes vectors. All vectors of one Embedder have the same number
// of dimensions. They have length 1, or are all zero for a text without meaning
// to it: such a text is near nothing. It may be used concurrently.
type Embedder interface {
	// Name identifies the model, weights included: vectors of different names
	// cannot be compared.
	Name() string
	// Dimensions is the length of every vector; 0 if it is unknown until the
	// first one arrives.
	Dimensions() int
	// Documents returns one vector per document, in order. Network failures are
	// faults: "embedder_down" and "embedder_refused" by the other side,
	// "bad_vectors" for an unusable answer.
	Documents(ctx context.Context, docs []Document) ([][]float32, error)
	// Query returns the vector of a question. It returns immediately when ctx
	// ends.
	Query(ctx context.Context, text string) ([]float32, error)
}

// Document is one chunk as input of an Embedder. Any field may be empty.
type Document struct {
	// Title is the page's, Heading the chunk's own; Breadcrumb holds the
	// headings in between.
	Title, Breadcrumb, Heading string
	// Body is the chunk's text without its heading.
	Body string
}

// Options configure what Open returns. The zero value is ready to use.
type Options struct {
	// Cache is a folder for document vectors from the network, so that none is
	// paid for twice. It is created if needed, and any number of processes may
	// share it. Empty: no cache.
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

// Default is the specification of the default embedder: the model that deskhand
// ships.
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

// OpenWith returns the embedder that spec names; nil for "none". It sends
// nothing. The error is fault "bad_embedder" for an unknown specification,
// "no_key" if the provider's key is not in the environment, or the provider's
// own.
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

// Far reports whether the embedder that spec names is used over a network.
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
