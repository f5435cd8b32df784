package train

// The inner loops. On amd64 with AVX, they process eight lanes at a time
// (kernel_amd64.s). The Go versions in this file perform the same operations in the
// same order and round after each operation, so that both versions produce
// bit-identical results. They convert each product to float32 before adding it,
// because this prevents the compiler from fusing the two operations.

// addScaled adds factor*x to y. x and y must have the same length, a multiple of
// 8.
func addScaled(y, x []float32, factor float32) {
	x = x[:len(y)]
	if hasAVX && len(y) > 0 {
		addScaledAVX(&y[0], &x[0], len(y), factor)
		return
	}
	addScaledGo(y, x, factor)
}

func addScaledGo(y, x []float32, factor float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] += float32(factor * x[i])
	}
}

// addScaled4 adds the four rows of x to y, one after another, each multiplied by its
// factor. Each row is as long as y.
func addScaled4(y, x []float32, factors *[4]float32) {
	x = x[:4*len(y)]
	if hasAVX && len(y) > 0 {
		addScaled4AVX(&y[0], &x[0], len(y), factors)
		return
	}
	addScaled4Go(y, x, factors)
}

func addScaled4Go(y, x []float32, factors *[4]float32) {
	for r, f := range factors {
		addScaledGo(y, x[r*len(y):], f)
	}
}

// dot4 sets out to the dot products of x and four rows, each as long as x.
func dot4(x, rows []float32, out *[4]float32) {
	var lanes [32]float32
	rows = rows[:4*len(x)]
	if hasAVX && len(x) > 0 {
		dot4AVX(&x[0], &rows[0], len(x), &lanes)
	} else {
		dot4Go(x, rows, &lanes)
	}
	for r := range out {
		out[r] = sumLanes(lanes[8*r : 8*r+8])
	}
}

func dot4Go(x, rows []float32, lanes *[32]float32) {
	for r := range 4 {
		row, l := rows[r*len(x):(r+1)*len(x)], lanes[8*r:8*r+8]
		for i := 0; i+8 <= len(x); i += 8 {
			a, b := x[i:i+8], row[i:i+8]
			for k := range 8 {
				l[k] += float32(a[k] * b[k])
			}
		}
	}
}

func sumLanes(l []float32) float32 {
	_ = l[7]
	return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
}
