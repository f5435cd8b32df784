package train

import "math"

// The initial length of a row is sif/(sif+p) + least, where p is the frequency of its
// token, because rare words are more significant.
const (
	sif   = 3e-4
	least = 0.02
)

// start sets the initial weights.
func (t *trainer) start() error {
	near := t.cooccurrences()
	if t.ctx.Err() != nil {
		return nil
	}
	if t.From != nil {
		t.startFrom(near)
		return nil
	}
	progress := t.counter("start", svdRounds+1)
	t.weights = factor(t.ctx, near, t.Dimensions, t.Seed, progress)
	for i, n := range t.frequency {
		row := t.row(i)
		row[len(row)-1] = 0 // see embed.Static; learning never changes it
		scaleTo(row, sif/(sif+float64(n)/float64(t.report.Tokens))+least)
	}
	return nil
}

func (t *trainer) row(i int) []float32 { return t.weights[i*t.Dimensions : (i+1)*t.Dimensions] }

// startFrom copies the rows of the model to adapt. It sets each new row to the mean
// direction of the known words near it. If there are no such words, it sets the row
// to the sum of the rows of its pieces.
func (t *trainer) startFrom(near sparse) {
	known := t.From.Vocabulary()
	t.weights = make([]float32, t.vocabulary.Len()*t.Dimensions)
	var lengths float64
	for i := range known.Len() {
		t.From.Row(i, t.row(i))
		t.row(i)[t.Dimensions-1] = 0
		lengths += length(t.row(i))
	}
	usual := lengths / math.Max(1, float64(known.Len()))
	for i := known.Len(); i < t.vocabulary.Len(); i++ {
		row := t.row(i)
		for k := near.starts[i]; k < near.starts[i+1]; k++ {
			if c := int(near.columns[k]); c < known.Len() {
				if n := length(t.row(c)); n > 0 {
					addScaled(row, t.row(c), float32(float64(near.values[k])/n))
				}
			}
		}
		if length(row) == 0 {
			for _, r := range known.AppendWord(nil, []byte(t.vocabulary.Token(i)), false) {
				addScaled(row, t.row(int(r)), 1)
			}
		}
		scaleTo(row, usual)
	}
}
