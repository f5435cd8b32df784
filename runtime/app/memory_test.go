package app

import (
	"math"
	"testing"
)

func TestMemoryIsForWhatAServerKeeps(t *testing.T) {
	for kept, want := range map[uint64]int64{0: 128 << 20, 40 << 20: 128 << 20, 100 << 20: 232 << 20, 1 << 30: 2<<30 + 32<<20} {
		if got := memoryFor(kept); got != want {
			t.Errorf("memoryFor(%d MiB) = %d MiB, want %d", kept>>20, got>>20, want>>20)
		}
	}
	if memoryFor(math.MaxUint64) < 0 {
		t.Error("there is a bound that is none")
	}
	if live() == 0 {
		t.Error("nothing says what is in use")
	}
}
