package search

import "math"

// A row's vector is that of a short section: of its words and those of the
// headings together, of the headings once more, and of the row by rowShare once
// more. As a section's, it is less near to anything if it has little prose.
const rowShare = 0.5

// bestRow is the place of the row of t that is nearest to the question, and its
// cosine; without rows, -1 and that of the headings by half.
func (c *closeup) bestRow(t *closeText) (best int, cosine, headCosine float64) {
	headAlong, headSquare := c.alongOf(c.span(t, t.head)), t.headSquare
	if headSquare > 0 {
		headCosine = headAlong / math.Sqrt(headSquare)
	}
	best, cosine = -1, headCosine/2
	for i, row := range t.rows {
		square, both := row.square, row.withHead
		if square == 0 {
			continue
		}
		along := c.alongOf(c.span(t, row.tokens))
		whole := math.Sqrt(max(1e-9, square+headSquare+2*both))
		ofHead, ofRow := 1/whole, 1/whole+rowShare/math.Sqrt(square)
		if headSquare > 0 {
			ofHead += 1 / math.Sqrt(headSquare)
		}
		length := math.Sqrt(max(1e-9, ofHead*ofHead*headSquare+ofRow*ofRow*square+2*ofHead*ofRow*both))
		near := (ofHead*headAlong + ofRow*along) / length * proseShares[min(int(row.prose), len(proseShares)-1)]
		if best < 0 || near > cosine {
			best, cosine = i, near
		}
	}
	return best, cosine, headCosine
}
