package embed

import (
	"bytes"
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

func TestUnpackedNumbersAreThoseOfTheRow(t *testing.T) {
	for n := 0; n <= 264; n += 8 {
		row, got, want := make([]byte, n/2), make([]byte, n+2), make([]byte, n+2)
		for i := range row {
			row[i] = byte(i*37 + n*91)
		}
		for i := range want {
			got[i], want[i] = 77, 77 // what lies behind must stay
			if i < n {
				want[i] = byte(int8(row[i/2]<<(4-4*(i%2))) >> 4)
			}
		}
		unpackRow(got[:n], row)
		if !bytes.Equal(got, want) {
			t.Fatalf("%d numbers: unpackRow = %v, want %v", n, got, want)
		}
		unpackRowGo(got[:n], row)
		if !bytes.Equal(got, want) {
			t.Fatalf("%d numbers: unpackRowGo = %v, want %v", n, got, want)
		}
	}
}
