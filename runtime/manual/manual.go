// Package manual finds pages and sections of deskhand's manual, which is
// embedded in the program.
package manual

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/corpus"
	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Page is a page of the manual.
type Page struct {
	// Path is relative to the manual's folder, for example
	// "guides/run-an-attempt.md".
	Path string
	// Name identifies the page in commands: "run-an-attempt", or "commands/ask" if an
	// earlier page has the short name.
	Name string
	// Group is the page's folder, for example "guides". It is empty for the first page.
	Group       string
	Title       string
	Description string
	// Markdown is the page without its front matter.
	Markdown string
	// Sections lists the parts of the page under its headings of levels 2 and 3.
	Sections []Section
}

// Section is a part of a page.
type Section struct {
	Anchor  string // for example "exit-codes"
	Heading string
	// Markdown starts with the heading and ends before the next heading of the same
	// or a higher level.
	Markdown string
}

// SectionOf returns the section with an anchor or a heading, in the spelling of the
// manual or of GitHub. Only letters and digits are compared.
func (p Page) SectionOf(anchor string) (Section, bool) {
	wanted := letters(anchor)
	for _, s := range p.Sections {
		if wanted != "" && (letters(s.Anchor) == wanted || letters(s.Heading) == wanted) {
			return s, true
		}
	}
	return Section{}, false
}

// letters returns the letters and digits of text, in lower case.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// groups lists the manual's folders in the order of a table of contents.
var groups = []string{"", "guides", "concepts", "reference", "reference/commands", "reference/tools", "troubleshooting"}

// Pages returns all pages in the order of a table of contents. Callers must not
// modify the result.
var Pages = sync.OnceValue(func() []Page {
	var all []Page
	err := fs.WalkDir(corpus.Files, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(p) != ".md" || strings.HasSuffix(p, ".template.md") {
			return err
		}
		source, err := corpus.Files.ReadFile(p)
		if err == nil {
			all = append(all, read(p, source))
		}
		return err
	})
	if err != nil {
		panic(err) // the files are embedded in the program
	}
	slices.SortStableFunc(all, func(a, b Page) int {
		return slices.Index(groups, a.Group) - slices.Index(groups, b.Group)
	})
	name(all)
	return all
})

func read(p string, source []byte) Page {
	whole := chunker.Split(p, source, chunker.Options{By: chunker.H2, MaxChars: 1 << 20})
	_, text := chunker.FrontMatter(source)
	page := Page{Path: p, Group: path.Dir(p), Title: whole.Title, Description: whole.Description, Markdown: strings.TrimLeft(string(text), "\n")}
	if page.Group == "." {
		page.Group = ""
	}
	finer := chunker.Split(p, source, chunker.Options{By: chunker.H3, MaxChars: 1 << 20})
	for _, c := range append(whole.Chunks, finer.Chunks...) {
		_, fragment, err := chunker.ParseID(c.ID)
		anchor := path.Base(fragment)
		if err == nil && c.Level >= 2 && !slices.ContainsFunc(page.Sections, func(s Section) bool { return s.Anchor == anchor }) {
			page.Sections = append(page.Sections, Section{anchor, c.Heading, c.Markdown})
		}
	}
	return page
}

// name gives each page the shortest name that no earlier page has.
func name(all []Page) {
	taken := map[string]bool{}
	for i := range all {
		parts := strings.Split(strings.TrimSuffix(all[i].Path, ".md"), "/")
		for n := len(parts) - 1; n >= 0; n-- {
			all[i].Name = strings.Join(parts[n:], "/")
			if !taken[all[i].Name] {
				break
			}
		}
		taken[all[i].Name] = true
	}
}

// Found is the result for a topic: a page, or one section of it.
type Found struct {
	Page Page
	// Section is the zero value for a whole page.
	Section Section
}

// Markdown returns the text of the section or page.
func (f Found) Markdown() string {
	if f.Section.Anchor != "" {
		return f.Section.Markdown
	}
	return f.Page.Markdown
}

