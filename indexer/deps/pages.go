package deps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/deskhand/deskhand/indexer/shelf"
	"github.com/deskhand/deskhand/indexer/source"
)

// Limits on the input from one library. The largest hand-written Go file is smaller
// than 1 MB. Larger files have been generated, for example tables or translated C
// code.
const (
	maxSource = 2 << 20
	maxPage   = 4 << 20
	maxPages  = 5000
	maxTotal  = 64 << 20
	maxSeen   = 200_000
)

// errEnough is returned when a library exceeds these limits.
var errEnough = errors.New("it exceeds the limits")

// pages is the folder of Markdown that is built from one library.
type pages struct {
	dir   string
	files map[string]bool // paths in lower case
	bytes int
	// notes lists the parts that were omitted or only partly included.
	notes []string
}

func (p *pages) leave(note string) {
	if !slices.Contains(p.notes, note) {
		p.notes = append(p.notes, note)
	}
}

func isPage(name string) bool { return source.IsPage(name) }

// isLicence reports whether a file contains only a licence.
func isLicence(name string) bool {
	name = strings.ToLower(path.Base(name))
	return strings.HasPrefix(name, "licen") || strings.HasPrefix(name, "copying")
}

// read reads a regular file in root. It does not follow links that lead out of
// root.
func (p *pages) read(root, name string, limit int64) ([]byte, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readIn(r, name, limit)
}

func readIn(r *os.Root, name string, limit int64) ([]byte, error) {
	info, err := r.Lstat(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("it is larger than %d MB", limit>>20)
	}
	f, err := r.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, limit)
}

// walk calls visit for each regular file and folder of root, in name order. It skips
// links, folders in skip and folders whose names begin with a dot.
func (p *pages) walk(ctx context.Context, root string, skip []string, visit func(r *os.Root, name string, d fs.DirEntry) error) error {
	r, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer r.Close()
	seen := 0
	return fs.WalkDir(r.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if seen++; seen > maxSeen {
			return errEnough
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && name == ".":
			return err
		case err != nil:
			return nil // the folder cannot be read
		case name != "." && d.IsDir() && (strings.HasPrefix(d.Name(), ".") || slices.Contains(skip, d.Name())):
			return fs.SkipDir
		case !d.IsDir() && !d.Type().IsRegular():
			return nil
		case d.IsDir() && older(r, name):
			p.leave(printable(path.Dir(name)) + ": older versions of the same package")
			return fs.SkipDir
		}
		return visit(r, name, d)
	})
}

