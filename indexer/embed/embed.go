// Package embed turns text into vectors, for documents and for questions alike.
//
// Embedder is what the rest of deskhand knows; each provider is one file and a
// line in the table below. Static, the provider that needs nothing but itself,
// is a model of ours: words.go cuts text into words, vocabulary.go finds their
// rows, format.go is the file, static.go the arithmetic. Package train makes
// such files.
package embed

import (
	"context"
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
	// Documents returns one vector for each of docs, in their order.
	Documents(ctx context.Context, docs []Document) ([][]float32, error)
	// Query returns the vector of a question.
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

// provider is one way to make an Embedder.
type provider struct {
	name string
	// claims reports whether a specification is for this provider.
	claims func(spec string) bool
	open   func(spec string) (Embedder, error)
}

// Default is the specification of the embedder that is used where nobody names
// one: the model that deskhand ships.
const Default = "builtin"

// providers are asked in this order.
var providers = []provider{
	{Default, func(spec string) bool { return spec == Default }, openBuiltin},
	{"none", func(spec string) bool { return spec == "none" }, func(string) (Embedder, error) { return nil, nil }},
	{"a model file (FILE.model)", func(spec string) bool { return strings.HasSuffix(spec, ".model") }, openFile},
}

// Open returns the embedder that spec names: nil for "none", else what one of
// the providers makes of it. The error is fault "bad_embedder" for a
// specification that nobody knows, or the provider's.
func Open(spec string) (Embedder, error) {
	var names []string
	for _, p := range providers {
		if p.claims(spec) {
			return p.open(spec)
		}
		names = append(names, p.name)
	}
	return nil, fault.New("bad_embedder", "there is no embedder "+spec, "use one of: "+strings.Join(names, ", "))
}

// openBuiltin reads the shipped model where it lies in the program, which takes
// microseconds (BenchmarkOpenBuiltin). Its bytes are as whole as the program
// itself; a test verifies them.
func openBuiltin(string) (Embedder, error) { return Parse(model.Weights) }

func openFile(path string) (Embedder, error) {
	m, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	return m, nil
}
