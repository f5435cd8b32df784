//go:build unix

package proc

import (
	"math"

	"golang.org/x/sys/unix"
)

// Files returns how many files this process may have open. The Go runtime has already raised
// the limit as far as possible.
func Files() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxUint64
	}
	return uint64(limit.Cur) // another type on some systems
}