// versionFolder matches the name of a folder with one of several versions, for example
// v1.26.0 in semconv/v1.26.0.
var versionFolder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^v\d+\.\d+(\.\d+)*$`) })

// older reports whether a version folder has a sibling with a newer version. If
// twenty versions of the same names were included, they would crowd out everything
// else.
func older(r *os.Root, name string) bool {
	if !versionFolder().MatchString(path.Base(name)) {
		return false
	}
	beside, _ := fs.ReadDir(r.FS(), path.Dir(name)) // if the folder cannot be read, name counts as the newest
	return slices.ContainsFunc(beside, func(d fs.DirEntry) bool {
		return d.IsDir() && versionFolder().MatchString(d.Name()) && shelf.CompareVersions(d.Name()[1:], path.Base(name)[1:]) > 0
	})
}

// copyMarkdown copies the licence and the pages below root.
func (p *pages) copyMarkdown(ctx context.Context, root string, skip ...string) error {
	err := p.walk(ctx, root, skip, func(r *os.Root, name string, d fs.DirEntry) error {
		switch {
		case d.IsDir():
			return nil
		case isLicence(name):
			if src, err := readIn(r, name, 1<<20); err == nil && !strings.Contains(name, "/") {
				return p.write(strings.TrimSuffix(name, path.Ext(name)), string(src))
			}
			return nil
		case !isPage(name):
			return nil
		}
		src, err := readIn(r, name, maxPage)
		if err != nil {
			p.leave(printable(name) + ": " + printable(err.Error()))
			return nil
		}
		return p.page(name, "", src)
	})
	return p.bounded(err)
}

// bounded converts errEnough to a note. The pages that have been written are
// kept.
func (p *pages) bounded(err error) error {
	if errors.Is(err, errEnough) {
		p.leave(fmt.Sprintf("it has more than %d pages or %d MB; the rest is skipped", maxPages, maxTotal>>20))
		return nil
	}
	return err
}

// copyOne copies one page from root. The name comes from a file in the library, so
// it is not trusted.
func (p *pages) copyOne(root, name string) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) || isLicence(name) {
		return nil
	}
	src, err := p.read(root, name, maxPage)
	if err != nil {
		p.leave(printable(name) + ": " + printable(err.Error()))
		return nil
	}
	return p.bounded(p.page(name, "", src))
}

// page writes a page without its front matter, because front matter would become
// facets. If the page does not start with a heading, page adds one with the title in
// the front matter, or else the parameter title.
func (p *pages) page(name, title string, src []byte) error {
	text := strings.ReplaceAll(strings.TrimPrefix(string(src), "\xef\xbb\xbf"), "\r\n", "\n")
	if rest, ok := strings.CutPrefix(text, "---\n"); ok {
		if front, body, ok := strings.Cut("\n"+rest, "\n---\n"); ok {
			text = body
			for _, line := range strings.Split(front, "\n") {
				if t, ok := strings.CutPrefix(line, "title:"); ok && len(t) < 200 {
					title = strings.Trim(strings.TrimSpace(t), `"'`)
				}
			}
		}
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if title != "" && !strings.HasPrefix(strings.TrimSpace(text), "#") && !setext(text) {
		text = "# " + title + "\n\n" + text
	}
	return p.write(name, text)
}

// setext reports whether text begins with an underlined heading.
func setext(text string) bool {
	lines := strings.SplitN(strings.TrimSpace(text), "\n", 3)
	return len(lines) > 1 && len(lines[1]) > 2 && strings.Trim(strings.TrimSpace(lines[1]), "=") == ""
}

// write writes a file to the folder. If the name is taken, ignoring case, write chooses
// another name.
func (p *pages) write(name, text string) error {
	if isPage(name) && (len(p.files) >= maxPages || p.bytes+len(text) > maxTotal) {
		return errEnough
	}
	parts := strings.Split(name, "/")
	for i, part := range parts { // the index would treat such names as hidden files or as templates
		parts[i] = strings.TrimLeft(printable(part), ".")
	}
	name = strings.ReplaceAll(path.Join(parts...), ".template.", "-template.")
	ext := path.Ext(name)
	free := name
	for n := 2; p.files[strings.ToLower(free)]; n++ {
		free = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
	}
	p.files[strings.ToLower(free)] = true
	p.bytes += len(text)
	to := filepath.Join(p.dir, filepath.FromSlash(free))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// count returns the number of pages.
func (p *pages) count() (n int) {
	for name := range p.files {
		if isPage(name) {
			n++
		}
	}
	return n
}

// fence returns a code block whose fence is longer than any fence in the code.
func fence(language, code string) string {
	marks := "```"
	for strings.Contains(code, marks) {
		marks += "`"
	}
	return marks + language + "\n" + strings.TrimRight(code, "\n") + "\n" + marks + "\n\n"
}

// maxCode is the maximum number of bytes of a declaration that are shown on a
// page.
const maxCode = 8 << 10

// shorten truncates a long declaration at a line end and adds a note on how much
// is missing.
func shorten(code string) string {
	if len(code) <= maxCode {
		return code
	}
	at := strings.LastIndexByte(code[:maxCode], '\n')
	if at < 0 {
		return strings.ToValidUTF8(code[:maxCode], "") + " // ..."
	}
	return code[:at] + fmt.Sprintf("\n// ... %d more lines", strings.Count(code[at+1:], "\n")+1)
}
