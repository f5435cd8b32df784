// Package formats makes Markdown of docs in other formats: HTML, OpenAPI 3,
// Jupyter notebooks, plain text and, with pandoc, reStructuredText, AsciiDoc,
// Org, docx, LaTeX and manual pages.
//
// Files are strangers. Nothing in them runs, nothing that they refer to is read
// or fetched, and what one file may take of memory, time and pages is bounded; a
// file over a bound is a Problem.
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
)

// File is a file that may be converted.
type File struct {
	// Path is relative to the corpus, with forward slashes; Open is where the file
	// lies.
	Path, Open string
}

// Page is one page that was made of a file.
type Page struct {
	// Path is that of the file; of several pages of one file, PATH/NAME.
	Path string
	// File is the path of the file.
	File string
	// Open is the file of Markdown.
	Open string
	// Lines has the source line of each line of Markdown, from 1; 0: it has none.
	// Nil: no line of the page is known.
	Lines []int
}

// Problem is something in a file that could not be converted.
type Problem struct {
	File   string
	Line   int // 1-based; 0: the file as a whole
	Reason string
}

// Left is how many files of one ending became no page.
type Left struct {
	// Ending is in small letters, with its dot; "page": they are pages of the web.
	Ending string `json:"ending"`
	Count  int    `json:"count"`
	// Reason says what to do about it, as "install pandoc"; empty: nothing can be.
	Reason string `json:"reason,omitempty"`
}

// String is as "14 .rst (install pandoc)".
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

// LeftOut is a list as one line: "left out: 14 .rst (install pandoc), 3 .pdf".
func LeftOut(list []Left) string {
	var parts []string
	for _, l := range list {
		parts = append(parts, l.String())
	}
	return "left out: " + strings.Join(parts, ", ")
}

// Result is what became of files.
type Result struct {
	Pages    []Page
	Problems []Problem
	// Left is as [Sorted] has it.
	Left []Left
}

// format is one format that this package knows.
type format struct {
	endings []string
	// most is how many bytes a file may have.
	most int64
	// pages makes pages of a file; nil: no pages can be made of it.
	pages func(context.Context, *Converter, *work) error
	// pandoc is the name of pandoc's reader; empty: pandoc is not needed.
	pandoc string
	// maybe says that other files have that ending too, so that one that is not of
	// the format counts nowhere.
	maybe bool
}

// formats is the table of formats.
var formats = []format{
	{endings: []string{".html", ".htm", ".xhtml"}, most: 8 << 20, pages: htmlPages},
	{endings: []string{".json", ".yaml", ".yml"}, most: 16 << 20, pages: apiPages, maybe: true},
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

// notPages are files of these formats that are no docs: of tools, and texts for
// models that repeat the docs.
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

// Wants reports whether a file of this name may be docs in one of the formats.
func Wants(name string) bool {
	base := strings.ToLower(path.Base(name))
	return of(name) != nil && !slices.ContainsFunc(notPages, func(glob string) bool {
		is, _ := path.Match(glob, base) // the globs are well-formed
		return is
	})
}

// IsDocs reports whether a file of this name is docs by its ending alone, and can
// be converted here.
func IsDocs(name string) bool {
	f := of(name)
	return f != nil && Wants(name) && !f.maybe && f.pages != nil && (f.pandoc == "" || pandocPath() != "")
}

// Options tunes a Converter. The zero value is the default.
type Options struct {
	// Temp is where the folder of the pages is made; empty: the system's.
	Temp string
	// CountOnly leaves out all files for that reason. Empty: they are converted.
	CountOnly string
	// Pandoc is the program; empty: the one in PATH.
	Pandoc string
}

// Converter makes pages in a folder of its own. Close removes it. It is for one
// use at a time.
type Converter struct {
	o   Options
	dir string

	mu     sync.Mutex
	n      int
	bytes  int64
	pandoc *pandoc
}

// New returns a converter. It makes its folder when there is a page.
func New(o Options) *Converter {
	return &Converter{o: o, pandoc: &pandoc{path: o.Pandoc}}
}

// Close removes the pages.
func (c *Converter) Close() error {
	if c == nil || c.dir == "" {
		return nil
	}
	if err := os.RemoveAll(c.dir); err != nil {
		return fmt.Errorf("remove converted pages: %w", err)
	}
	return nil
}

// Bounds of all pages, and of those of one file.
const (
	maxAll       = 1 << 30
	maxFileText  = 16 << 20
	maxFilePages = 2000
	maxProblems  = 20
)

// Reasons why a file is no page.
var (
	errNotOurs = errors.New("not of this format") // counts nowhere if the format is a maybe
	errNoText  = errors.New("no text")
)

// leave is an error of a file that counts as left out, with what to do.
type leave struct{ ending, reason string }

func (l leave) Error() string { return l.reason }

// work is one file on its way.
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

// Convert makes pages of files. Files that fail are problems or counted in
// Result.Left; an error is that of ctx or of the folder of the pages. progress
// is called after each file, by one goroutine at a time; nil: it is not.
func (c *Converter) Convert(ctx context.Context, files []File, progress func(done, total int)) (Result, error) {
	all := make([]*work, len(files))
	failed := make([]error, len(files))
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

// gather is the result of files in their order.
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

// Sorted sorts a list by count, the most first, ending and reason.
func Sorted(list []Left) []Left {
	slices.SortFunc(list, func(a, b Left) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Ending, b.Ending), strings.Compare(a.Reason, b.Reason))
	})
	return list
}

