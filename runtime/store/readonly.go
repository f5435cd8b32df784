package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"modernc.org/sqlite"
)

// ReadOnlyError reports that the folder of a SQLite store is not writable.
// Reading also needs a writable folder, because SQLite first creates an index
// of its log next to the database. The index already exists if another process
// has the store open, or was killed while it had the store open. SQLite's
// immutable mode would not need the index, but gives wrong results while
// another process writes to the database.
type ReadOnlyError struct {
	Folder string
	Cause  error // the system's error: read-only file system or permission denied
	Err    error // the database's error
}

func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("the state folder %s is read-only (%v)", e.Folder, e.Cause)
}

func (e *ReadOnlyError) Unwrap() error { return e.Err }

// readOnly converts err to a [*ReadOnlyError] if err was caused by a folder
// that is not writable. To find out, it tries to create a file in the folder.
func (db *DB) readOnly(err error) error {
	var lite *sqlite.Error
	var path *fs.PathError
	switch {
	case err == nil || IsPostgres(db.place) || errors.As(err, new(*ReadOnlyError)):
		return err
	case errors.As(err, &lite) && !unwritable[lite.Code()&0xff]:
		return err
	case lite == nil && !errors.As(err, &path):
		return err
	}
	f, cause := os.CreateTemp(db.place, ".writable-*")
	if cause == nil {
		f.Close()
		os.Remove(f.Name())
		return err
	}
	if !errors.Is(cause, fs.ErrPermission) && !errors.Is(cause, syscall.EROFS) {
		return err
	}
	if errors.As(cause, &path) {
		cause = path.Err
	}
	return &ReadOnlyError{db.place, cause, err}
}

// unwritable holds the low bytes of the SQLite result codes for failed writes:
// SQLITE_READONLY for the database file, and SQLITE_CANTOPEN for a file next to
// it.
var unwritable = map[int]bool{8: true, 14: true}
