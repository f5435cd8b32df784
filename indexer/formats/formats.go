// Package formats converts docs in other formats to Markdown: HTML, OpenAPI 3, Jupyter
// notebooks, plain text and, with pandoc, reStructuredText, AsciiDoc, Org, docx, LaTeX
// and manual pages.
//
// Files are untrusted. Code in a file is not run, and files or URLs that it refers to
// are not read. The memory, the time and the number of pages for one file are limited.
// A file that exceeds a limit is reported as a Problem.
package formats

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/deskhand/deskhand/indexer/scratch"
)

// File is a file that can be converted if it has one of the formats.
type File struct {
	// Path is relative to the corpus, with forward slashes. Open is the file's path on
	// disk.
	Path, Open string
}

// Page is a page that was converted from a file.
type Page struct {
	// Path is the file's path. If the file has several pages, Path is the file's
	// path, a slash and a name.
	Path string
	// File is the Path of the File that the page was converted from.
	File string
	// Open is the path of the Markdown file.
	Open string
	// Lines holds, for each line of Markdown, its 1-based line in the file, or 0 if it
	// has none. Lines is nil if no line is known.
	Lines []int
}

// Problem describes something in a file that could not be converted.
type Problem struct {
	File   string
	Line   int // 1-based, or 0 for the whole file
	Reason string
}

// Left counts the files with one extension from which no pages were made.
type Left struct {
	// Ending is the extension in lower case, with its dot, or "page" for web pages.
	Ending string `json:"ending"`
	Count  int    `json:"count"`
	// Reason says how to fix this, for example "install pandoc", or is empty.
	Reason string `json:"reason,omitempty"`
}

// String returns l in the form "14 .rst (install pandoc)".
func (l Left) String() string {
	s := fmt.Sprintf("%d %s", l.Count, l.Ending)
	if !strings.HasPrefix(l.Ending, ".") && l.Count != 1 {
		s += "s"
	}
	if l.Reason != "" {
		s += " (" + l.Reason + ")"
	}
	return s
}

// LeftOut returns list on one line. An example is "left out: 14 .rst (install
// pandoc), 3 .pdf".
func LeftOut(list []Left) string {
	var parts []string
	for _, l := range list {
		parts = append(parts, l.String())
	}
	return "left out: " + strings.Join(parts, ", ")
}

// Result is the result of a conversion.
type Result struct {
	Pages    []Page
	Problems []Problem
	// Left is sorted by [Sorted].
	Left []Left
}

// format is a file format that this package recognizes.
type format struct {
	endings []string
	// most is the maximum file size in bytes.
	most int64
	// pages converts a file to pages. It is nil if files in this format cannot be
	// converted.
	pages func(context.Context, *Converter, *work) error
	// pandoc is the name of the format in pandoc, or empty if pandoc is not
	// needed.
	pandoc string
	// maybe is true if files of other kinds have the same extension. Files that turn
	// out not to be in this format are then not counted.
	maybe bool
}

// formats lists the recognized formats.
var formats = []format{
	{endings: []string{".html", ".htm", ".xhtml"}, most: 8 << 20, pages: htmlPages},
	{endings: []string{".json", ".yaml", ".yml"}, most: maxAPI, pages: apiPages, maybe: true},
	{endings: []string{".ipynb"}, most: 32 << 20, pages: notebookPages},
	{endings: []string{".txt", ".text"}, most: 4 << 20, pages: plainPages, maybe: true},
	{endings: []string{".rst", ".rest"}, most: 4 << 20, pages: pandocPages, pandoc: "rst"},
	{endings: []string{".adoc", ".asciidoc", ".asc"}, most: 4 << 20, pages: pandocPages, pandoc: "asciidoc"},
	{endings: []string{".org"}, most: 4 << 20, pages: pandocPages, pandoc: "org"},
	{endings: []string{".docx"}, most: 16 << 20, pages: pandocPages, pandoc: "docx"},
	{endings: []string{".tex", ".latex"}, most: 4 << 20, pages: pandocPages, pandoc: "latex"},
	{endings: []string{".1", ".2", ".3", ".4", ".5", ".6", ".7", ".8", ".9", ".man"}, most: 4 << 20, pages: pandocPages, pandoc: "man", maybe: true},
	{endings: []string{".pdf", ".doc", ".odt", ".rtf", ".epub", ".pptx", ".ppt", ".xlsx", ".xls"}},
}

// notPages lists globs for files that have one of these extensions but are not
// docs. These are files for tools, and files that repeat the docs for models.
var notPages = []string{"requirements*.txt", "constraints*.txt", "cmakelists.txt", "robots.txt", "humans.txt", "licen*.txt", "copying*.txt", "notice*.txt", "llms*.txt",
	"package.json", "package-lock.json", "tsconfig*.json", "pnpm-lock.yaml", "404.html", "search.html", "genindex.html", "sitemap.html"}

func of(name string) *format {
	ending := strings.ToLower(path.Ext(name))
	i := slices.IndexFunc(formats, func(f format) bool { return slices.Contains(f.endings, ending) })
	if i < 0 {
		return nil
	}
	return &formats[i]
}

