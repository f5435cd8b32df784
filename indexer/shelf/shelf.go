// Package shelf keeps libraries: indexes with a name and a version, each in a
// folder of its own below one folder. There is no database: what is listed is
// what lies there.
//
// A library is replaced as its index is: a build that is killed leaves the old
// one. Processes may read a shelf while another one changes it.
package shelf

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Shelf is a folder of libraries, which need not exist.
type Shelf struct{ Dir string }

// Entry is one library on a shelf.
type Entry struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Description completes "Search the ...".
	Description string `json:"description"`
	// Source, Path, Revision, Digest and Licence are those of artifact.Library.
	Source   string `json:"source"`
	Path     string `json:"path"`
	Revision string `json:"revision,omitempty"`
	Digest   string `json:"digest,omitempty"`
	Licence  string `json:"licence,omitempty"`
	// Origin is what the library was made from if Source is a registry; nil: Source
	// says it.
	Origin *artifact.Origin `json:"origin,omitempty"`
	// Pages and Chunks are counts, Bytes the size on disk.
	Pages  int   `json:"pages"`
	Chunks int   `json:"chunks"`
	Bytes  int64 `json:"bytes"`
	// Index is the SHA-256 of the index data: two libraries with the same one
	// answer the same.
	Index string `json:"index_sha256"`
	// Built is when the index was written.
	Built time.Time `json:"built"`
	// Embedding names what made the vectors; nil: there are none.
	Embedding *artifact.Embedding `json:"embedding"`
	// Folder is where the index lies.
	Folder string `json:"folder"`

	texts bool
}

// ID is NAME, or NAME@VERSION.
func (e Entry) ID() string { return idOf(e.Name, e.Version) }

func idOf(name, version string) string {
	if version == "" {
		return name
	}
	return name + "@" + version
}

// Problem is a folder on the shelf that is no readable library.
type Problem struct {
	Folder string `json:"folder"`
	Reason string `json:"reason"`
}

// namePattern is what a name may be: as packages are called, of parts between
// slashes.
var namePattern = regexp.MustCompile(`^@?[A-Za-z0-9][A-Za-z0-9._+~-]*(/[A-Za-z0-9][A-Za-z0-9._+~-]*)*$`)

