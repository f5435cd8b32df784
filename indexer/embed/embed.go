// Package embed computes the vectors of documents and questions.
//
// The rest of deskhand uses the interface Embedder. The variable providers lists the
// providers. Static is the only provider without dependencies. It is deskhand's own
// model: words.go splits text into words, vocabulary.go finds the row of each word,
// format.go defines the file format, and static.go computes the vectors. Package train
// creates the model files.
//
// Remote uses another model over a network. batch.go sends the kind of request that
// most services support, and single.go sends requests to the other services. ask.go
// determines which requests to retry, and cache.go stores the vectors that have been
// paid for.
package embed

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/deskhand/deskhand/indexer/embed/model"
	"github.com/deskhand/deskhand/indexer/language"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Embedder computes vectors. All vectors of one Embedder have the same number of
// dimensions. Each vector has length 1. If the model knows nothing in the text, the
// vector is all zeros, and searches never find it. An Embedder may be used
// concurrently.
type Embedder interface {
	// Name identifies the model, including its weights. Vectors of embedders with
	// different names cannot be compared.
	Name() string
	// Dimensions returns the length of every vector, or 0 if it is unknown until the
	// first vector arrives.
	Dimensions() int
	// Documents returns one vector per document, in order. Network failures are faults:
	// "embedder_down" if the provider fails, "embedder_refused" if it rejects the
	// request, and "bad_vectors" if its response is unusable.
	Documents(ctx context.Context, docs []Document) ([][]float32, error)
	// Query returns the vector of a question. It returns immediately when ctx is
	// cancelled.
	Query(ctx context.Context, text string) ([]float32, error)
}

// Document is one chunk as input for an Embedder. Any field may be empty.
type Document struct {
	// Title is the page's title, and Heading the chunk's own heading. Breadcrumb
	// consists of the headings between the two.
	Title, Breadcrumb, Heading string
	// Body is the chunk's text without its heading.
	Body string
}

// Options configure the Embedder that OpenWith returns. The zero value is ready to use.
type Options struct {
	// Cache is a folder that stores document vectors received over the network, so
	// that no vector is paid for twice. It is created if needed. Any number of
	// processes may share it. If Cache is empty, vectors are not cached.
	Cache string
}

// provider is one kind of Embedder.
type provider struct {
	name string
	// claims reports whether this provider accepts a specification.
	claims func(spec string) bool
	open   func(spec string, o Options) (Embedder, error)
	// far is true if the provider is used over a network or in another process. In
	// this case, an index stores only the specification.
	far bool
}

// Default is the specification of the default embedder, which is the model included in
// deskhand.
const Default = "builtin"

// Multilingual is the specification of the included model with words of several
// languages.
const Multilingual = "multilingual"

// providers lists the providers in the order in which they are tried.
var providers = []provider{
	{Default, func(spec string) bool { return spec == Default }, openBuiltin, false},
	{Multilingual, func(spec string) bool { return spec == Multilingual }, openMultilingual, false},
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

// begins returns a function that claims all specifications with a prefix.
func begins(prefix string) func(string) bool {
	return func(spec string) bool { return strings.HasPrefix(spec, prefix) }
}

// Open calls OpenWith without options.
func Open(spec string) (Embedder, error) { return OpenWith(spec, Options{}) }

// OpenWith returns the embedder for the specification spec, or nil for "none". It sends
// nothing. It returns fault "bad_embedder" if the specification is unknown, and
// "no_key" if the provider's key is not in the environment. It may also return an error
// from the provider.
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

// Far reports whether the embedder for spec is used over a network or in another
// process.
func Far(spec string) bool {
	p := providerOf(spec)
	return p != nil && p.far
}

// providerOf returns the provider of a specification, or nil if there is none.
func providerOf(spec string) *provider {
	i := slices.IndexFunc(providers, func(p provider) bool { return p.claims(spec) })
	if i < 0 {
		return nil
	}
	return &providers[i]
}

// openBuiltin opens the included model without copying it, once for all indexes of a
// process. It does not verify the model, because a test does so and
// the model's bytes are part of the program.
func openBuiltin(string, Options) (Embedder, error) {
	m, err := includedModel()
	if err != nil {
		return nil, err
	}
	return m, nil
}

var includedModel = sync.OnceValues(func() (*Static, error) { return Parse(model.Weights) })

// openMultilingual joins the included model with the words of other languages, once for
// all indexes of a process.
func openMultilingual(string, Options) (Embedder, error) {
	m, err := multilingualModel()
	if err != nil {
		return nil, err
	}
	return m, nil
}

var multilingualModel = sync.OnceValues(func() (*Static, error) {
	m, err := includedModel()
	if err != nil {
		return nil, err
	}
	added, err := Parse(model.Added)
	if err != nil {
		return nil, err
	}
	joined, err := m.With(added)
	if err != nil {
		return nil, err
	}
	joined.languages = []language.Code{language.German, language.Spanish, language.Japanese, language.Chinese}
	return joined, nil
})

func openNone(string, Options) (Embedder, error) { return nil, nil }

func openFile(path string, _ Options) (Embedder, error) {
	m, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	return m, nil
}