// ByName reports whether a file with this name is surely docs, by its extension alone, and
// whether a [Converter] makes pages of it.
func ByName(name string) (docs, readable bool) {
	f := of(name)
	if f == nil || f.maybe || !Wants(name) {
		return false, false
	}
	return true, f.pages != nil
}

// Wants reports whether a file with this name may be docs in one of the formats.
func Wants(name string) bool {
	base := strings.ToLower(path.Base(name))
	return of(name) != nil && !slices.ContainsFunc(notPages, func(glob string) bool {
		is, _ := path.Match(glob, base) // the globs are well-formed
		return is
	})
}

// IsDocs reports whether a file with this name contains docs, as far as its extension
// shows, and can be converted on this machine.
func IsDocs(name string) bool {
	f := of(name)
	return f != nil && Wants(name) && !f.maybe && f.pages != nil && (f.pandoc == "" || pandocPath() != "")
}

// Options configure a Converter. The zero value is ready to use.
type Options struct {
	// CountOnly is the reason for not converting any files. If it is empty, files
	// are converted.
	CountOnly string
	// Pandoc is the path of pandoc. If it is empty, pandoc is looked up in PATH.
	Pandoc string
}

// Converter writes pages to a new folder. Close removes this folder. It must not be
// used concurrently.
type Converter struct {
	o   Options
	dir *scratch.Folder // nil before the first page

	mu     sync.Mutex
	n      int
	bytes  int64
	pandoc *pandoc

	files map[string]File // those that Convert was called with, by path
}

// New returns a Converter. Its folder is created with the first page.
func New(o Options) *Converter {
	return &Converter{o: o, pandoc: &pandoc{path: o.Pandoc}}
}

// Close removes the pages.
func (c *Converter) Close() error {
	if c == nil {
		return nil
	}
	if err := c.dir.Close(); err != nil {
		return fmt.Errorf("remove converted pages: %w", err)
	}
	return nil
}

// Limits on the total of all pages, and on the pages of one file.
const (
	maxAll       = 1 << 30
	maxFileText  = 16 << 20
	maxFilePages = 2000
	maxProblems  = 20
)

// Reasons why no page is made from a file.
var (
	errNotOurs = errors.New("the file does not have this format") // the file is not counted if the format's field maybe is true
	errNoText  = errors.New("no text")
)

// leave is the error for a file that is counted in Left, with the reason.
type leave struct{ ending, reason string }

func (l leave) Error() string { return l.reason }

// work is one file that is being converted.
type work struct {
	File
	format   *format
	src      []byte
	pages    []Page
	problems []Problem
	written  int
}

func (w *work) problem(line int, format string, args ...any) {
	if len(w.problems) < maxProblems {
		w.problems = append(w.problems, Problem{w.Path, line, fmt.Sprintf(format, args...)})
	}
}

// Convert converts files to pages. Files that fail are reported as problems or counted
// in Result.Left. Convert returns an error only if ctx is cancelled or a page cannot
// be written. If progress is not nil, it is called after each file, from one goroutine
// at a time.
func (c *Converter) Convert(ctx context.Context, files []File, progress func(done, total int)) (Result, error) {
	all := make([]*work, len(files))
	failed := make([]error, len(files))
	c.files = make(map[string]File, len(files))
	for _, f := range files {
		c.files[f.Path] = f
	}
	var g errgroup.Group
	g.SetLimit(min(runtime.GOMAXPROCS(0), 4))
	var mu sync.Mutex
	done := 0
	for i, f := range files {
		g.Go(func() error {
			all[i] = &work{File: f, format: of(f.Path)}
			failed[i] = c.one(ctx, all[i])
			all[i].src = nil
			mu.Lock()
			defer mu.Unlock()
			if done++; progress != nil {
				progress(done, len(files))
			}
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return Result{}, err
	}
	return gather(all, failed)
}

// gather combines the results of all files, in file order.
func gather(all []*work, failed []error) (Result, error) {
	var r Result
	left := map[Left]int{}
	for i, w := range all {
		var why leave
		var disk *diskError
		switch err := failed[i]; {
		case err == nil:
			r.Pages = append(r.Pages, w.pages...)
		case errors.As(err, &disk):
			return Result{}, err
		case errors.Is(err, errNotOurs) && w.format.maybe:
		case errors.As(err, &why):
			left[Left{Ending: why.ending, Reason: why.reason}]++
		case errors.Is(err, errNoText), errors.Is(err, errNotOurs):
			left[Left{Ending: endingOf(w.Path), Reason: err.Error()}]++
		default:
			w.problem(0, "skipped: %s", oneLine(err.Error()))
		}
		r.Problems = append(r.Problems, w.problems...)
	}
	for l, n := range left {
		l.Count = n
		r.Left = append(r.Left, l)
	}
	r.Left = Sorted(r.Left)
	return r, nil
}

// Sorted sorts a list by descending count, then by extension and reason.
func Sorted(list []Left) []Left {
	slices.SortFunc(list, func(a, b Left) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Ending, b.Ending), strings.Compare(a.Reason, b.Reason))
	})
	return list
}