// Find returns the page or section for a topic: a page's name, path or address
// ("run-an-attempt", "guides/run-an-attempt.md", "settings#state-folder"), or a section's
// name ("exit-codes", "exit codes"). It returns the fault no_topic if there is none.
func Find(topic string) (Found, error) {
	wanted := strings.ToLower(strings.Join(strings.Fields(strings.Trim(topic, "/")), "-"))
	of, anchor, _ := strings.Cut(wanted, "#")
	of = strings.TrimSuffix(of, ".md")
	for _, p := range Pages() {
		if of == p.Name || of == strings.TrimSuffix(p.Path, ".md") {
			return within(p, anchor)
		}
	}
	for _, p := range Pages() {
		if strings.HasSuffix(strings.TrimSuffix(p.Path, ".md"), "/"+of) {
			return within(p, anchor)
		}
	}
	for _, first := range []string{"reference/commands/deskhand.md", ""} { // the page of shared options comes first
		for _, p := range Pages() {
			if first != "" && p.Path != first {
				continue
			}
			if s, ok := p.SectionOf(wanted); ok {
				return Found{p, s}, nil
			}
		}
	}
	var names []string
	for _, p := range Pages() {
		names = append(names, p.Name)
	}
	return Found{}, fault.New("no_topic", fmt.Sprintf("the manual has no topic %q", topic), hint(textutil.Nearest(wanted, names), topic))
}

func hint(near, topic string) string {
	if near != "" {
		return "did you mean \"deskhand help " + near + "\"?"
	}
	return "list the topics with \"deskhand docs\", or search the manual: deskhand docs " + topic
}

func within(p Page, anchor string) (Found, error) {
	if anchor == "" {
		return Found{Page: p}, nil
	}
	if s, ok := p.SectionOf(anchor); ok {
		return Found{p, s}, nil
	}
	return Found{}, fault.New("no_topic", fmt.Sprintf("the page %s has no section %q", p.Name, anchor), "read the page: deskhand help "+p.Name)
}

var link = regexp.MustCompile(`\]\(([^()\s]+)\)`)

// Linked returns text in which each link to another page is replaced. The given
// function returns the new link for a page and an anchor. Other links are unchanged.
// The text comes from the page with the given path.
func Linked(text, from string, to func(p Page, anchor string) string) string {
	return link.ReplaceAllStringFunc(text, func(found string) string {
		target := found[2 : len(found)-1]
		if strings.Contains(target, ":") {
			return found
		}
		file, anchor, _ := strings.Cut(target, "#")
		at := from
		if file != "" {
			at = path.Join(path.Dir(from), file)
		}
		for _, p := range Pages() {
			if p.Path == at {
				if s, ok := p.SectionOf(anchor); ok {
					anchor = s.Anchor
				}
				return "](" + to(p, anchor) + ")"
			}
		}
		return found
	})
}

// digest identifies the manual's contents.
var digest = sync.OnceValue(func() string {
	h := sha256.New()
	for _, p := range Pages() {
		fmt.Fprintf(h, "%s\x00%d\x00%s", p.Path, len(p.Markdown), p.Markdown)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
})

// Place returns the folders in dir for this manual's files and for their index. The
// folders depend on the manual's contents.
func Place(dir string) (files, index string) {
	at := filepath.Join(dir, "manual-"+digest())
	return filepath.Join(at, "files"), filepath.Join(at, "index")
}

// Unpack writes the manual's files into a folder that does not exist yet. It writes all
// files or none. If another process creates the folder in the meantime, Unpack
// succeeds.
func Unpack(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".files-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if err := os.CopyFS(temp, corpus.Files); err != nil {
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		if _, there := os.Stat(dir); there == nil {
			return nil
		}
		return err
	}
	return nil
}

// TopicOf returns the topic for the manual's chunk with this ID.
func TopicOf(id string) string {
	file, fragment, err := chunker.ParseID(id)
	if err != nil {
		return id
	}
	for _, p := range Pages() {
		if p.Path == file {
			if anchor := path.Base(fragment); fragment != "" && slices.ContainsFunc(p.Sections, func(s Section) bool { return s.Anchor == anchor }) {
				return p.Name + "#" + anchor
			}
			return p.Name
		}
	}
	return file
}
