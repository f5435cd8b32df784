package train

import (
	"cmp"
	"context"
	"math"
	"slices"
)

const (
	svdRounds  = 4
	svdSpare   = 16   // extra columns, which improve the accuracy of the others
	eigenPower = 0.35 // the size of each dimension is its eigenvalue raised to this power
)

// factor returns rows of the given number of dimensions whose dot products approximate
// m. It uses m's largest eigenvectors, found by subspace iteration from a random start.
// Each row has length 1. If a row has no neighbours, its direction is random.
// dimensions must be a multiple of 8 and at most the number of rows of m.
func factor(ctx context.Context, m sparse, dimensions int, seed uint64, progress func()) []float32 {
	rows := len(m.starts) - 1
	wide := min(dimensions+svdSpare, rows/8*8)
	x, y := gaussian(rows*wide, seed), make([]float32, rows*wide)
	for range svdRounds {
		m.times(ctx, x, y, wide)
		orthonormal(ctx, y, x, wide)
		progress()
	}
	m.times(ctx, x, y, wide)
	values, vectors := eigen(gram(ctx, x, y, wide), wide)
	out := project(ctx, x, wide, values, vectors, dimensions)
	r := randomOf(seed, 4)
	for i := range rows {
		row := out[i*dimensions : (i+1)*dimensions]
		if length(row) < 1e-6 {
			copy(row, gaussian(dimensions, r.Uint64()))
		}
		scaleTo(row, 1)
	}
	progress()
	return out
}

func gaussian(n int, seed uint64) []float32 {
	r := randomOf(seed, 3)
	out := make([]float32, n)
	for i := range out {
		u, v := float64(r.Uint64()>>11|1)/(1<<53), float64(r.Uint64()>>11)/(1<<53)
		out[i] = float32(math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v))
	}
	return out
}

// times sets y to m*x. x and y have wide columns.
func (m sparse) times(ctx context.Context, x, y []float32, wide int) {
	blocks(ctx, len(m.starts)-1, 64, func(from, to int) {
		for i := from; i < to; i++ {
			row := y[i*wide : (i+1)*wide]
			clear(row)
			for k := m.starts[i]; k < m.starts[i+1]; k++ {
				c := int(m.columns[k])
				addScaled(row, x[c*wide:(c+1)*wide], m.values[k])
			}
		}
	})
}

// gram returns the product of x's transpose and y.
func gram(ctx context.Context, x, y []float32, wide int) []float32 {
	out := make([]float32, wide*wide)
	blocks(ctx, wide, 8, func(from, to int) {
		for i := 0; i < len(x); i += wide {
			for a := from; a < to; a++ {
				addScaled(out[a*wide:(a+1)*wide], y[i:i+wide], x[i+a])
			}
		}
	})
	return out
}

// orthonormal sets out to an orthonormal basis of y's columns. It uses the Cholesky
// factor of the columns' dot products.
func orthonormal(ctx context.Context, y, out []float32, wide int) {
	inverse := invertedCholesky(gram(ctx, y, y, wide), wide)
	multiply(ctx, y, wide, inverse, wide, out)
}

// multiply sets out to the product of the matrices x and by. The rows of x have
// length wide. The matrix by has wide rows and the given number of columns.
func multiply(ctx context.Context, x []float32, wide int, by []float32, columns int, out []float32) {
	blocks(ctx, len(x)/wide, 64, func(from, to int) {
		for i := from; i < to; i++ {
			row := out[i*columns : (i+1)*columns]
			clear(row)
			for k, f := range x[i*wide : (i+1)*wide] {
				addScaled(row, by[k*columns:(k+1)*columns], f)
			}
		}
	})
}

