package artifact

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestKindsAreThoseOfEachByte(t *testing.T) {
	for first := range 256 {
		var block [64]byte
		for i := range block {
			block[i] = byte(first + 7*i)
		}
		word, upper, odd := kinds(&block)
		for i, c := range block {
			bit := func(of uint64) bool { return of>>i&1 == 1 }
			if bit(word) != (c < utf8.RuneSelf && asciiWord[c]) || bit(upper) != isUpper(c) || bit(odd) != (c >= utf8.RuneSelf) {
				t.Fatalf("kinds(% x) at %d = %v %v %v for %q", block, i, bit(word), bit(upper), bit(odd), c)
			}
		}
	}
}

func TestWantedTermsAreFoundOnBothSidesOfABlock(t *testing.T) {
	for n := range 130 {
		checkTerms(t, strings.Repeat("-", n)+"x-ray fooBar a.b "+strings.Repeat("y", n)+" Zoo")
	}
}

func BenchmarkWantedTerms(b *testing.B) {
	text := strings.Repeat("The deskhand index command turns a folder of markdown (see `--output`) into an index. ", 20)
	a := Analyzer{Wanted: new(Wanted)}
	a.Wanted.Add("folder")
	a.Wanted.Add("the")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		a.Terms(text)
	}
}