// versionPattern is what a version may be.
var versionPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+~-]*$`)

// maxName is the characters of a name or a version.
const maxName = 128

// CheckName is fault "bad_library" for a name or a version that a library cannot
// have. version may be empty.
func CheckName(name, version string) error {
	if len(name) > maxName || !namePattern.MatchString(name) {
		return fault.New("bad_library", fmt.Sprintf("'%s' is no name of a library", name), "use letters, digits, '.', '_', '-' and '/' between parts, at most 128 characters: --name NAME")
	}
	if version != "" && (len(version) > maxName || !versionPattern.MatchString(version)) {
		return fault.New("bad_library", fmt.Sprintf("'%s' is not a library version", version), "use letters, digits, '.', '_', '+' and '-', at most 128 characters: --version VERSION")
	}
	return nil
}

// folderOf is the folder of a library: its id, with %XX for slashes, and for
// capitals, since some systems do not tell them from small letters.
func (s Shelf) folderOf(id string) string {
	var b strings.Builder
	for _, r := range []byte(id) {
		if r == '/' || r == '%' || r < unicode.MaxASCII && unicode.IsUpper(rune(r)) {
			fmt.Fprintf(&b, "%%%02X", r)
			continue
		}
		b.WriteByte(r)
	}
	return filepath.Join(s.Dir, b.String())
}

// List returns the libraries, sorted by name and version, and what lies there
// and is none. A shelf that does not exist is empty.
func (s Shelf) List() ([]Entry, []Problem, error) {
	folders, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the shelf: %w", err)
	}
	var entries []Entry
	var problems []Problem
	for _, f := range folders {
		if !f.IsDir() || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		dir := filepath.Join(s.Dir, f.Name())
		e, err := read(dir)
		switch {
		case err == nil && e.Name != "" && s.folderOf(e.ID()) == dir:
			entries = append(entries, e)
		case err == nil:
			problems = append(problems, Problem{dir, "it is an index that deskhand add did not make"})
		case !building(dir): // nothing to be seen yet
			problems = append(problems, Problem{dir, err.Error()})
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), CompareVersions(a.Version, b.Version))
	})
	return entries, problems, nil
}

// building says that a first build in dir has not ended.
func building(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, artifact.MetadataFile))
	return errors.Is(err, fs.ErrNotExist)
}

// read reads what a library says of itself.
func read(dir string) (Entry, error) {
	r, err := artifact.Open(dir)
	if err != nil {
		return Entry{}, err
	}
	defer r.Close()
	m := r.Metadata()
	e := Entry{
		Description: m.CorpusDescription, Pages: m.Stats.TotalFiles, Chunks: m.Stats.TotalChunks,
		Bytes: m.Index.Bytes, Index: m.Index.SHA256, Embedding: m.Embedding, Folder: dir,
	}
	if l := m.Library; l != nil {
		e.Name, e.Version, e.Source, e.Path, e.Revision, e.Digest, e.Licence = l.Name, l.Version, l.Source, l.Path, l.Revision, l.Digest, l.Licence
		e.Origin, e.texts = l.Origin, l.Texts
	}
	info, err := os.Stat(filepath.Join(dir, artifact.MetadataFile))
	if err != nil {
		return Entry{}, fmt.Errorf("read library: %w", err)
	}
	e.Built, e.Bytes = info.ModTime().UTC().Truncate(time.Second), e.Bytes+info.Size()
	return e, nil
}

// Find returns the library that NAME or NAME@VERSION names; of several versions
// of a name, the newest. Fault "no_library" names those that are similar.
func (s Shelf) Find(id string) (Entry, error) {
	entries, _, err := s.List()
	if err != nil {
		return Entry{}, err
	}
	return Among(entries, id)
}

// Among is [Shelf.Find] in a list as List returns it.
func Among(entries []Entry, id string) (found Entry, err error) {
	ok := false
	for _, e := range entries {
		if e.ID() == id {
			return e, nil
		}
		if e.Name == id { // sorted by version: the last one stays
			found, ok = e, true
		}
	}
	if ok {
		return found, nil
	}
	var similar []string
	for _, e := range entries {
		if strings.Contains(strings.ToLower(e.ID()), strings.ToLower(id)) || strings.Contains(strings.ToLower(id), strings.ToLower(e.Name)) {
			similar = append(similar, e.ID())
		}
	}
	next := "see deskhand list, or add it: deskhand add SOURCE --name " + id
	if len(similar) > 0 {
		next = "did you mean " + strings.Join(similar[:min(len(similar), 5)], ", ") + "?"
	}
	return Entry{}, fault.New("no_library", fmt.Sprintf("there is no library '%s' on the shelf", id), next)
}

// Remove takes a library off the shelf. It is gone for readers at once, and its
// files then.
func (s Shelf) Remove(e Entry) error {
	trash, err := os.MkdirTemp(s.Dir, ".removed-")
	if err != nil {
		return fmt.Errorf("remove %s: %w", e.ID(), err)
	}
	if err := os.Rename(e.Folder, filepath.Join(trash, "library")); err != nil {
		_ = os.Remove(trash) // empty
		return fmt.Errorf("remove %s: %w", e.ID(), err)
	}
	s.sweep()
	return nil
}

// sweep deletes what was removed, by a process that was killed too.
func (s Shelf) sweep() {
	removed, _ := filepath.Glob(filepath.Join(s.Dir, ".removed-*"))
	for _, dir := range removed {
		_ = os.RemoveAll(dir) // what stays is deleted the next time
	}
}

// CompareVersions orders versions as people count: by numbers, with what has a
// suffix after "-" before what has none. An empty version is the least.
func CompareVersions(a, b string) int {
	partsA, preA := versionParts(a)
	partsB, preB := versionParts(b)
	for i := range max(len(partsA), len(partsB)) {
		var x, y string
		if i < len(partsA) {
			x = partsA[i]
		}
		if i < len(partsB) {
			y = partsB[i]
		}
		if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); c != 0 && isNumber(x) && isNumber(y) {
			return c
		}
		if x != y {
			return strings.Compare(x, y)
		}
	}
	switch {
	case preA == preB:
		return 0
	case preA == "":
		return 1
	case preB == "":
		return -1
	}
	return strings.Compare(preA, preB)
}

func versionParts(v string) (parts []string, pre string) {
	v, pre, _ = strings.Cut(v, "-")
	if v == "" {
		return nil, pre
	}
	parts = strings.Split(v, ".")
	for i, p := range parts {
		if t := strings.TrimLeft(p, "0"); isNumber(p) {
			parts[i] = t // "0" is empty, and less than all others
		}
	}
	return parts, pre
}

func isNumber(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// PathOf is where the libraries of a person are by default: deskhand/shelf in
// $XDG_DATA_HOME or ~/.local/share.
func PathOf() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "deskhand", "shelf"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fault.New("bad_option", "there is no folder for the shelf: "+err.Error(), "set HOME, or name a folder with --shelf")
	}
	return filepath.Join(home, ".local", "share", "deskhand", "shelf"), nil
}