// invertedCholesky returns the inverse of R, where g is the transpose of R times R and
// R is upper triangular.
func invertedCholesky(g []float32, n int) []float32 {
	r := make([]float64, n*n)
	most := 0.0
	for i := range n {
		most = max(most, float64(g[i*n+i]))
	}
	for i := range n {
		for j := i; j < n; j++ {
			s := float64(g[i*n+j])
			for k := range i {
				s -= float64(r[k*n+i] * r[k*n+j])
			}
			if i == j {
				s = math.Sqrt(max(s, 1e-7*most+1e-30)) // prevents zero for linearly dependent columns
			} else {
				s /= r[i*n+i]
			}
			r[i*n+j] = s
		}
	}
	out := make([]float32, n*n)
	column := make([]float64, n)
	for j := range n {
		for i := j; i >= 0; i-- {
			s := 0.0
			if i == j {
				s = 1
			}
			for k := i + 1; k <= j; k++ {
				s -= float64(r[i*n+k] * column[k])
			}
			column[i] = s / r[i*n+i]
			out[i*n+j] = float32(column[i])
		}
	}
	return out
}

// eigen returns the eigenvalues of the symmetric matrix a32 and its eigenvectors, one
// per row, using cyclic Jacobi rotations.
func eigen(a32 []float32, n int) (values []float64, vectors []float64) {
	a := make([]float64, n*n)
	for i := range n {
		for j := range n {
			a[i*n+j] = (float64(a32[i*n+j]) + float64(a32[j*n+i])) / 2
		}
	}
	vectors = make([]float64, n*n)
	for i := range n {
		vectors[i*n+i] = 1
	}
	const sweeps = 12
	for range sweeps {
		off, all := 0.0, 0.0
		for i, x := range a {
			all += float64(x * x)
			if i/n != i%n {
				off += float64(x * x)
			}
		}
		if off <= 1e-16*all {
			break
		}
		for p := range n {
			for q := p + 1; q < n; q++ {
				rotate(a, vectors, n, p, q)
			}
		}
	}
	values = make([]float64, n)
	for i := range n {
		values[i] = a[i*n+i]
	}
	return values, vectors
}

// rotate applies a rotation that sets a[p][q] to zero.
func rotate(a, vectors []float64, n, p, q int) {
	if a[p*n+q] == 0 {
		return
	}
	theta := (a[q*n+q] - a[p*n+p]) / (2 * a[p*n+q])
	t := math.Copysign(1, theta) / (math.Abs(theta) + math.Sqrt(float64(theta*theta)+1))
	c := 1 / math.Sqrt(float64(t*t)+1)
	s := t * c
	for k := range n {
		x, y := a[k*n+p], a[k*n+q]
		a[k*n+p], a[k*n+q] = float64(c*x)-float64(s*y), float64(s*x)+float64(c*y)
	}
	turn(a[p*n:p*n+n], a[q*n:q*n+n], c, s)
	turn(vectors[p*n:p*n+n], vectors[q*n:q*n+n], c, s)
}

func turn(p, q []float64, c, s float64) {
	q = q[:len(p)]
	for k, x := range p {
		y := q[k]
		p[k], q[k] = float64(c*x)-float64(s*y), float64(s*x)+float64(c*y)
	}
}

// project returns x in the coordinates of the largest eigenvectors.
func project(ctx context.Context, x []float32, wide int, values, vectors []float64, dimensions int) []float32 {
	order := make([]int, wide)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(values[b]), math.Abs(values[a])) })
	by := make([]float32, wide*dimensions)
	for j, v := range order[:min(dimensions, wide)] {
		size := math.Pow(math.Abs(values[v]), eigenPower)
		for i := range wide {
			by[i*dimensions+j] = float32(vectors[v*wide+i] * size)
		}
	}
	out := make([]float32, len(x)/wide*dimensions)
	multiply(ctx, x, wide, by, dimensions, out)
	return out
}

func length(v []float32) float64 {
	s := 0.0
	for _, x := range v {
		s += float64(x * x)
	}
	return math.Sqrt(s)
}

func scaleTo(v []float32, to float64) {
	if n := length(v); n > 0 {
		f := float32(to / n)
		for i := range v {
			v[i] *= f
		}
	}
}
