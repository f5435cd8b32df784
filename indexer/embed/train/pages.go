package train

import (
	"bytes"
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/runtime/fault"
)

const (
	// A page with fewer than 150 bytes is a stub. A page with more than 600 KB is
	// generated.
	minPageBytes = 150
	maxPageBytes = 600_000
	// maxBodyWords is the number of words used from each section.
	maxBodyWords = 230
)

// page is one Markdown file.
type page struct {
	path               string // path relative to its source
	title, description string
	sections           []section
	// foreign is true for pages that are not in Latin script. In a source that is
	// mostly in Latin script, such pages are translations and are not used.
	foreign bool
}

// section is the text below one heading. It does not include the text below
// deeper headings.
type section struct {
	heading string // empty if there is no heading or if it is the page's title
	anchor  string // fragment in links to this section
	crumb   string // the higher headings, except the title, separated by spaces
	body    string // the words, without markup
	source  string // the Markdown source
}

// read reads all sources and creates the pairs.
func (t *trainer) read() error {
	type file struct {
		source int
		path   string
	}
	var files []file
	for i, dir := range t.Dirs {
		paths, err := markdown(dir)
		if err != nil {
			return fault.New("bad_source", "the folder "+dir+" cannot be read: "+err.Error(), "pass folders of Markdown files")
		}
		if len(paths) == 0 {
			return fault.New("no_training_text", "no Markdown files under "+dir, "pass folders with .md, .markdown or .mdx files, one for each product")
		}
		for _, p := range paths {
			files = append(files, file{i, p})
		}
	}
	pages := make([]*page, len(files))
	digests := make([][sha256.Size]byte, len(files))
	failed := make([]string, len(files))
	progress := t.counter("read", len(files)+len(t.Dirs))
	each(t.ctx, len(files), func(i int) {
		defer progress()
		src, err := os.ReadFile(filepath.Join(t.Dirs[files[i].source], filepath.FromSlash(files[i].path)))
		if err != nil {
			failed[i] = files[i].path + ": " + err.Error()
			return
		}
		if len(src) >= minPageBytes && len(src) <= maxPageBytes {
			digests[i] = sha256.Sum256(bytes.Join(bytes.Fields(src[:min(len(src), 3000)]), nil))
			pages[i] = parse(files[i].path, src)
			pages[i].foreign = foreign(src)
		}
	})
	mostly := make([]int, len(t.Dirs)) // number of pages in Latin script, minus the number of other pages
	for i, p := range pages {
		switch {
		case p == nil:
		case p.foreign:
			mostly[files[i].source]--
		default:
			mostly[files[i].source]++
		}
	}
	sources := make([][]*page, len(t.Dirs))
	seen := map[[sha256.Size]byte]bool{}
	for i, p := range pages {
		if failed[i] != "" {
			t.report.Skipped = append(t.report.Skipped, failed[i])
		}
		if p == nil || seen[digests[i]] || p.foreign && mostly[files[i].source] > 0 {
			continue
		}
		seen[digests[i]] = true
		sources[files[i].source] = append(sources[files[i].source], p)
		t.report.Pages++
	}
	t.report.Sources = len(t.Dirs)
	return t.pair(sources, progress)
}

// markdown returns the paths of all Markdown files in a folder except those that are
// not worth reading.
func markdown(dir string) ([]string, error) {
	var paths []string
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // WalkDir does not follow a link at its root
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != dir && (strings.HasPrefix(name, ".") || name == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		switch strings.ToLower(filepath.Ext(name)) {
		case ".md", ".mdx", ".markdown":
		default:
			return nil
		}
		if !d.Type().IsRegular() || strings.HasPrefix(name, ".") {
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		paths = append(paths, filepath.ToSlash(rel))
		return err
	})
	return chosen(paths), err
}

// parse splits a page at every heading.
func parse(path string, src []byte) *page {
	whole := chunker.Split(path, src, chunker.Options{By: chunker.File, MaxChars: maxPageBytes})
	p := &page{path: path, title: oneLine(whole.Title), description: oneLine(whole.Description)}
	var above []heading
	for _, c := range whole.Chunks {
		for _, part := range headings(c.Markdown) {
			for len(above) > 0 && part.level > 0 && above[len(above)-1].level >= part.level {
				above = above[:len(above)-1]
			}
			s := p.section(path, part)
			for _, h := range above {
				if h.text != p.title {
					s.crumb += h.text + " "
				}
			}
			s.crumb = strings.TrimSpace(s.crumb)
			if part.level > 0 {
				above = append(above, heading{level: part.level, text: s.heading})
			}
			p.sections = append(p.sections, s)
		}
	}
	if p.title == "" {
		p.title = strings.Map(func(r rune) rune {
			if r == '-' || r == '_' {
				return ' '
			}
			return r
		}, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	}
	return p
}

// heading is a heading with the text below it. If level is 0, it is the text before
// the first heading.
type heading struct {
	level    int
	text     string
	markdown string // includes the heading's line
}

var (
	atx        = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^#{1,6}[ \t]+\S`) })
	explicitID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:\{\s*#|<a\s+(?:id|name)=")([\w.-]+)`) })
)

// headings splits Markdown before each heading line outside fenced code blocks.
func headings(markdown string) []heading {
	var (
		parts []heading
		block fence
		from  int
		level int
	)
	for at := 0; at < len(markdown); {
		end := at + strings.IndexByte(markdown[at:], '\n') + 1
		if end == at {
			end = len(markdown)
		}
		line := markdown[at:end]
		if !block.has(line) && line[0] == '#' && atx().MatchString(line) {
			parts = append(parts, heading{level: level, markdown: markdown[from:at]})
			from, level = at, strings.IndexAny(line, " \t")
		}
		at = end
	}
	return append(parts, heading{level: level, markdown: markdown[from:]})
}

// fence is the opening mark of the current fenced block, or empty outside any block.
type fence string

// has reports whether the next line belongs to a fenced block. The fence marks are part
// of the block.
func (f *fence) has(line string) bool {
	bare := strings.TrimLeft(line, " \t")
	switch {
	case *f != "":
		if strings.HasPrefix(bare, string(*f)) {
			*f = ""
		}
		return true
	case strings.HasPrefix(bare, "```"), strings.HasPrefix(bare, "~~~"):
		*f = fence(bare[:3])
		return true
	}
	return false
}

// section reads one part of a page. The caller sets the section's crumb.
func (p *page) section(path string, part heading) section {
	s := section{source: part.markdown}
	if strings.TrimSpace(part.markdown) == "" {
		return s
	}
	cut := chunker.Split(path, []byte(part.markdown), chunker.Options{By: chunker.File})
	if len(cut.Chunks) == 0 {
		return s
	}
	s.body = cut.Chunks[0].Text
	if part.level == 0 {
		return s
	}
	line, rest, _ := strings.Cut(s.body, "\n")
	s.heading, s.body = oneLine(line), strings.TrimSpace(rest)
	s.anchor = anchorOf(s.heading)
	first, below, _ := strings.Cut(part.markdown, "\n")
	s.source = below
	if id := explicitID().FindStringSubmatch(first); id != nil {
		s.anchor = strings.ToLower(id[1])
	}
	if p.title == "" && part.level == 1 {
		p.title = s.heading
	}
	if s.heading == p.title {
		s.heading = ""
	}
	return s
}

var notInAnchor = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\p{L}\p{N}_\- ]+`) })

// anchorOf returns the fragment that most sites use for a heading.
func anchorOf(heading string) string {
	return strings.ReplaceAll(notInAnchor().ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
