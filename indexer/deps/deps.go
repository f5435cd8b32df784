// Package deps makes libraries of what a project depends on: it reads the lock
// files from a folder upward, finds each dependency on this disk at exactly the
// locked version, and writes its docs and its API as a folder of markdown, which
// package shelf indexes.
//
// Nothing is fetched unless that is asked for, nothing of a dependency runs, and
// no link of it is followed out of its folder.
package deps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/indexer/shelf"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Ecosystem is where a dependency is from.
type Ecosystem string

// The ecosystems, in the order of their libraries.
const (
	Go     Ecosystem = "go"
	NPM    Ecosystem = "npm"
	Python Ecosystem = "python"
	Rust   Ecosystem = "rust"
)

// Dependency is one library that a project uses.
type Dependency struct {
	Ecosystem Ecosystem `json:"ecosystem"`
	// Name is that in the ecosystem: a module path, an npm name with its scope.
	Name string `json:"name"`
	// Version is the locked one; empty: the lock file pins none, and it is that on
	// this disk.
	Version string `json:"version"`
	// Direct says that the project itself names it.
	Direct bool `json:"direct"`
	// Dir is where it lies on this disk, absolute; empty: it does not.
	Dir string `json:"dir,omitempty"`
	// Why is the lock file that names it or, if Dir is empty, why it has none.
	Why string `json:"why,omitempty"`

	at     string   // the folder of its lock file
	module string   // the Go module of the files, if it is replaced
	folder string   // where in at an npm package should lie; empty: anywhere
	alias  string   // the name of an npm package in node_modules; empty: its own
	info   string   // the dist-info folder of a Python package, in Dir
	tried  []string // why one did not fit
}

// source is what the shelf records.
func (d Dependency) source() string {
	return shelf.MadePrefix + string(d.Ecosystem) + "/" + d.Name
}

// reader is an ecosystem: how lock files are read, and where packages lie.
type reader struct {
	ecosystem Ecosystem
	// locks are names of files; the first of them in a folder counts.
	locks []lock
	// locate sets Dir, or Why.
	locate func(*disk, *Dependency)
	// pages writes the docs at Dir.
	pages func(context.Context, *pages, Dependency) error
}

type lock struct {
	name string
	read func(file string, src []byte) ([]Dependency, error)
}

// readers is the table of ecosystems.
var readers = []reader{
	{Go, []lock{{"go.mod", readGoMod}}, locateGo, goPages},
	{NPM, []lock{{"package-lock.json", readPackageLock}, {"npm-shrinkwrap.json", readPackageLock}, {"pnpm-lock.yaml", readPnpmLock}, {"yarn.lock", readYarnLock}, {"package.json", readPackageJSON}}, locateNPM, npmPages},
	{Python, []lock{{"uv.lock", readUvLock}, {"poetry.lock", readPoetryLock}, {"requirements.txt", readRequirements}}, locatePython, pythonPages},
	{Rust, []lock{{"Cargo.lock", readCargoLock}}, locateRust, rustPages},
}

func readerOf(e Ecosystem) *reader {
	i := slices.IndexFunc(readers, func(r reader) bool { return r.ecosystem == e })
	if i < 0 {
		return nil
	}
	return &readers[i]
}

// maxLock is the largest lock file that is read.
const maxLock = 64 << 20

// Read returns the dependencies that the lock files of dir, or of the nearest
// folder above it, name: the direct ones, or with all the indirect ones too,
// sorted by ecosystem, name and version, and each located on this disk. It looks
// no higher than the top of the checkout. Faults: "no_lock_file", and
// "bad_lock_file" with file and line.
func Read(ctx context.Context, dir string, all bool) ([]Dependency, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", dir, err)
	}
	var found []Dependency
	locks := 0
	for _, r := range readers {
		file, l := nearest(dir, r.locks)
		if l == nil {
			continue
		}
		locks++
		list, err := readOne(file, l)
		if err != nil {
			return nil, err
		}
		for i := range list {
			list[i].Ecosystem, list[i].at = r.ecosystem, filepath.Dir(file)
			list[i].Why = cmp.Or(list[i].Why, filepath.Base(file))
		}
		found = append(found, list...)
	}
	if locks == 0 {
		return nil, fault.New("no_lock_file", "there is no lock file in "+dir+" or above it",
			"run it in the folder of a go.mod, package-lock.json, pnpm-lock.yaml, yarn.lock, uv.lock, poetry.lock, requirements.txt or Cargo.lock")
	}
	found = unite(found, all)
	disk := newDisk(ctx, dir)
	for i := range found {
		locate(disk, &found[i])
	}
	return found, nil
}

// locate looks for d on this disk, if it has a name that can be looked for.
func locate(disk *disk, d *Dependency) {
	if err := shelf.CheckName(d.Name, d.Version); err != nil {
		d.Why = printable(err.Error())
		d.Name, d.Version = printable(d.Name), printable(d.Version)
		return
	}
	if strings.HasPrefix(d.Why, refused) {
		return
	}
	readerOf(d.Ecosystem).locate(disk, d)
}

// printable is a name without control characters.
func printable(s string) string {
	q := strconv.QuoteToGraphic(s)
	return q[1 : len(q)-1]
}

// refused begins a Why that a lock file already decides.
const refused = "left out: "

// nearest is the first lock file from dir upward; nil: there is none.
func nearest(dir string, locks []lock) (string, *lock) {
	for {
		for i, l := range locks {
			file := filepath.Join(dir, l.name)
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				return file, &locks[i]
			}
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil || dir == filepath.Dir(dir) {
			return "", nil
		}
		dir = filepath.Dir(dir)
	}
}

func readOne(file string, l *lock) ([]Dependency, error) {
	src, err := readFile(file, maxLock)
	if err != nil {
		return nil, fault.New("bad_lock_file", fmt.Sprintf("%s cannot be read: %v", file, err), "look at the file, or make it again with its tool")
	}
	return l.read(file, src)
}

// readFile reads a regular file of at most limit bytes.
func readFile(file string, limit int64) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no file")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, limit)
}

func readAll(r io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("it has more than %d bytes", limit)
	}
	return b, err
}

// broken is the fault of a lock file, at a line from 1; 0: the reason has it.
func broken(file string, line int, reason string) error {
	at := file
	if line > 0 {
		at += ":" + strconv.Itoa(line)
	}
	return fault.New("bad_lock_file", at+": "+printable(reason), "fix the file, or create it again with its tool")
}

// unite makes one of the same name and version, direct if one is, and leaves out
// the indirect ones unless all.
func unite(list []Dependency, all bool) []Dependency {
	order := func(a, b Dependency) int {
		e := func(d Dependency) int {
			return slices.IndexFunc(readers, func(r reader) bool { return r.ecosystem == d.Ecosystem })
		}
		return cmp.Or(cmp.Compare(e(a), e(b)), strings.Compare(a.Name, b.Name), shelf.CompareVersions(a.Version, b.Version), strings.Compare(a.Version, b.Version))
	}
	slices.SortStableFunc(list, order)
	var out []Dependency
	for _, d := range list {
		if n := len(out); n > 0 && order(out[n-1], d) == 0 {
			out[n-1].Direct = out[n-1].Direct || d.Direct
			continue
		}
		out = append(out, d)
	}
	return slices.DeleteFunc(out, func(d Dependency) bool { return !d.Direct && !all })
}
