package train

import (
	"math"
	"runtime"
	"testing"
)

func TestVectorInstructionsGiveTheSameBits(t *testing.T) {
	if !hasAVX {
		t.Skipf("NOT TESTED: this machine (%s) has no vector kernel to compare with the portable one", runtime.GOARCH)
	}
	for n := 8; n <= 136; n += 32 {
		x, rows := gaussian(n, 1), gaussian(4*n, 2)
		factors := [4]float32{0.3, -1.7, 1e-3, 12}
		fast, plain := gaussian(n, 3), gaussian(n, 3)
		addScaled(fast, x, 0.7)
		addScaledGo(plain, x, 0.7)
		addScaled4(fast, rows, &factors)
		addScaled4Go(plain, rows, &factors)
		same(t, "addScaled", fast, plain)

		var fastLanes, plainLanes [32]float32
		dot4AVX(&x[0], &rows[0], n, &fastLanes)
		dot4Go(x, rows, &plainLanes)
		same(t, "dot4", fastLanes[:], plainLanes[:])
	}
}

func same(t *testing.T, what string, fast, plain []float32) {
	t.Helper()
	for i := range fast {
		if math.Float32bits(fast[i]) != math.Float32bits(plain[i]) {
			t.Fatalf("%s of %d: number %d is %g with vector instructions, %g without", what, len(fast), i, fast[i], plain[i])
		}
	}
}

func TestDot4IsFourInnerProducts(t *testing.T) {
	x, rows := gaussian(24, 1), gaussian(96, 2)
	var got [4]float32
	dot4(x, rows, &got)
	for r := range got {
		want := 0.0
		for i := range x {
			want += float64(x[i]) * float64(rows[24*r+i])
		}
		if math.Abs(float64(got[r])-want) > 1e-4 {
			t.Errorf("dot4[%d] = %g, want %g", r, got[r], want)
		}
	}
}

func TestExpIsCloseEnough(t *testing.T) {
	for x := -30.0; x < 1; x += 0.0137 {
		if got, want := float64(exp(float32(x))), math.Exp(float64(float32(x))); math.Abs(got-want) > 2e-6*want {
			t.Errorf("exp(%g) = %g, want %g", x, got, want)
		}
	}
}
