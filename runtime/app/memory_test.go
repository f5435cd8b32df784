package app

import (
	"math"
	"runtime"
	"testing"
)

func TestMemoryIsForWhatAServerKeeps(t *testing.T) {
	for _, c := range []struct {
		kept, now, beside uint64
		want              int64
	}{
		{0, 0, 0, 48 << 20},
		{10 << 20, 10 << 20, 10 << 20, 48 << 20},
		{100 << 20, 100 << 20, 0, 212 << 20},
		{1 << 30, 1 << 30, 0, 2<<30 + 12<<20},
		{10 << 20, 10 << 20, 60 << 20, 92 << 20}, // thousands of streams have stacks
		{10 << 20, 80 << 20, 0, 132 << 20},       // a large call: what is in use fits, with room for garbage
	} {
		if got := memoryFor(leastMemory, c.kept, c.now, c.beside); got != c.want {
			t.Errorf("memoryFor(%d MiB, %d MiB, %d MiB) = %d MiB, want %d", c.kept>>20, c.now>>20, c.beside>>20, got>>20, c.want>>20)
		}
	}
	if got := memoryFor(leastMemoryOfShelf, 13<<20, 13<<20, 3<<20); got != 40<<20 {
		t.Errorf("for a shelf of 200 libraries, the limit is %d MiB, want 40", got>>20)
	}
	if memoryFor(leastMemory, math.MaxUint64, math.MaxUint64, math.MaxUint64) < 0 {
		t.Error("there is a bound that is none")
	}
	if beside() == 0 {
		t.Error("nothing says what is used beside the heap")
	}
	runtime.GC()
	if live() == 0 {
		t.Error("nothing says what is in use")
	}
}
