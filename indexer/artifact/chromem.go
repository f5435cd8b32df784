package artifact

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/philippgille/chromem-go"
)

// UseChromem makes Nearest search a chromem-go collection instead of the index's vector
// section. The collection serves as a reference for testing scan. It holds every vector
// in memory, with 32 bits per number, and takes about fifty times as long. UseChromem
// must not be called while the reader is in use.
func (r *Reader) UseChromem() (err error) {
	defer contain(&err)()
	v := r.vectors()
	if v.n == 0 {
		return nil
	}
	v.chromem, err = chromem.NewDB().CreateCollection("chunks", nil, func(context.Context, string) ([]float32, error) {
		return nil, errors.New("a chunk has no vector")
	})
	if err != nil {
		return fmt.Errorf("fill chromem: %w", err)
	}
	for chunk := range r.chunks {
		row, scale := v.row(chunk)
		if scale == 0 {
			continue
		}
		unit := make([]float32, len(row))
		for d, x := range row {
			unit[d] = float32(int8(x)) * scale
		}
		if err := v.chromem.AddDocument(context.Background(), chromem.Document{ID: strconv.Itoa(chunk), Embedding: unit}); err != nil {
			return fmt.Errorf("fill chromem: %w", err)
		}
	}
	return nil
}

// ask does the same as scan, but uses chromem. If several chunks have the same
// similarity, chromem may drop any of them. ask therefore requests all chunks if the
// last ones in the result may be equal. It also requests all chunks if keep is set,
// because chromem's filters cannot express keep.
func (v *vectors) ask(unit []float32, k int, keep func(int) bool) (found []Scored, best int, err error) {
	all := v.chromem.Count()
	n := min(k, all)
	if keep != nil {
		n = all
	}
	results, err := v.chromem.QueryEmbedding(context.Background(), unit, n, nil, nil)
	if err == nil && n < all && results[n-1].Similarity >= results[n-margin].Similarity {
		results, err = v.chromem.QueryEmbedding(context.Background(), unit, all, nil, nil)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("query chromem: %w", err)
	}
	best = -1
	for i, result := range results {
		chunk, err := strconv.Atoi(result.ID)
		if err != nil {
			return nil, 0, fmt.Errorf("query chromem: %w", err)
		}
		if i == 0 {
			best = chunk
		}
		if keep == nil || keep(chunk) {
			found = append(found, Scored{chunk, float64(result.Similarity)})
		}
	}
	return found, best, nil
}
