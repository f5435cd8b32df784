package indexer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/deskhand/deskhand/indexer/formats"
	"github.com/deskhand/deskhand/runtime/fault"
)

// extensions are those of pages, in lower case.
var extensions = []string{".md", ".markdown", ".mdx"}

// page is one markdown file of the corpus.
type page struct {
	path     string    // relative to the corpus, with forward slashes
	open     string    // what to open: where links lead to
	manifest *manifest // the nearest; nil: none
	settings settings
	phrases  map[string][]string // of its chunks, by id; nil: none
	// converted says that open is what a format became; lines are the source's, as
	// in formats.Page.
	converted bool
	lines     []int
}

// found is what a walk met, each list sorted by path.
type found struct {
	pages     []*page
	templates []*page
	others    []*page // that may be docs in other formats
	problems  []Problem
	// left counts the markdown files that globs or .gitignore kept out; those
	// in folders kept out whole are not counted.
	left int
}

// walk lists the corpus at root, a folder with its links resolved. It opens
// manifests and .gitignore files but no page. Files in other formats are listed
// if others is true. A folder is walked where it
// lies, never through a link, so that loops end and no page comes twice by
// that way; a link to a file is followed if it stays inside of root.
func walk(ctx context.Context, root string, pick selection, gitIgnore, others bool) (*found, error) {
	w := &walker{root: root, pick: pick, git: gitIgnore, others: others, found: new(found)}
	var above ignores
	if gitIgnore {
		above = w.ignoresAbove()
	}
	if err := w.folder(ctx, ".", nil, above); err != nil {
		return nil, err
	}
	byPath := func(a, b *page) int { return strings.Compare(a.path, b.path) }
	slices.SortFunc(w.found.pages, byPath)
	slices.SortFunc(w.found.templates, byPath)
	slices.SortFunc(w.found.others, byPath)
	return w.found, nil
}

// resolveRoot returns dir with its links resolved. Faults: "no_documents" if
// there is no dir, "not_a_folder" if it is something else.
func resolveRoot(dir string) (string, error) {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fault.New("no_documents", fmt.Sprintf("no markdown files under %s: there is no such folder", dir), "name an existing folder")
	}
	if err != nil {
		return "", fmt.Errorf("read corpus: %w", err)
	}
	if !info.IsDir() {
		return "", fault.New("not_a_folder", fmt.Sprintf("%s is a file, not a folder", dir), "name the folder it lies in: "+filepath.Dir(dir))
	}
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return "", fmt.Errorf("read corpus: %w", err)
	}
	return real, nil
}

type walker struct {
	root   string
	pick   selection
	git    bool
	others bool // files in other formats are wanted
	found  *found
}

// wants says whether a file of that name is of concern.
func (w *walker) wants(name string) bool {
	return isPage(name) || templateName(name) != "" || w.others && formats.Wants(name)
}

func (w *walker) problem(file, format string, args ...any) {
	if !utf8.ValidString(file) {
		file = strconv.Quote(file)
	}
	w.found.problems = append(w.found.problems, Problem{File: file, Reason: fmt.Sprintf(format, args...)})
}

