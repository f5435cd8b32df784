package train

import (
	"math"
	"testing"
)

// dense makes a sparse matrix of all its cells.
func dense(cells [][]float32) sparse {
	m := sparse{starts: []int{0}}
	for _, row := range cells {
		for j, x := range row {
			if x != 0 {
				m.columns, m.values = append(m.columns, uint16(j)), append(m.values, x)
			}
		}
		m.starts = append(m.starts, len(m.columns))
	}
	return m
}

func TestFactorKeepsBlocksTogether(t *testing.T) {
	const n, block = 64, 8
	cells := make([][]float32, n)
	for i := range cells {
		cells[i] = make([]float32, n)
		for j := range cells[i] {
			if i/block == j/block && i != j {
				cells[i][j] = 1 + float32(i/block)/8
			}
		}
	}
	rows := factor(t.Context(), dense(cells), 8, 1, func() {})
	at := func(i int) []float32 { return rows[i*8 : i*8+8] }
	for i := range n {
		if l := length(at(i)); math.Abs(l-1) > 1e-4 {
			t.Fatalf("row %d has the length %g, want 1", i, l)
		}
		for j := range n {
			near := 0.0
			for d, x := range at(i) {
				near += float64(x) * float64(at(j)[d])
			}
			if want := i/block == j/block; want != (near > 0.9) {
				t.Errorf("cosine of rows %d and %d = %.2f; same block: %v", i, j, near, want)
			}
		}
	}
}

func TestEigenSolvesASymmetricMatrix(t *testing.T) {
	const n = 12
	a := gaussian(n*n, 5)
	for i := range n {
		for j := range i {
			a[i*n+j] = a[j*n+i]
		}
	}
	values, vectors := eigen(a, n)
	for v := range n {
		for i := range n {
			got := 0.0
			for j := range n {
				got += float64(a[i*n+j]) * vectors[v*n+j]
			}
			if want := values[v] * vectors[v*n+i]; math.Abs(got-want) > 1e-6 {
				t.Fatalf("(A x)[%d] of eigenvector %d = %g, want %g", i, v, got, want)
			}
		}
	}
}

func TestFactorOfNothingIsRandomDirections(t *testing.T) {
	m := sparse{starts: make([]int, 41)}
	rows := factor(t.Context(), m, 16, 1, func() {})
	for i := range 40 {
		if l := length(rows[i*16 : i*16+16]); math.Abs(l-1) > 1e-4 {
			t.Errorf("row %d has the length %g, want 1", i, l)
		}
	}
}
