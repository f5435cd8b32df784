// Package trust records which files a person has trusted. It identifies a file
// by its path and the digest of its bytes, so a changed file is a different
// file.
package trust

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Record is a person's decision about one file.
type Record struct {
	Path   string    `json:"path"`   // as returned by Place
	Digest string    `json:"digest"` // as returned by Digest
	Agreed bool      `json:"agreed"` // false if the person declined
	At     time.Time `json:"at"`
}

// Digest returns the SHA-256 digest of a file's bytes, in the form sha256:HEX.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Place returns the path under which a file is recorded: its absolute path with
// the folder's symbolic links resolved. The file itself may be a link, because
// its bytes are recorded too.
func Place(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find folder of %s: %w", filepath.Base(path), err)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", fmt.Errorf("find folder of %s: %w", path, err)
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// Records are the decisions in a folder, one file each, readable only by their
// owner. Processes may use them concurrently; the last decision counts. The
// zero value has no folder: it contains no decisions, and Put returns an error.
type Records struct{ dir string }

// In returns the records in an installation's state folder.
func In(state string) Records { return Records{filepath.Join(state, "trust")} }

// file returns the path of the record for a place.
func (r Records) file(place string) string {
	sum := sha256.Sum256([]byte(place))
	return filepath.Join(r.dir, hex.EncodeToString(sum[:16])+suffix)
}

const suffix = ".json"

var errNoFolder = errors.New("write trust record: there is no state folder")

// Find returns the record for a place. ok is false if there is none. If another
// user of the machine wrote the record, Find returns an error.
func (r Records) Find(place string) (found Record, ok bool, err error) {
	if r.dir == "" {
		return Record{}, false, nil
	}
	found, err = read(r.file(place))
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, false, nil
	}
	if err != nil {
		return Record{}, false, err
	}
	return found, found.Path == place, nil
}

// maxRecord is the maximum size of a record in bytes. A record with the longest
// possible path is smaller than that.
const maxRecord = 64 << 10

func read(file string) (found Record, err error) {
	data, owner, err := ReadFile(file, maxRecord)
	if err != nil {
		return found, fmt.Errorf("read trust record: %w", err)
	}
	if owner != "" {
		return found, fmt.Errorf("read trust record: %s belongs to %s", file, owner)
	}
	if err := json.Unmarshal(data, &found); err != nil {
		return found, fmt.Errorf("read trust record %s: %w", file, err)
	}
	return found, nil
}

// Put stores a decision. It replaces an earlier decision for the same place. The
// write is atomic.
func (r Records) Put(one Record) error {
	if r.dir == "" {
		return errNoFolder
	}
	data, err := json.Marshal(one)
	if err != nil {
		return fmt.Errorf("write trust record: %w", err)
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return fmt.Errorf("make trust folder: %w", err)
	}
	f, err := os.CreateTemp(r.dir, ".record-*") // mode 0600
	if err != nil {
		return fmt.Errorf("create trust record: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(data, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write trust record: %w", err)
	}
	if err := os.Rename(f.Name(), r.file(one.Path)); err != nil {
		return fmt.Errorf("place trust record: %w", err)
	}
	return nil
}

// Remove deletes the record for a place. The result was reports whether there was
// a record.
func (r Records) Remove(place string) (was bool, err error) {
	if r.dir == "" {
		return false, nil
	}
	err = os.Remove(r.file(place))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("remove trust record: %w", err)
	}
	return true, nil
}

// List returns all records, ordered by path. It omits unreadable records.
func (r Records) List() (all []Record, err error) {
	if r.dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(r.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list trust records: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		if one, err := read(filepath.Join(r.dir, e.Name())); err == nil && r.file(one.Path) == filepath.Join(r.dir, e.Name()) {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b Record) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}
