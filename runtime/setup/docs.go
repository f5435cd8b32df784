package setup

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tailscale/hujson"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/runtime/text"
)

// Docs describes a project's docs.
type Docs struct {
	Dir   string // path relative to the project, with slashes; empty if there are no docs
	Files int    // number of Markdown files; counting stops at mostCounted
	Title string // title of the README or index page; empty if there is no title
	// Described reports whether metadata.json already contains a description.
	Described bool
}

// folders lists the usual names of docs folders, most likely first.
var folders = []string{"docs", "doc", "documentation", "content", "src/content/docs", "website/docs", "site/content", "book/src", "corpus", "manual", "handbook", "guide", "guides", "wiki", "pages", "src"}

// mostCounted is the number at which counting stops, because the count only has
// to show whether there are pages.
const mostCounted = 10_000

// FindDocs finds a project's docs. It returns the folder that metadata.json
// names. If there is none, it returns the first of the usual folders that
// contains Markdown. If there is none either, it returns the project's own
// folder, if that contains any Markdown, for example a README.
func FindDocs(project string) Docs {
	if dir, _, err := indexer.Find(project); err == nil {
		if rel, err := filepath.Rel(project, dir); err == nil && filepath.IsLocal(rel) {
			if n := pages(dir); n > 0 {
				return Docs{Dir: filepath.ToSlash(rel), Files: n, Title: titleOf(project, rel), Described: described(project, rel)}
			}
		}
	}
	for _, folder := range folders {
		dir := filepath.Join(project, filepath.FromSlash(folder))
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() { // do not follow a link, which may point anywhere
			continue
		}
		if n := pages(dir); n > 0 {
			return Docs{Dir: folder, Files: n, Title: titleOf(project, folder), Described: described(project, folder)}
		}
	}
	if n := pages(project); n > 0 {
		return Docs{Dir: ".", Files: n, Title: titleOf(project, "."), Described: described(project, ".")}
	}
	return Docs{}
}

// pages counts the Markdown files below dir.
func pages(dir string) (n int) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name := ""
		if d != nil {
			name = d.Name()
		}
		switch {
		case err != nil:
			return nil
		case path != dir && d.IsDir() && (strings.HasPrefix(name, ".") || slices.Contains(notDocs, name)):
			return fs.SkipDir
		case d.Type().IsRegular() && slices.Contains(endings, strings.ToLower(filepath.Ext(name))):
			n++
		}
		if n >= mostCounted {
			return fs.SkipAll
		}
		return nil
	})
	return n
}

// notDocs lists folders that contain build output or files of other projects.
var notDocs = []string{"node_modules", "vendor", "target", "dist", "build", "venv", "third_party"}

var endings = []string{".md", ".markdown", ".mdx"}

// described reports whether a metadata.json file contains a description of the
// docs.
func described(project, dir string) bool {
	for _, place := range []string{filepath.Join(project, dir), project} {
		data, _, err := read(filepath.Join(place, "metadata.json"))
		if err != nil {
			continue
		}
		var about struct {
			Description string `json:"corpus_description"`
		}
		if decode(data, &about) == nil && strings.TrimSpace(about.Description) != "" {
			return true
		}
	}
	return false
}

// anyDocs lists titles of index pages that do not say what the docs are about.
var anyDocs = []string{"overview", "introduction", "intro", "home", "index", "welcome", "readme", "docs", "documentation", "about", "contents", "table of contents", "getting started", "quick start", "quickstart"}

// titleOf returns the title of the docs' index page, or else of the README. It skips
// titles that could be those of any docs.
func titleOf(project, dir string) string {
	for _, place := range []string{filepath.Join(project, dir), project} {
		entries, _ := os.ReadDir(place)
		for _, want := range []string{"index", "_index", "readme", "home", "introduction"} {
			for _, e := range entries {
				name := strings.ToLower(e.Name())
				if !e.Type().IsRegular() || strings.TrimSuffix(name, filepath.Ext(name)) != want || !slices.Contains(endings, filepath.Ext(name)) {
					continue
				}
				if title := pageTitle(filepath.Join(place, e.Name())); title != "" && !slices.Contains(anyDocs, strings.ToLower(title)) {
					return title
				}
			}
		}
	}
	return ""
}

var (
	frontTitle = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^title:\s*(.+)$`) })
	htmlTitle  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)<h1[^>]*>(.*?)</h1>`) })
	markup     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)|<[^>]*>|[*_` + "`" + `]+`) })
)

// pageTitle returns the title in the front matter, or else the first heading.
func pageTitle(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	front, fence, before := false, false, ""
	for n := 0; lines.Scan() && n < 200; n++ {
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), bom))
		switch {
		case n == 0 && line == "---":
			front = true
		case front:
			if found := frontTitle().FindStringSubmatch(line); found != nil {
				return cleanTitle(strings.Trim(found[1], `"' `))
			}
			front = line != "---"
		case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
			fence = !fence
		case fence:
		case strings.HasPrefix(line, "# "):
			return cleanTitle(line[2:])
		case before != "" && len(line) > 1 && strings.Trim(line, "=") == "":
			return cleanTitle(before)
		default:
			if found := htmlTitle().FindStringSubmatch(line); found != nil {
				return cleanTitle(found[1])
			}
		}
		before = line
	}
	return ""
}

func cleanTitle(s string) string {
	s = markup().ReplaceAllStringFunc(s, func(m string) string {
		if found := markup().FindStringSubmatch(m); found != nil && !strings.HasPrefix(m, "!") {
			return found[1]
		}
		return ""
	})
	return text.Shorten(text.OneLine(text.Plain(strings.TrimRight(s, "# "))), 80)
}

// Proposal returns a proposed description of the docs. The description
// completes "Search the ...".
func (d Docs) Proposal(project string) string {
	title := cmp.Or(d.Title, filepath.Base(project))
	for _, word := range []string{"doc", "manual", "guide", "handbook", "reference", "wiki", "book"} {
		if strings.Contains(strings.ToLower(title), word) {
			return title
		}
	}
	return title + " documentation"
}

// decode decodes JSON that may contain comments.
func decode(data []byte, into any) error {
	_, rest, _ := split(data)
	if err := shallow(rest); err != nil {
		return err
	}
	v, err := hujson.Standardize([]byte(rest))
	if err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	return json.Unmarshal(v, into)
}

// maxDepth is the depth that encoding/json accepts too. hujson has no limit, and needs
// stack for each level.
const maxDepth = 10_000

// shallow returns an error if brackets are nested too deeply. It also counts those in
// strings and comments.
func shallow(rest string) error {
	depth := 0
	for i := range len(rest) {
		switch rest[i] {
		case '[', '{':
			if depth++; depth > maxDepth {
				return &problem{strings.Count(rest[:i], "\n") + 1, "it is nested too deeply"}
			}
		case ']', '}':
			depth--
		}
	}
	return nil
}
