package embed

import (
	"math"
	"runtime"
	"testing"
)

func TestVectorInstructionsGiveTheSameBits(t *testing.T) {
	if !hasAVX2 {
		t.Logf("NOT COMPARED: this machine (%s) has no kernel, so both sides are the portable one, which it uses", runtime.GOARCH)
	}
	for n := 8; n <= 264; n += 64 {
		fast, plain, row := make([]float32, n), make([]float32, n), make([]byte, n/2)
		for round := range 50 {
			for i := range row {
				row[i] = byte(i*37 + round*91)
			}
			factor := float32(math.Sin(float64(round)))
			addRow(fast, row, factor)
			addRowGo(plain, row, factor)
		}
		for i := range fast {
			if math.Float32bits(fast[i]) != math.Float32bits(plain[i]) {
				t.Fatalf("n=%d: sum[%d] = %g with vector instructions, %g without", n, i, fast[i], plain[i])
			}
		}
	}
}
