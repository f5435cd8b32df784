package artifact

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// largest is the largest number that rounded puts into a query.
func largest(stride int) int { return min(math.MaxInt16, math.MaxInt32/(128*stride)) }

func TestKernelIsThePortableOne(t *testing.T) {
	if !hasKernel {
		t.Logf("NOT TESTED: this machine (%s) has no kernel; the portable one, which it uses, is tested by TestNearestIsExact", runtime.GOARCH)
		fmt.Println("indexer/artifact: the kernel for vectors is not tested on this machine, which has none")
		return
	}
	rng := rand.New(rand.NewPCG(5, 6))
	fills := map[string]func(most int) (query int16, number byte){
		"chance":    func(most int) (int16, byte) { return int16(rng.IntN(2*most+1) - most), byte(rng.IntN(256)) },
		"least":     func(most int) (int16, byte) { return int16(-most), 0x80 },
		"most":      func(most int) (int16, byte) { return int16(most), 127 },
		"opposites": func(most int) (int16, byte) { return int16(most), 0x80 },
		"signs":     func(most int) (int16, byte) { return int16(most * (1 - 2*rng.IntN(2))), byte(127 + rng.IntN(2)) },
		"zeros":     func(int) (int16, byte) { return 0, 0 },
	}
	for stride := rowAlign; stride <= MaxDimensions; stride += rowAlign {
		if stride > 2048 && stride%1024 != 0 {
			continue
		}
		for name, fill := range fills {
			for _, n := range []int{0, 1, 2, 3, 7} {
				query, rows := make([]int16, stride), make([]byte, n*stride)
				for i := range query {
					query[i], _ = fill(largest(stride))
				}
				for i := range rows {
					_, rows[i] = fill(largest(stride))
				}
				// What lies behind must stay as it is.
				want, got := slices.Repeat([]int32{7}, n+2), slices.Repeat([]int32{7}, n+2)
				dotsGo(want[:n], query, rows)
				dots(got[:n], query, rows)
				if !slices.Equal(got, want) {
					t.Fatalf("%s, %d rows of %d: dots = %v, want %v", name, n, stride, got, want)
				}
			}
		}
	}
}

func TestPortableKernelIsAPlainSum(t *testing.T) {
	query, rows := make([]int16, 128), make([]byte, 256)
	var want [2]int32
	for i := range rows {
		query[i%128], rows[i] = int16(i%128*500-32000), byte(i*7)
	}
	for i := range rows {
		want[i/128] += int32(query[i%128]) * int32(int8(rows[i]))
	}
	var got [2]int32
	if dotsGo(got[:], query, rows); got != want {
		t.Errorf("dotsGo = %v, want %v", got, want)
	}
}

func BenchmarkKernel(b *testing.B) {
	const stride = 256
	query, rows, out := make([]int16, stride), make([]byte, blockRows*stride), make([]int32, blockRows)
	for name, kernel := range map[string]func([]int32, []int16, []byte){"used": dots, "portable": dotsGo} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(rows)))
			for b.Loop() {
				kernel(out, query, rows)
			}
		})
	}
}