func endingOf(name string) string { return strings.ToLower(path.Ext(name)) }

// one reads a file and makes its pages.
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

// read reads a regular file of at most most bytes.
func read(name string, most int64) ([]byte, error) {
	// It never waits for a pipe that took the file's place.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, errors.New("it cannot be read")
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("it is no file")
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

// tooLarge says that a file is over the bound of its format; head is how it
// begins.
type tooLarge struct {
	most int64
	head []byte
}

func (e *tooLarge) Error() string {
	return fmt.Sprintf("it has more than %d MB, the most for its format", e.most>>20)
}

// maybeDocs says whether a large file of an ending that others have too may be
// docs: data in JSON and YAML is not.
func maybeDocs(name string, head []byte) bool {
	switch endingOf(name) {
	case ".json", ".yaml", ".yml":
		return bytes.Contains(head, []byte("openapi"))
	}
	return true
}

// diskError says that a page cannot be written.
type diskError struct{ error }

func (d *diskError) Unwrap() error { return d.error }

// write adds a page of w. name is that of one of several pages; empty: there is
// one. lines may be nil. A page over the bounds of its file is a problem.
func (c *Converter) write(w *work, name, markdown string, lines []int) error {
	markdown = strings.ToValidUTF8(strings.ReplaceAll(markdown, "\x00", ""), "\uFFFD")
	if strings.TrimSpace(markdown) == "" {
		return nil
	}
	if w.written+len(markdown) > maxFileText || len(w.pages) >= maxFilePages {
		w.problem(0, "it becomes more than %d MB or %d pages; the rest is left out", maxFileText>>20, maxFilePages)
		return nil
	}
	w.written += len(markdown)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes += int64(len(markdown)); c.bytes > maxAll {
		return errors.New("the docs become more than 1 GB")
	}
	if c.dir == "" {
		dir, err := os.MkdirTemp(c.o.Temp, "deskhand-pages-")
		if err != nil {
			return &diskError{fmt.Errorf("make a folder for pages: %w", err)}
		}
		c.dir = dir
	}
	c.n++
	p := Page{Path: path.Join(w.Path, name), File: w.Path, Open: filepath.Join(c.dir, fmt.Sprintf("%d.md", c.n)), Lines: lines}
	if err := os.WriteFile(p.Open, []byte(markdown), 0o600); err != nil {
		return &diskError{fmt.Errorf("write page: %w", err)}
	}
	w.pages = append(w.pages, p)
	return nil
}

// builder puts a page together and keeps the source line of each of its lines.
type builder struct {
	text  strings.Builder
	lines []int
}

// add adds text of any number of lines, all of them from one line of the source;
// 0: from none.
func (b *builder) add(line int, text string) {
	b.text.WriteString(text)
	b.text.WriteByte('\n')
	for range strings.Count(text, "\n") + 1 {
		b.lines = append(b.lines, line)
	}
}

// block adds text and an empty line.
func (b *builder) block(line int, text string) {
	if text != "" {
		b.add(line, text)
		b.add(0, "")
	}
}

// fence is a block of code, longer than any fence in it.
func fence(language, code string) string {
	marks := "```"
	for strings.Contains(code, marks) {
		marks += "`"
	}
	return marks + language + "\n" + strings.Trim(code, "\n") + "\n" + marks
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// stem is the name of a file without folders and ending.
func stem(name string) string {
	return strings.TrimSuffix(path.Base(name), path.Ext(name))
}

// cut is s with at most n bytes, cut at a letter.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + " ..."
}