// folder walks dir, relative to the root; m and ig are in force above it.
func (w *walker) folder(ctx context.Context, dir string, m *manifest, ig ignores) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := os.ReadDir(w.at(dir))
	if err != nil && dir == "." {
		return fmt.Errorf("read corpus: %w", err)
	}
	if err != nil {
		w.problem(dir, "folder cannot be read: %s", cause(err))
	}
	for _, e := range entries {
		switch {
		case e.Name() == manifestFile:
			m = w.manifest(path.Join(dir, manifestFile))
		case e.Name() == ".gitignore" && w.git:
			ig = w.withIgnore(ig, dir)
		}
	}
	for _, e := range entries {
		if err := w.entry(ctx, path.Join(dir, e.Name()), e, m, ig); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) entry(ctx context.Context, file string, e fs.DirEntry, m *manifest, ig ignores) error {
	kind := e.Type()
	if strings.HasPrefix(e.Name(), ".") || !w.wants(e.Name()) && !kind.IsDir() && kind&fs.ModeSymlink == 0 {
		return nil
	}
	if !utf8.ValidString(e.Name()) {
		w.problem(file, "the name is not UTF-8; rename it")
		return nil
	}
	if ig.ignored(file, kind.IsDir()) || w.pick.leaves(file) {
		w.leave(file, kind)
		return nil
	}
	if kind.IsDir() {
		return w.folder(ctx, file, m, ig)
	}
	open := w.at(file)
	if kind&fs.ModeSymlink != 0 {
		if open, kind = w.follow(file, open); open == "" {
			return nil
		}
	}
	switch {
	case !w.pick.takes(file):
		w.leave(file, kind)
	case !kind.IsRegular():
		w.problem(file, "is %s, not a file", kindName(kind))
	case templateName(file) != "":
		w.found.templates = append(w.found.templates, &page{path: file, open: open})
	case !isPage(file):
		w.found.others = append(w.found.others, &page{path: file, open: open, manifest: m})
	default:
		w.found.pages = append(w.found.pages, &page{path: file, open: open, manifest: m})
	}
	return nil
}

func (w *walker) leave(file string, kind fs.FileMode) {
	if isPage(file) && !kind.IsDir() {
		w.found.left++
	}
}

// follow resolves the link at open. It returns "" for one that leads to no
// page: a folder, or what lies outside of the corpus.
func (w *walker) follow(file, open string) (string, fs.FileMode) {
	wanted := w.wants(file)
	real, err := filepath.EvalSymlinks(open)
	var info fs.FileInfo
	if err == nil {
		info, err = os.Lstat(real)
	}
	const slash = string(filepath.Separator)
	inside := err == nil && strings.HasPrefix(real, strings.TrimSuffix(w.root, slash)+slash)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !wanted:
		return "", 0 // no concern of ours
	case errors.Is(err, fs.ErrNotExist):
		w.problem(file, "is a broken link")
	case err != nil:
		w.problem(file, "is a link that cannot be followed: %s", cause(err))
	case !inside && real != w.root && (wanted || info.IsDir()):
		w.problem(file, "is a link that leads out of the corpus")
	case inside && wanted && !info.IsDir():
		return real, info.Mode().Type()
	}
	return "", 0
}

// manifest reads a manifest; one with an error says nothing.
func (w *walker) manifest(file string) *manifest {
	src, err := readSettings(w.at(file))
	if err != nil {
		w.problem(file, "cannot be read: %s", cause(err))
		return &manifest{file: file, folder: path.Dir(file)}
	}
	m, problems := parseManifest(file, src)
	w.found.problems = append(w.found.problems, problems...)
	return m
}

// at is where file, relative to the corpus, lies on disk.
func (w *walker) at(file string) string {
	return filepath.Join(w.root, filepath.FromSlash(file))
}

// withIgnore adds the .gitignore of dir.
func (w *walker) withIgnore(ig ignores, dir string) ignores {
	file := path.Join(dir, ".gitignore")
	src, err := readSettings(w.at(file))
	if err != nil {
		w.problem(file, "cannot be read: %s", cause(err))
		return ig
	}
	base := ""
	if dir != "." {
		base = dir + "/"
	}
	return append(slices.Clip(ig), ignoreFile{base: base, rules: parseIgnore(src)})
}

// ignoresAbove reads the .gitignore files between the top of the git checkout
// that root lies in and root itself, which are in force in it too.
func (w *walker) ignoresAbove() ignores {
	var list ignores
	prefix := ""
	for dir := w.root; ; dir = filepath.Dir(dir) {
		if prefix != "" {
			if src, err := readSettings(filepath.Join(dir, ".gitignore")); err == nil {
				list = append(list, ignoreFile{prefix: prefix, rules: parseIgnore(src)})
			}
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			slices.Reverse(list)
			return list
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
		prefix = filepath.Base(dir) + "/" + prefix
	}
}

// isPage says whether name ends like a page.
func isPage(name string) bool {
	return slices.Contains(extensions, strings.ToLower(path.Ext(name)))
}

func kindName(kind fs.FileMode) string {
	switch {
	case kind&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case kind&fs.ModeSocket != 0:
		return "a socket"
	case kind&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}
