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

	"github.com/deskhand/deskhand/indexer/shelf"
	"github.com/deskhand/deskhand/indexer/source"
)

// Bounds of what is read of one library. The largest file of Go that people wrote
// has less than 1 MB; those with more are made by tools, as tables and C.
const (
	maxSource = 2 << 20
	maxPage   = 4 << 20
	maxPages  = 5000
	maxTotal  = 64 << 20
	maxSeen   = 200_000
)

// errEnough says that a library has more than the bounds.
var errEnough = errors.New("more than the bounds")

// pages is the folder of markdown that is made of one library.
type pages struct {
	dir   string
	files map[string]bool // in small letters
	bytes int
	// notes say what was left out, or taken in part.
	notes []string
}

func (p *pages) leave(note string) {
	if !slices.Contains(p.notes, note) {
		p.notes = append(p.notes, note)
	}
}

func isPage(name string) bool { return source.IsPage(name) }

// isLicence says whether a file has the licence alone.
func isLicence(name string) bool {
	name = strings.ToLower(path.Base(name))
	return strings.HasPrefix(name, "licen") || strings.HasPrefix(name, "copying")
}

// read reads a regular file in root, whose links do not lead out of it.
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
		return nil, errors.New("it is a link, or no file")
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("it has more than %d MB", limit>>20)
	}
	f, err := r.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, limit)
}

// walk calls visit with each regular file and folder of root, in the order of
// their names. Links, and folders whose names begin with a dot or that are in
// skip, are left out.
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
			return nil // a folder that cannot be read
		case name != "." && d.IsDir() && (strings.HasPrefix(d.Name(), ".") || slices.Contains(skip, d.Name())):
			return fs.SkipDir
		case !d.IsDir() && !d.Type().IsRegular():
			return nil
		case d.IsDir() && older(r, name):
			p.leave(printable(path.Dir(name)) + ": older versions beside the newest")
			return fs.SkipDir
		}
		return visit(r, name, d)
	})
}

// versionFolder is the name of a folder that holds one version of many, as
// semconv/v1.26.0.
var versionFolder = regexp.MustCompile(`^v\d+\.\d+(\.\d+)*$`)

// older says whether a folder of one version has a newer one beside it: twenty
// versions of the same names would drown all else.
func older(r *os.Root, name string) bool {
	if !versionFolder.MatchString(path.Base(name)) {
		return false
	}
	beside, _ := fs.ReadDir(r.FS(), path.Dir(name)) // none: it is the newest
	return slices.ContainsFunc(beside, func(d fs.DirEntry) bool {
		return d.IsDir() && versionFolder.MatchString(d.Name()) && shelf.CompareVersions(d.Name()[1:], path.Base(name)[1:]) > 0
	})
}

// copyMarkdown copies the pages below root and its licence.
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

// bounded notes that a library has more than the bounds; what there is stays.
func (p *pages) bounded(err error) error {
	if errors.Is(err, errEnough) {
		p.leave(fmt.Sprintf("it has more than %d pages or %d MB; the rest is left out", maxPages, maxTotal>>20))
		return nil
	}
	return err
}

// copyOne copies the page name of root, which a file of the library names.
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

// page writes a page without its front matter, which would count as facets. A
// title of it, or else title, becomes a heading if the page begins with none.
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

// setext says whether text begins with a heading that is underlined.
func setext(text string) bool {
	lines := strings.SplitN(strings.TrimSpace(text), "\n", 3)
	return len(lines) > 1 && len(lines[1]) > 2 && strings.Trim(strings.TrimSpace(lines[1]), "=") == ""
}

// write writes a file of the folder. One that is there under that name, in
// capitals or not, keeps it.
func (p *pages) write(name, text string) error {
	if isPage(name) && (len(p.files) >= maxPages || p.bytes+len(text) > maxTotal) {
		return errEnough
	}
	parts := strings.Split(name, "/")
	for i, part := range parts { // what the index would take for hidden, or for a template
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

// count is how many pages there are.
func (p *pages) count() (n int) {
	for name := range p.files {
		if isPage(name) {
			n++
		}
	}
	return n
}

// fence is a block of code, longer than any fence in it.
func fence(language, code string) string {
	marks := "```"
	for strings.Contains(code, marks) {
		marks += "`"
	}
	return marks + language + "\n" + strings.TrimRight(code, "\n") + "\n" + marks + "\n\n"
}

// maxCode is how many bytes of one declaration a page shows.
const maxCode = 8 << 10

// shorten cuts a long declaration at a line and says how much is missing.
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
