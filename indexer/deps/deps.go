// Package deps builds libraries from a project's dependencies. It reads the lock files
// in a folder or its parents, and finds each dependency on this disk in exactly the
// locked version. It writes the docs and the API of a dependency as a folder of
// Markdown, and package shelf indexes this folder.
//
// Nothing is downloaded unless the user requests it. No code from a dependency is run.
// Links that lead out of a dependency's folder are not followed.
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

// Ecosystem is the package ecosystem of a dependency.
type Ecosystem string

// The ecosystems, in the order in which their libraries are listed.
const (
	Go     Ecosystem = "go"
	NPM    Ecosystem = "npm"
	Python Ecosystem = "python"
	Rust   Ecosystem = "rust"
)

// Dependency is one library that a project uses.
type Dependency struct {
	Ecosystem Ecosystem `json:"ecosystem"`
	// Name is the dependency's name in its ecosystem, for example a module path, or an
	// npm name with its scope.
	Name string `json:"name"`
	// Version is the version in the lock file. If the lock file has no exact version,
	// it is the version on this disk.
	Version string `json:"version"`
	// Direct reports whether the project itself names the dependency.
	Direct bool `json:"direct"`
	// Dir is the absolute path on this disk. It is empty if the dependency was not found,
	// or if it is in an archive.
	Dir string `json:"dir,omitempty"`
	// Why is the name of the lock file that names the dependency. If the dependency was
	// not found, it is instead the reason.
	Why string `json:"why,omitempty"`

	at       string   // the lock file's folder
	module   string   // the Go module that the files come from, if go.mod replaces the dependency
	folder   string   // expected folder of an npm package, relative to at, or empty for any folder
	alias    string   // name of an npm package in node_modules, if it differs from Name
	info     string   // name of the dist-info folder of a Python package, inside Dir
	lock     string   // name of the lock file
	revision string   // commit of a crate from a git repository
	archive  string   // npm archive that contains the files, if Dir is empty
	tried    []string // reasons why candidates for Dir were rejected
}

// onDisk reports whether d was found on this disk.
func (d Dependency) onDisk() bool { return d.Dir != "" || d.archive != "" }

// source returns the source of d's library as recorded on the shelf.
func (d Dependency) source() string {
	return shelf.MadePrefix + string(d.Ecosystem) + "/" + d.Name
}

// reader defines how an ecosystem's lock files are read and its packages are
// found.
type reader struct {
	ecosystem Ecosystem
	// locks lists the kinds of lock files. If a folder has several of them, only the
	// first one in this list is used.
	locks []lock
	// covers reports whether the lock file in root is that of the package in dir, a
	// subfolder, whose own file lists dependencies without exact versions. If it is nil,
	// there are no such packages.
	covers func(root, dir string) bool
	// locate sets Dir or Why.
	locate func(*disk, *Dependency)
	// pages writes the docs found in Dir.
	pages func(context.Context, *pages, Dependency) error
}

type lock struct {
	name string
	read func(file string, src []byte) ([]Dependency, error)
}

// readers lists the ecosystems.
var readers = []reader{
	{Go, []lock{{"go.mod", readGoMod}}, nil, locateGo, goPages},
	{NPM, []lock{{"package-lock.json", readPackageLock}, {"npm-shrinkwrap.json", readPackageLock}, {"pnpm-lock.yaml", readPnpmLock}, {"yarn.lock", readYarnLock}, {packageFile, readPackageJSON}}, coversPackage, locateNPM, npmPages},
	{Python, []lock{{"uv.lock", readUvLock}, {"poetry.lock", readPoetryLock}, {"pdm.lock", readPoetryLock}, {"requirements.txt", readRequirements}}, nil, locatePython, pythonPages},
	{Rust, []lock{{"Cargo.lock", readCargoLock}}, nil, locateRust, rustPages},
}

