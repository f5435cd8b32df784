package deps

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/deskhand/deskhand/indexer/shelf"
)

// Locked is the set of the libraries in a project's lock files. The zero value is empty.
type Locked struct{ ids map[string]bool }

// maxServedLock is the maximum size of a lock file that [ReadLocked] reads, so that a
// server starts quickly. Larger ones are of use only to [Read].
const maxServedLock = 8 << 20

// ReadLocked returns the direct and indirect dependencies in the lock files that [Read]
// uses, without a search for them on this disk. It leaves out each lock file that is
// malformed or larger than 8 MiB, and returns an error that names them.
func ReadLocked(dir string) (Locked, error) {
	found := Locked{map[string]bool{}}
	var failed []error
	for _, r := range readers {
		file, l := r.nearest(dir)
		if l == nil {
			continue
		}
		list, err := readOne(file, l, maxServedLock)
		if err != nil {
			failed = append(failed, err)
		}
		for _, d := range list {
			if !strings.HasPrefix(d.Why, refused) {
				found.ids[locked(d.Name, d.Version)] = true
				found.ids[locked(string(r.ecosystem)+"/"+d.Name, d.Version)] = true
			}
		}
	}
	return found, errors.Join(failed...)
}

// LockState identifies the contents of the lock files that [ReadLocked] reads, by their
// sizes and modification times. It is empty if there is no lock file.
func LockState(dir string) string {
	var b strings.Builder
	for _, r := range readers {
		file, l := r.nearest(dir)
		if l == nil {
			continue
		}
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", file, info.ModTime().UnixNano(), info.Size())
		}
	}
	return b.String()
}

// locked returns the key of a library in Locked. Lock files and tags write the same
// version with and without "v".
func locked(name, version string) string {
	return strings.ToLower(name) + "@" + strings.TrimPrefix(version, "v")
}

// Has reports whether a lock file names this library and version. A library that was not
// built from a package has the name of the dependency, or comes from its git repository.
// If a lock file gives no version, every version is in it.
func (l Locked) Has(e shelf.Entry) bool {
	if len(l.ids) == 0 {
		return false
	}
	from, _ := madeFrom(e)
	if e.Origin != nil {
		from = e.Origin.Source
	}
	name := e.Name
	if made, ok := strings.CutPrefix(from, shelf.MadePrefix); ok {
		name = made
	}
	address, _, _ := strings.Cut(from, "#")
	_, address, _ = strings.Cut(address, "://")
	for _, name := range []string{name, strings.TrimSuffix(address, ".git")} {
		if name != "" && (l.ids[locked(name, e.Version)] || l.ids[locked(name, "")]) {
			return true
		}
	}
	return false
}
