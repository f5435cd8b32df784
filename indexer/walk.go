package indexer

import (
	"cmp"
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
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// extensions lists the file extensions of pages, in lower case.
var extensions = []string{".md", ".markdown", ".mdx"}

// page is one Markdown file of the corpus.
type page struct {
	path     string    // relative to the corpus, with forward slashes
	open     string    // path to open, with links resolved
	manifest *manifest // the nearest manifest, or nil if there is none
	settings settings
	phrases  map[string][]string // phrases of its chunks, by chunk ID; nil if there are none
	// converted is true if the file at open is the result of a conversion. lines
	// holds the source lines, as in formats.Page.
	converted bool
	lines     []int
}

// found holds the results of a walk, with each list sorted by path.
type found struct {
	pages     []*page
	templates []*page
	others    []*page // files in other formats that may contain docs
	problems  []Problem
	// left counts the Markdown files that globs or a .gitignore excluded. Files
	// in excluded folders are not counted.
	left int
	// foreign counts the files in other formats by extension, if the walk leaves them out.
	foreign map[string]int
}

// leftOut returns what foreign counts. Libraries read most of these formats.
func (f *found) leftOut() []formats.Left {
	var list []formats.Left
	for ending, n := range f.foreign {
		l := formats.Left{Ending: ending, Count: n}
		if _, readable := formats.ByName("a" + ending); readable {
			l.Reason = "deskhand add reads " + ending
		}
		list = append(list, l)
	}
	return formats.Sorted(list)
}

// walk lists the files of the corpus at root, a path in which links have been
// resolved. It opens manifests and .gitignore files, but no pages. If others is true,
// it also lists files in other formats. It never follows links to folders, because
// these could form a loop or lead to a page that is already listed. It follows links
// to files inside root.
func walk(ctx context.Context, root string, pick selection, others bool) (*found, error) {
	w := &walker{root: root, pick: pick, others: others, found: &found{foreign: map[string]int{}}}
	var above ignores
	if pick.gitIgnore {
		above = w.ignoresAbove(ctx)
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

// resolveRoot returns dir with all links resolved. It returns fault "no_documents" if
// dir does not exist, and fault "not_a_folder" if it is not a folder.
func resolveRoot(dir string) (string, error) {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fault.New("no_documents", fmt.Sprintf("no Markdown files under %s: there is no such folder", dir), "pass an existing folder"+similar(dir))
	}
	if err != nil {
		return "", fmt.Errorf("read corpus: %w", err)
	}
	if !info.IsDir() {
		return "", fault.New("not_a_folder", fmt.Sprintf("%s is a file, not a folder", dir), "pass its folder: "+filepath.Dir(dir))
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

// similar asks whether a folder beside dir was meant. It is empty if none has a similar
// name.
func similar(dir string) string {
	parent, name := filepath.Split(filepath.Clean(dir))
	entries, _ := os.ReadDir(cmp.Or(parent, ".")) // without a parent there is nothing similar
	var folders []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != name {
			folders = append(folders, e.Name())
		}
	}
	if near := textutil.Nearest(name, folders); near != "" {
		return "; did you mean " + parent + near + "?"
	}
	return ""
}

type walker struct {
	root   string
	pick   selection
	others bool // include files in other formats
	found  *found
}

// wants reports whether the walk includes files with this name.
func (w *walker) wants(name string) bool {
	return isPage(name) || templateName(name) != "" || w.others && formats.Wants(name)
}

func (w *walker) problem(file, format string, args ...any) {
	if !utf8.ValidString(file) {
		file = strconv.Quote(file)
	}
	w.found.problems = append(w.found.problems, Problem{File: file, Reason: fmt.Sprintf(format, args...)})
}

// folder walks dir, which is relative to the root. m and ig are the manifest and the
// ignore rules that apply to dir's parent.
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
		case e.Name() == ".gitignore" && w.pick.gitIgnore:
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
	if docs, _ := formats.ByName(e.Name()); docs && !w.others && kind.IsRegular() && !strings.HasPrefix(e.Name(), ".") {
		w.found.foreign[strings.ToLower(path.Ext(e.Name()))]++
	}
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

// follow resolves the link at open. It returns "" if the link does not lead to a
// page, for example if it leads to a folder or out of the corpus.
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
		return "", 0 // it is not a page
	case errors.Is(err, fs.ErrNotExist):
		w.problem(file, "is a broken link")
	case err != nil:
		w.problem(file, "is a link that cannot be followed: %s", cause(err))
	case !inside && real != w.root && (wanted || info.IsDir()):
		w.problem(file, "is a link that points outside the corpus")
	case inside && wanted && !info.IsDir():
		return real, info.Mode().Type()
	}
	return "", 0
}

// manifest reads a manifest. If the file contains an error, the returned manifest
// is empty.
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

// at returns the path on disk of file, which is relative to the corpus.
func (w *walker) at(file string) string {
	return filepath.Join(w.root, filepath.FromSlash(file))
}

// withIgnore returns ig with the rules in dir's .gitignore added.
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

// ignoresAbove reads the .gitignore files in the folders from the top of root's git
// checkout down to root's parent, and the excludes of the checkout if they are picked. Their
// rules also apply to root.
func (w *walker) ignoresAbove(ctx context.Context) ignores {
	var list ignores
	prefix := ""
	for dir := w.root; ; dir = filepath.Dir(dir) {
		if prefix != "" {
			if src, err := readSettings(filepath.Join(dir, ".gitignore")); err == nil {
				list = append(list, ignoreFile{prefix: prefix, rules: parseIgnore(src)})
			}
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			if w.pick.gitExcludes {
				for _, file := range gitExcludes(ctx, dir) {
					if src, err := readSettings(file); err == nil {
						list = append(list, ignoreFile{prefix: prefix, rules: parseIgnore(src)})
					}
				}
			}
			slices.Reverse(list)
			return list
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
		prefix = filepath.Base(dir) + "/" + prefix
	}
}

// isPage reports whether name has a page's extension.
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