func readerOf(e Ecosystem) *reader {
	i := slices.IndexFunc(readers, func(r reader) bool { return r.ecosystem == e })
	if i < 0 {
		return nil
	}
	return &readers[i]
}

// maxLock is the maximum size of a lock file in bytes.
const maxLock = 64 << 20

// Read returns the dependencies in the lock files of dir. If dir has no lock file,
// Read uses those of the nearest parent folder that has one, up to the top of the
// checkout. If all is false, it returns only direct dependencies. The list is sorted
// by ecosystem, name and version. Read also searches for each dependency on this disk.
// It returns fault "no_lock_file", or fault "bad_lock_file" with the file and line.
func Read(ctx context.Context, dir string, all bool) ([]Dependency, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", dir, err)
	}
	var found []Dependency
	locks := 0
	for _, r := range readers {
		file, l := r.nearest(dir)
		if l == nil {
			continue
		}
		locks++
		list, err := readOne(file, l, maxLock)
		if err != nil {
			return nil, err
		}
		for i := range list {
			list[i].Ecosystem, list[i].at, list[i].lock = r.ecosystem, filepath.Dir(file), l.name
			list[i].Why = cmp.Or(list[i].Why, filepath.Base(file))
		}
		found = append(found, list...)
	}
	if locks == 0 {
		return nil, fault.New("no_lock_file", "there is no lock file in "+dir+" or its parent folders",
			"run the command in a folder with a go.mod, package-lock.json, pnpm-lock.yaml, yarn.lock, uv.lock, poetry.lock, pdm.lock, requirements.txt or Cargo.lock")
	}
	found = unite(found, all)
	disk := newDisk(ctx, dir)
	for i := range found {
		locate(disk, &found[i])
	}
	return found, nil
}

// locate searches for d on this disk if d's name is valid.
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

// printable returns s with control characters escaped.
func printable(s string) string {
	q := strconv.QuoteToGraphic(s)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(q[1 : len(q)-1])
}

// refused is the prefix of a Why that was set when the lock file was read.
const refused = "left out: "

// nearest returns the first lock file in dir or its parents. A package.json is only
// used if no lock file in a parent folder covers it. If there is none, the returned lock
// is nil.
func (r reader) nearest(dir string) (string, *lock) {
	var own string // a package.json without a lock file
	var ownLock *lock
	for {
		file, l := r.in(dir)
		switch {
		case l == nil:
		case r.covers == nil:
			return file, l
		case l.name != packageFile && (own == "" || r.covers(dir, filepath.Dir(own))):
			return file, l
		case own == "":
			own, ownLock = file, l
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil || dir == filepath.Dir(dir) {
			return own, ownLock
		}
		dir = filepath.Dir(dir)
	}
}

// in returns the lock file in dir. If there is none, the returned lock is nil.
func (r reader) in(dir string) (string, *lock) {
	for i, l := range r.locks {
		file := filepath.Join(dir, l.name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file, &r.locks[i]
		}
	}
	return "", nil
}

func readOne(file string, l *lock, limit int64) ([]Dependency, error) {
	src, err := readFile(file, limit)
	if err != nil {
		return nil, fault.New("bad_lock_file", fmt.Sprintf("%s cannot be read: %v", file, err), "fix the file, or create it again with its tool")
	}
	return l.read(file, src)
}

func readFile(file string, limit int64) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
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
		err = fmt.Errorf("it is larger than %d bytes", limit)
	}
	return b, err
}

// broken returns the fault for an invalid lock file. line is 1-based, or 0 if the
// reason already contains the line.
func broken(file string, line int, reason string) error {
	at := file
	if line > 0 {
		at += ":" + strconv.Itoa(line)
	}
	return fault.New("bad_lock_file", at+": "+printable(reason), "fix the file, or create it again with its tool")
}

// unite merges dependencies with the same name and version. The merged dependency is
// direct if any of them is direct. If all is false, unite removes indirect
// dependencies.
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
