// Package scratch creates temporary folders that are deleted even if their process is killed:
// the next process that creates one deletes those whose processes have ended.
package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/deskhand/deskhand/runtime/filelock"
)

// Folder is a temporary folder that belongs to this process.
type Folder struct {
	// Path is the folder's path.
	Path string
	lock *os.File // beside the folder, locked while the process needs it
}

// The names of a folder and of its lock file. Between the two parts is the folder's kind and
// a random number.
const (
	prefix = "deskhand-"
	suffix = ".lock"
)

var sweepOnce sync.Once

// New creates a folder in the system's temporary folder. kind becomes part of its name. The
// first call also deletes the folders of processes that were killed. The caller must close
// the folder.
func New(kind string) (*Folder, error) {
	sweepOnce.Do(func() { sweep(os.TempDir()) })
	return create(os.TempDir(), kind)
}

// create creates a folder in the folder in.
func create(in, kind string) (*Folder, error) {
	for {
		f, err := os.CreateTemp(in, prefix+kind+"-*"+suffix)
		if err != nil {
			return nil, err
		}
		f.Close()
		lock, err := filelock.Lock(f.Name())
		if errors.Is(err, filelock.ErrLocked) {
			continue // another process took the new file for one that was left behind
		}
		if err != nil {
			return nil, err
		}
		folder := &Folder{strings.TrimSuffix(f.Name(), suffix), lock}
		if !folder.isOwn() {
			lock.Close()
			continue
		}
		err = os.Mkdir(folder.Path, 0o700)
		if err == nil {
			return folder, nil
		}
		folder.unlock()
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
}

// isOwn reports whether the lock file is still in place. Another process may have deleted it
// before it was locked.
func (f *Folder) isOwn() bool {
	held, err := f.lock.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(f.lock.Name())
	return err == nil && os.SameFile(held, there)
}

// Close deletes the folder. f may be nil.
func (f *Folder) Close() error {
	if f == nil {
		return nil
	}
	err := os.RemoveAll(f.Path)
	f.unlock()
	return err
}

// unlock deletes the lock file. Windows does not delete open files.
func (f *Folder) unlock() {
	err := os.Remove(f.lock.Name())
	f.lock.Close()
	if err != nil {
		_ = os.Remove(f.lock.Name()) // the next process deletes it
	}
}

// sweep deletes the folders in the folder in whose processes have ended.
func sweep(in string) {
	locks, _ := filepath.Glob(filepath.Join(in, prefix+"*"+suffix))
	for _, path := range locks {
		// A link is another user's.
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		lock, err := filelock.Lock(path)
		if err != nil {
			continue
		}
		left := &Folder{strings.TrimSuffix(path, suffix), lock}
		if left.isOwn() {
			_ = left.Close() // the next process deletes the files that remain
			continue
		}
		lock.Close()
	}
}
