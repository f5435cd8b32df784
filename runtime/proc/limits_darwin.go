package proc

import (
	"math"

	"golang.org/x/sys/unix"
)

func systemMemory() uint64 {
	if n, err := unix.SysctlUint64("hw.memsize"); err == nil {
		return n
	}
	return math.MaxUint64
}