func endingOf(name string) string { return strings.ToLower(path.Ext(name)) }

// one reads a single file and converts it to pages.
func (c *Converter) one(ctx context.Context, w *work) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("converting it failed: %v", r)
		}
	}()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case w.format == nil || w.format.pages == nil:
		return leave{ending: endingOf(w.Path)}
	case c.o.CountOnly != "" && w.format.maybe:
		return errNotOurs
	case c.o.CountOnly != "":
		return leave{endingOf(w.Path), c.o.CountOnly}
	}
	w.src, err = read(w.Open, w.format.most)
	var large *tooLarge
	if errors.As(err, &large) && w.format.maybe && !maybeDocs(w.Path, large.head) {
		return errNotOurs
	}
	if err != nil {
		return err
	}
	if err := w.format.pages(ctx, c, w); err != nil {
		return err
	}
	if len(w.pages) == 0 {
		return errNoText
	}
	return nil
}

// read reads a regular file. It returns an error if the file has more than most bytes.
func read(name string, most int64) ([]byte, error) {
	// With O_NONBLOCK, opening the file does not block if a pipe has replaced the
	// file.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, errors.New("it cannot be read")
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	src, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, errors.New("it cannot be read")
	}
	if int64(len(src)) > most {
		return nil, &tooLarge{most, src[:min(len(src), 64<<10)]}
	}
	return src, nil
}

// tooLarge is the error for a file that exceeds the maximum size of its format. head
// is the beginning of the file.
type tooLarge struct {
	most int64
	head []byte
}

func (e *tooLarge) Error() string {
	return fmt.Sprintf("it is larger than %d MB, the limit for its format", e.most>>20)
}

// maybeDocs reports whether a large file with an ambiguous extension may contain docs.
// If the file is JSON or YAML data, it returns false.
func maybeDocs(name string, head []byte) bool {
	switch endingOf(name) {
	case ".json", ".yaml", ".yml":
		return bytes.Contains(head, []byte("openapi"))
	}
	return true
}

// diskError is the error for a page that cannot be written.
type diskError struct{ error }

func (d *diskError) Unwrap() error { return d.error }

// write adds a page from the file of w. name is the page's name if the file has
// several pages, or empty if it has one page. lines may be nil. If the page exceeds a
// limit for the file, write reports this as a problem.
func (c *Converter) write(w *work, name, markdown string, lines []int) error {
	markdown = strings.ToValidUTF8(strings.ReplaceAll(markdown, "\x00", ""), "\uFFFD")
	if strings.TrimSpace(markdown) == "" {
		return nil
	}
	if w.written+len(markdown) > maxFileText || len(w.pages) >= maxFilePages {
		w.problem(0, "its text exceeds %d MB or %d pages; the rest is skipped", maxFileText>>20, maxFilePages)
		end := strings.LastIndexByte(markdown[:min(maxFileText-w.written, len(markdown))], '\n')
		if end < 0 || len(w.pages) >= maxFilePages {
			return nil
		}
		markdown = markdown[:end+1]
	}
	w.written += len(markdown)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes += int64(len(markdown)); c.bytes > maxAll {
		return errors.New("the converted docs are larger than 1 GB")
	}
	if c.dir == nil {
		dir, err := scratch.New("pages")
		if err != nil {
			return &diskError{fmt.Errorf("create a folder for pages: %w", err)}
		}
		c.dir = dir
	}
	c.n++
	p := Page{Path: path.Join(w.Path, name), File: w.Path, Open: filepath.Join(c.dir.Path, fmt.Sprintf("%d.md", c.n)), Lines: lines}
	if err := os.WriteFile(p.Open, []byte(markdown), 0o600); err != nil {
		return &diskError{fmt.Errorf("write page: %w", err)}
	}
	w.pages = append(w.pages, p)
	return nil
}

// builder builds a page, and records the source line of each of its lines.
type builder struct {
	text  strings.Builder
	lines []int
}

// add adds text of one or more lines. line is the source line of all of them, or 0
// if they have none.
func (b *builder) add(line int, text string) {
	b.text.WriteString(text)
	b.text.WriteByte('\n')
	for range strings.Count(text, "\n") + 1 {
		b.lines = append(b.lines, line)
	}
}

// block adds text followed by an empty line.
func (b *builder) block(line int, text string) {
	if text != "" {
		b.add(line, text)
		b.add(0, "")
	}
}

// fence returns a code block whose fence is longer than any fence in the code.
func fence(language, code string) string {
	marks := "```"
	for strings.Contains(code, marks) {
		marks += "`"
	}
	return marks + language + "\n" + strings.Trim(code, "\n") + "\n" + marks
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// stem returns the file's name without the folders and the extension.
func stem(name string) string {
	return strings.TrimSuffix(path.Base(name), path.Ext(name))
}

// cut truncates s to n bytes, without splitting a character, and adds " ...".
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + " ..."
}
