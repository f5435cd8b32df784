package search

import "context"

// vector is the vector of a question; nil: there is none, and why.
func (ed *edition) vector(ctx context.Context, text string) (v []float32, why string) {
	if ed.embedder == nil {
		return nil, ""
	}
	v, err := ed.embedder.Query(ctx, text)
	if err != nil {
		return nil, err.Error()
	}
	return v, ""
}
