// Package shelf stores libraries. A library is an index with a name and a version. Each
// library has a folder below the shelf folder. There is no database, because the list
// of libraries is read from the folders.
//
// A library is replaced in the same way as an index, so if a build is killed, the old
// library stays in place. Processes may read a shelf while another process changes it.
package shelf

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/text"
)

// Shelf is a folder of libraries. The folder need not exist.
type Shelf struct{ Dir string }

// Entry is one library on a shelf.
type Entry struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Description completes the phrase "Search the ...".
	Description string `json:"description"`
	// Source, Path, Revision, Digest and Licence are copied from artifact.Library.
	Source   string `json:"source"`
	Path     string `json:"path"`
	Revision string `json:"revision,omitempty"`
	Digest   string `json:"digest,omitempty"`
	Licence  string `json:"licence,omitempty"`
	// Origin is the source that the library was built from if Source is a registry. If
	// Origin is nil, the library was built from Source.
	Origin *artifact.Origin `json:"origin,omitempty"`
	// Pages and Chunks are the numbers of pages and chunks. Bytes is the size on
	// disk.
	Pages  int   `json:"pages"`
	Chunks int   `json:"chunks"`
	Bytes  int64 `json:"bytes"`
	// Index is the SHA-256 of the index data. If Index is equal in two libraries, they
	// return the same search results.
	Index string `json:"index_sha256"`
	// Built is the time at which the index was written.
	Built time.Time `json:"built"`
	// Embedding identifies the embedder that computed the vectors. It is nil if the
	// index has no vectors.
	Embedding *artifact.Embedding `json:"embedding"`
	// Folder is the folder that contains the index.
	Folder string `json:"folder"`

	texts, noGitIgnore bool
	described          *artifact.Description
}

// ID returns NAME or NAME@VERSION.
func (e Entry) ID() string { return idOf(e.Name, e.Version) }

func idOf(name, version string) string {
	if version == "" {
		return name
	}
	return name + "@" + version
}

// Problem describes a folder on the shelf that is not a readable library.
type Problem struct {
	Folder string `json:"folder"`
	Reason string `json:"reason"`

	// Library is the library that metadata.json describes, if only the index is damaged.
	Library *Entry `json:"-"`
	foreign bool   // it is not a library
}

// namePattern matches valid names. Like package names, names may have several
// parts separated by slashes.
var namePattern = regexp.MustCompile(`^@?[A-Za-z0-9][A-Za-z0-9._+~-]*(/[A-Za-z0-9][A-Za-z0-9._+~-]*)*$`)

// versionPattern matches valid versions.
var versionPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+~-]*$`)

// maxName is the maximum length of a name or version.
const maxName = 128

// CheckName returns fault "bad_library" if a library cannot have this name or version.
// version may be empty.
func CheckName(name, version string) error {
	if len(name) > maxName || !namePattern.MatchString(name) {
		return fault.New("bad_library", fmt.Sprintf("'%s' is not a valid library name", name), "pass --name NAME with at most 128 letters, digits, '.', '_' and '-', and '/' between parts")
	}
	if version != "" && (len(version) > maxName || !versionPattern.MatchString(version)) {
		return fault.New("bad_library", fmt.Sprintf("'%s' is not a valid library version", version), "pass --version VERSION with at most 128 letters, digits, '.', '_', '+' and '-'")
	}
	return nil
}

// folderOf returns a library's folder. The folder's name is the library's ID, with
// slashes and capitals encoded as %XX. Capitals are encoded because some file systems
// ignore case. So are the start of a name that is a device on Windows, and a dot at the end,
// which Windows ignores.
func (s Shelf) folderOf(id string) string {
	var b strings.Builder
	device := devicePattern.MatchString(id)
	for i, r := range []byte(id) {
		if i == 0 && device || r == '.' && i == len(id)-1 || r == '/' || r == '%' || r < unicode.MaxASCII && unicode.IsUpper(rune(r)) {
			fmt.Fprintf(&b, "%%%02X", r)
			continue
		}
		b.WriteByte(r)
	}
	return filepath.Join(s.Dir, b.String())
}

// devicePattern matches the names of devices on Windows, with any extension.
var devicePattern = regexp.MustCompile(`^(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)

// List returns the libraries, sorted by name and version, and a problem for each
// folder that is not a library. A shelf that does not exist is treated as empty.
func (s Shelf) List() ([]Entry, []Problem, error) { return s.list(read) }

