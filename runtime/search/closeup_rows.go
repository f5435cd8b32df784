package search

import "math"

// A row's vector is that of a short section: of its words and those of the
// headings together, of the headings once more, and of the row by rowShare once
// more. As a section's, it is less near to anything if it has little prose.
const rowShare = 0.5

// bestRow is the place of the row of t that is nearest to the question, and its
// cosine; without rows, -1 and that of the headings by half.
func (c *closeup) bestRow(t *closeText) (best int, cosine, headCosine float64) {
	c.head, c.line = resized(c.head, c.model.Dimensions()), resized(c.line, c.model.Dimensions())
	headAlong := c.sum(c.head, t.head)
	headSquare := product(c.head, c.head)
	if headSquare > 0 {
		headCosine = headAlong / math.Sqrt(headSquare)
	}
	best, cosine = -1, headCosine/2
	for i, row := range t.rows {
		along := c.sum(c.line, row.tokens)
		square := product(c.line, c.line)
		if square == 0 {
			continue
		}
		both := product(c.line, c.head)
		whole := math.Sqrt(max(1e-9, square+headSquare+2*both))
		ofHead, ofRow := 1/whole, 1/whole+rowShare/math.Sqrt(square)
		if headSquare > 0 {
			ofHead += 1 / math.Sqrt(headSquare)
		}
		length := math.Sqrt(max(1e-9, ofHead*ofHead*headSquare+ofRow*ofRow*square+2*ofHead*ofRow*both))
		near := (ofHead*headAlong + ofRow*along) / length * proseShares[min(row.prose, len(proseShares)-1)]
		if best < 0 || near > cosine {
			best, cosine = i, near
		}
	}
	return best, cosine, headCosine
}

func product(a, b []float32) float64 {
	var sum [4]float32 // four, so that one addition need not wait for the one before
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		sum[0] += float32(a[i] * b[i]) // not fused, so that all machines agree
		sum[1] += float32(a[i+1] * b[i+1])
		sum[2] += float32(a[i+2] * b[i+2])
		sum[3] += float32(a[i+3] * b[i+3])
	}
	for ; i < len(a); i++ {
		sum[0] += float32(a[i] * b[i])
	}
	return float64(sum[0]+sum[1]) + float64(sum[2]+sum[3])
}
