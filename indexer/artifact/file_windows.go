package artifact

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
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
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if err != nil {
		f.Close()
		if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
			return nil, ErrLocked
		}
		return nil, err
	}
	return f, nil
}

// syncFolder does nothing, because Windows has no such call and records renames in its
// journal.
func syncFolder(string) error { return nil }

// forget does nothing: the system trims mapped pages by itself.
func forget([]byte, uint64, uint64) {}

// separate does nothing: the system maps only pages that are read.
func separate([]byte, uint64, uint64) {}
