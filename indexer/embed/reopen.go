package embed

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// What an index keeps of its embedder, so that questions are embedded as its
// documents were: the name, and the weights where the name is not enough.

// staticPrefix begins the name of every Static; the rest is of its weights.
const staticPrefix = "static:"

// Weights is the model file that Reopen needs beside e's name; nil where this
// program has it, or where e is no model file.
func Weights(e Embedder) []byte {
	m, ok := e.(*Static)
	if !ok {
		return nil
	}
	if ours, err := Open("builtin"); err == nil && ours.Name() == m.name {
		return nil
	}
	return m.data
}

// Reopen returns the embedder with that name, for the questions to an index.
// weights is what Weights gave; they are kept and used in place, and were
// checked by whoever kept them. Another name is the specification of a provider
// behind a network, see Open; an index has no say in which files are read. The
// error is fault "other_model" where the model is neither in weights nor in this
// program, or that of Parse or Open.
func Reopen(name string, weights []byte) (Embedder, error) {
	if p := providerOf(name); p != nil && p.far {
		return p.open(name, Options{})
	}
	if len(weights) > 0 {
		m, err := Parse(weights)
		if err != nil {
			return nil, err
		}
		if m.name == name {
			return m, nil
		}
	} else if ours, err := Open("builtin"); err == nil && ours.Name() == name {
		return ours, nil
	}
	return nil, fault.New("other_model", fmt.Sprintf("the index was embedded by %s, which is not in this deskhand", name),
		"build the index again: deskhand index")
}

// Fingerprint stands for all that decides the vectors of e as far as this
// program does: its name, and for a model that is computed here some of what
// it computes, since another release may cut words otherwise.
func Fingerprint(e Embedder) string {
	if r, ok := e.(*Remote); ok {
		return r.name + " " + r.habit.fingerprint()
	}
	m, ok := e.(*Static)
	if !ok {
		return e.Name()
	}
	sample := Document{Title: "Install the HTTPServer", Breadcrumb: "Install > Retries", Heading: "Retry with back-off",
		Body: strings.Repeat("Réessayer: set max_retries=3, see `parseURLs`; 機械学習 v1.2. ", 60)}
	vectors, err := m.Documents(context.Background(), []Document{sample})
	if err != nil {
		panic(err) // it has no reason for one without a context that ends
	}
	h := sha256.New()
	for _, x := range vectors[0] {
		var b [4]byte
		binary.LittleEndian.PutUint32(b[:], math.Float32bits(x))
		h.Write(b[:])
	}
	return m.name + " " + hex.EncodeToString(h.Sum(nil))
}
