package embed

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
)

// With returns a model that knows the words of m and those of added. The rows of m come
// first, so each keeps its number and its vector. A word that both know has the vector
// in added, because added is made for texts in which m does not understand that word.
// It returns an error if the dimensions differ or if there are too many rows.
func (m *Static) With(added *Static) (*Static, error) {
	if m.dimensions != added.dimensions {
		return nil, errors.New("the models have different dimensions")
	}
	v, err := m.vocabulary.With(&added.vocabulary)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(m.name + " " + added.name))
	return &Static{
		name: staticPrefix + hex.EncodeToString(sum[:8]), dimensions: m.dimensions, vocabulary: *v,
		scales: slices.Concat(m.scales, added.scales), rows: slices.Concat(m.rows, added.rows),
	}, nil
}
