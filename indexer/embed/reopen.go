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

// This file defines what an index stores about its embedder, so that questions are
// embedded in the same way as the documents. It stores the embedder's name, and also
// the weights if the name alone does not identify the model.

// staticPrefix is the prefix of every Static's name. The rest of the name identifies
// the weights.
const staticPrefix = "static:"

// Weights returns the model file that Reopen needs in addition to e's name. It returns
// nil if this program contains the file or if e is not a model file.
func Weights(e Embedder) []byte {
	m, ok := e.(*Static)
	if !ok {
		return nil
	}
	if included(m.name) != nil {
		return nil
	}
	return m.data
}

// Reopen returns the embedder with the given name, to embed questions for an index.
// weights is the result of Weights. Reopen retains it and uses it in place without
// verifying it. A name that is not a Static's name must be the specification of a
// network provider (see Open), because an index must not be able to select files to
// read. Reopen returns fault "other_model" if the model is neither in weights nor in
// this program. It may also return an error from Parse or Open.
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
	} else if m := included(name); m != nil {
		return m, nil
	}
	return nil, fault.New("other_model", fmt.Sprintf("the index uses the embedding model %s, which this deskhand does not have", name),
		"rebuild the index: deskhand index")
}

// included returns the model of this program with the given name, or nil. It opens the
// multilingual one only if the name is not that of the built-in one.
func included(name string) *Static {
	for _, open := range []func() (*Static, error){includedModel, multilingualModel} {
		if m, err := open(); err == nil && m.name == name {
			return m
		}
	}
	return nil
}

// Fingerprint identifies everything in this program that affects e's vectors. It
// covers e's name. For a local model, it also covers a sample of the results, because
// another release may split words differently.
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
		panic(err) // Documents fails only if its context is cancelled
	}
	h := sha256.New()
	for _, x := range vectors[0] {
		var b [4]byte
		binary.LittleEndian.PutUint32(b[:], math.Float32bits(x))
		h.Write(b[:])
	}
	return m.name + " " + hex.EncodeToString(h.Sum(nil))
}
