//go:build !windows

package artifact

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// ErrLocked is the error of LockFile if another process has the lock.
var ErrLocked = errors.New("locked")

// LockFile opens path, creating it if needed, and locks it while it is open. The system
// releases the lock when the process exits for any reason.
func LockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, err
	}
	return f, nil
}

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