// Look works like List, but does not open the indexes, which takes most of its time. So it
// does not notice a damaged index. It reads metadata only if it has changed since it was
// last read: see [known].
func (s Shelf) Look() ([]Entry, []Problem, error) {
	before := s.readKnown()
	entries, problems, err := s.list(func(dir string) (Entry, error) {
		d, err := artifact.DescribeKnown(dir, before[filepath.Base(dir)])
		if err != nil {
			return Entry{}, err
		}
		return describedEntry(d, dir), nil
	})
	if err == nil {
		s.keepKnown(before, entries)
	}
	return entries, problems, err
}

func describedEntry(d *artifact.Description, dir string) Entry {
	e := entryOf(dir, d.Metadata(), d.File())
	e.described = d
	return e
}

// Described returns the library's metadata as Look read it. It is nil in a list of
// [Shelf.List].
func (e Entry) Described() *artifact.Description { return e.described }

// Unlisted returns an entry for the index in dir, which is not on a shelf, under the given
// name. It returns the errors of [artifact.Describe].
func Unlisted(dir, name string) (Entry, error) {
	d, err := artifact.Describe(dir)
	if err != nil {
		return Entry{}, err
	}
	e := describedEntry(d, dir)
	e.Name, e.Version = name, ""
	return e, nil
}

func (s Shelf) list(read func(dir string) (Entry, error)) ([]Entry, []Problem, error) {
	folders, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the shelf: %w", err)
	}
	var dirs []string
	for _, f := range folders {
		if f.IsDir() && !strings.HasPrefix(f.Name(), ".") {
			dirs = append(dirs, filepath.Join(s.Dir, f.Name()))
		}
	}
	all, errs := make([]Entry, len(dirs)), make([]error, len(dirs))
	inParallel(len(dirs), func(i int) { all[i], errs[i] = read(dirs[i]) })
	var entries []Entry
	var problems []Problem
	for i, dir := range dirs {
		e, err := all[i], errs[i]
		switch {
		case err == nil && e.Name != "" && s.folderOf(e.ID()) == dir:
			entries = append(entries, e)
		case err == nil:
			problems = append(problems, Problem{Folder: dir, Reason: "it is an index that was not created by \"deskhand add\"", foreign: true})
		case !building(dir): // its first build has not finished
			p := Problem{Folder: dir, Reason: err.Error()}
			if d, err := artifact.Describe(dir); err == nil && s.folderOf(describedEntry(d, dir).ID()) == dir {
				e = describedEntry(d, dir)
				p.Library = &e
			}
			problems = append(problems, p)
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), CompareVersions(a.Version, b.Version))
	})
	return entries, problems, nil
}

// inParallel calls work with each number below n, on all processors.
func inParallel(n int, work func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	workers.Wait()
}

// building reports whether the library in dir is being built for the first time.
func building(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, artifact.MetadataFile))
	return errors.Is(err, fs.ErrNotExist)
}

// read opens the library in dir and returns its entry.
func read(dir string) (Entry, error) {
	r, err := artifact.Open(dir)
	if err != nil {
		return Entry{}, err
	}
	defer r.Close()
	info, err := os.Stat(filepath.Join(dir, artifact.MetadataFile))
	if err != nil {
		return Entry{}, fmt.Errorf("read library: %w", err)
	}
	return entryOf(dir, r.Metadata(), info), nil
}

// entryOf returns the entry for the index in dir. info is of its metadata.json.
func entryOf(dir string, m *artifact.Metadata, info fs.FileInfo) Entry {
	e := Entry{
		Description: m.CorpusDescription, Pages: m.Stats.TotalFiles, Chunks: m.Stats.TotalChunks,
		Bytes: m.Index.Bytes, Index: m.Index.SHA256, Embedding: m.Embedding, Folder: dir,
	}
	if l := m.Library; l != nil {
		e.Name, e.Version, e.Source, e.Path, e.Revision, e.Digest, e.Licence = l.Name, l.Version, l.Source, l.Path, l.Revision, l.Digest, l.Licence
		e.Origin, e.texts, e.noGitIgnore = l.Origin, l.Texts, l.NoGitIgnore
	}
	e.Built, e.Bytes = info.ModTime().UTC().Truncate(time.Second), e.Bytes+info.Size()
	return e
}

