//go:build !windows

package artifact

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncFolder ensures that renames in dir survive a system crash.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// forget tells the system that the pages within data[from:to] need not stay in this
// process's memory. data is a mapped file. Pages that are read again come back from the
// system's cache.
func forget(data []byte, from, to uint64) {
	page := uint64(os.Getpagesize())
	from, to = (from+page-1)/page*page, to/page*page
	if from < to {
		_ = unix.Madvise(data[from:to], unix.MADV_DONTNEED) // otherwise they stay
	}
}

// separate makes data[from:to] a mapping of its own. When another part of data is read, the
// system then does not map pages of this part along with it. data is a mapped file.
func separate(data []byte, from, to uint64) {
	page := uint64(os.Getpagesize())
	from, to = (from+page-1)/page*page, to/page*page
	if from < to {
		_ = unix.Madvise(data[from:to], unix.MADV_RANDOM) // otherwise they are mapped along
	}
}
