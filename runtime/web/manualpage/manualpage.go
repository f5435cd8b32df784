// Package manualpage serves deskhand's own manual: its contents, its pages and a
// search.
package manualpage

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"

	"github.com/deskhand/deskhand/runtime/manual"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// Path is the path of the table of contents. The pages are below it.
const Path = "/manual"

//go:embed templates/*.html
var templates embed.FS

//go:embed static/*
var static embed.FS

// Hit is a section that a search found.
type Hit struct {
	// Topic is the page's name. If the section has an anchor, "#" and the
	// anchor follow.
	Topic, Breadcrumb, Snippet string
}

// Options configures the pages. Shell and Search are required.
type Options struct {
	// Shell creates the pages. [New] adds files and a navigation link to it.
	Shell *page.Shell
	// Search returns the best sections for a query.
	Search func(ctx context.Context, query string) ([]Hit, error)
	// Log receives errors. If it is nil, they are discarded.
	Log *slog.Logger
}

// Pages serves the manual. Use New to create one.
type Pages struct {
	options Options
	page    *template.Template
	texts   sync.Map // a template.HTML for each path
}

// New returns the pages and adds them to the shell.
func New(o Options) *Pages {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err)
	}
	o.Shell.Add(files)
	o.Shell.Nav = append(o.Shell.Nav, page.Link{Path: Path, Name: "Manual"})
	return &Pages{options: o, page: o.Shell.Parse(templates, "templates/*.html")}
}

// Mounts returns the handlers by route.
func (p *Pages) Mounts() map[string]http.Handler {
	return map[string]http.Handler{
		"GET " + Path:                 http.HandlerFunc(p.contents),
		"GET " + Path + "/{topic...}": http.HandlerFunc(p.topic),
	}
}

// view is a page's data.
type view struct {
	Query    string
	Hits     []Hit
	Asked    bool // whether the page shows a search
	Trouble  string
	Groups   []group
	Title    string
	Text     template.HTML
	Sections []manual.Section
	Here     string // the page's name
}

type group struct {
	Name  string
	Pages []manual.Page
}

// groups is the table of contents.
var groups = sync.OnceValue(func() (all []group) {
	for _, p := range manual.Pages() {
		name := p.Group
		if name == "" {
			name = "start"
		}
		if len(all) == 0 || all[len(all)-1].Name != name {
			all = append(all, group{Name: name})
		}
		last := &all[len(all)-1]
		last.Pages = append(last.Pages, p)
	}
	return all
})

func (p *Pages) contents(w http.ResponseWriter, r *http.Request) {
	v := view{Query: strings.TrimSpace(r.URL.Query().Get("q")), Groups: groups()}
	status := http.StatusOK
	if v.Query != "" {
		v.Asked = true
		var err error
		if v.Hits, err = p.options.Search(r.Context(), v.Query); err != nil {
			p.options.Log.Error("cannot search the manual", "error", err)
			var hint string
			status, v.Trouble, hint = p.options.Shell.Failed(err)
			v.Trouble = strings.TrimSpace(v.Trouble + " " + hint)
		}
	}
	p.write(w, r, status, "Manual", v)
}

func (p *Pages) topic(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("topic")
	found, err := manual.Find(name)
	if err != nil {
		v := view{Query: name, Groups: groups(), Trouble: page.Sentence(err.Error())}
		p.write(w, r, http.StatusNotFound, "Manual", v)
		return
	}
	if address := addressOf(found.Page, found.Section.Anchor); address != Path+"/"+name {
		http.Redirect(w, r, address, http.StatusFound)
		return
	}
	p.write(w, r, http.StatusOK, found.Page.Title+" · Manual", view{Title: found.Page.Title, Text: p.text(found.Page), Sections: found.Page.Sections, Here: found.Page.Name, Groups: groups()})
}

func (p *Pages) write(w http.ResponseWriter, r *http.Request, status int, title string, v view) {
	p.options.Shell.Write(w, r, status, p.page, "", page.Page{Title: title, Here: Path, Class: "manual", Data: v})
}

func addressOf(p manual.Page, anchor string) string {
	address := Path + "/" + p.Name
	if anchor != "" {
		address += "#" + anchor
	}
	return address
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// tables puts each table into a box that scrolls on a narrow page, also by keyboard.
// And it gives each block of code a button that copies it.
var boxes = strings.NewReplacer("<table>", `<div class="tablebox" tabindex="0" role="group" aria-label="Table"><table>`, "</table>", "</table></div>",
	"<pre>", `<div class="copied"><pre>`, "</pre>", "</pre>"+page.CopyButton+"</div>")

// text renders a page, and stores the result for later calls. It is used only
// for the program's own text, and leaves out any HTML in that text.
func (p *Pages) text(of manual.Page) template.HTML {
	if html, ok := p.texts.Load(of.Path); ok {
		return html.(template.HTML)
	}
	var b bytes.Buffer
	context := parser.NewContext(parser.WithIDs(anchors{of, map[string]int{}}))
	if err := markdown.Convert([]byte(manual.Linked(of.Markdown, of.Path, addressOf)), &b, parser.WithContext(context)); err != nil {
		p.options.Log.Error("cannot show a page of the manual", "page", of.Path, "error", err)
	}
	html := template.HTML(boxes.Replace(b.String()))
	p.texts.Store(of.Path, html)
	return html
}

// anchors names the headings of one page. It uses the manual's own anchors for
// sections.
type anchors struct {
	page manual.Page
	seen map[string]int
}

// Generate returns the anchor for a heading, which is given as Markdown.
func (a anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	if s, ok := a.page.SectionOf(string(heading)); ok && a.seen[s.Anchor] == 0 {
		a.seen[s.Anchor]++
		return []byte(s.Anchor)
	}
	a.seen["heading"]++
	return fmt.Appendf(nil, "heading-%d", a.seen["heading"])
}

// Put is called for headings that have their own ID. The manual has no such
// headings.
func (a anchors) Put([]byte) {}
