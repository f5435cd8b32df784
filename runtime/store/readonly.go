package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"modernc.org/sqlite"
)

// ReadOnlyError reports that the folder of a SQLite store cannot be written.
// Reading needs a writable folder too, unless another process has the store
// open or was killed while it had: SQLite first creates an index of its log
// beside the database. Opening the database as immutable would be wrong while a
// process elsewhere writes to it.
type ReadOnlyError struct {
	Folder string
	Cause  error // of the system: a read-only file system, or permission denied
	Err    error // of the database
}

func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("the state folder %s is read-only (%v)", e.Folder, e.Cause)
}

func (e *ReadOnlyError) Unwrap() error { return e.Err }

// readOnly makes a [*ReadOnlyError] of err, if the reason is that the folder
// cannot be written, which it tries.
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

// unwritable has the low bytes of what SQLite says where it cannot write: its
// own file, and one beside it.
var unwritable = map[int]bool{8: true, 14: true}