// Find returns the library with the given NAME or NAME@VERSION. If id has no version
// and there are several versions, it returns the newest. If there is no such library,
// it returns fault "no_library" with similar names, or with the reason why it cannot be read.
func (s Shelf) Find(id string) (Entry, error) {
	entries, problems, err := s.List()
	if err != nil {
		return Entry{}, err
	}
	found, err := Among(entries, id)
	if p := s.Damaged(problems, id); err != nil && p != nil {
		return Entry{}, p.fault(id)
	}
	return found, err
}

// Damaged returns the problem of the library with the given NAME or NAME@VERSION, or nil if
// List reported none.
func (s Shelf) Damaged(problems []Problem, id string) *Problem {
	folder := s.folderOf(id)
	i := slices.IndexFunc(problems, func(p Problem) bool {
		return !p.foreign && (p.Folder == folder || strings.HasPrefix(p.Folder, folder+"@"))
	})
	if i < 0 {
		return nil
	}
	return &problems[i]
}

// fault returns the fault for the damaged library id.
func (p Problem) fault(id string) error {
	next := "update it: deskhand update " + id
	if p.Library == nil {
		next = "add it again: deskhand add SOURCE --name NAME; or remove it: deskhand remove " + id
	}
	return fault.New("no_library", fmt.Sprintf("the library '%s' cannot be read: %s", id, p.Reason), next)
}

// Updatable returns the library that [Shelf.Update] rebuilds. It returns fault "no_library" if
// its source is not known.
func (p Problem) Updatable() (Entry, error) {
	if p.Library == nil {
		return Entry{}, p.fault(filepath.Base(p.Folder))
	}
	e := *p.Library
	e.Revision, e.Digest = "", "" // rebuild it even if its source has not changed
	return e, nil
}

// Among does the same as [Shelf.Find] in entries, a list that List returned.
func Among(entries []Entry, id string) (found Entry, err error) {
	ok := false
	for _, e := range entries {
		if e.ID() == id {
			return e, nil
		}
		if e.Name == id { // entries are sorted by version, so the last one wins
			found, ok = e, true
		}
	}
	if ok {
		return found, nil
	}
	var ids, names []string
	for _, e := range entries {
		ids, names = append(ids, e.ID()), append(names, e.Name)
	}
	next := "list the libraries with \"deskhand list\", or add it: deskhand add SOURCE --name " + id
	if similar := text.Similar(id, ids, names); len(similar) > 0 {
		next = "did you mean " + strings.Join(similar, ", ") + "?"
	}
	return Entry{}, fault.New("no_library", fmt.Sprintf("there is no library '%s' on the shelf", id), next)
}

// Remove removes a library from the shelf. Readers stop seeing the library at
// once, before its files are deleted.
func (s Shelf) Remove(e Entry) error {
	trash, err := os.MkdirTemp(s.Dir, ".removed-")
	if err != nil {
		if denied := s.denied(err); denied != nil {
			return denied
		}
		return fmt.Errorf("remove %s: %w", e.ID(), err)
	}
	if err := os.Rename(e.Folder, filepath.Join(trash, "library")); err != nil {
		_ = os.Remove(trash) // works only if the folder is empty
		return fmt.Errorf("remove %s: %w", e.ID(), err)
	}
	s.sweep()
	return nil
}

// denied returns a fault if err says that nobody, or not this user, may write to the shelf.
// Otherwise, it returns nil.
func (s Shelf) denied(err error) error {
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return nil
	}
	return fault.New("shelf_denied", fmt.Sprintf("cannot write to the shelf %s: permission denied", s.Dir), "pass another folder with --shelf, or check the folder's permissions")
}

// sweep deletes the files of removed libraries, including files left behind by
// killed processes.
func (s Shelf) sweep() {
	removed, _ := filepath.Glob(filepath.Join(s.Dir, ".removed-*"))
	for _, dir := range removed {
		_ = os.RemoveAll(dir) // the next call deletes the files that remain
	}
}

// CompareVersions compares versions part by part, and compares numbers by value. A
// version with a suffix after "-" comes before the same version without a suffix. The
// empty version comes first.
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
			parts[i] = t // "0" becomes "", which sorts before all others
		}
	}
	return parts, pre
}

func isNumber(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// PathOf returns the default path of the user's shelf, which is deskhand/shelf in
// $XDG_DATA_HOME or ~/.local/share.
func PathOf() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "deskhand", "shelf"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fault.New("bad_option", "cannot determine the shelf's folder: "+err.Error(), "set HOME, or pass a folder with --shelf")
	}
	return filepath.Join(home, ".local", "share", "deskhand", "shelf"), nil
}
