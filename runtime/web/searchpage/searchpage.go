// Package searchpage serves the page on which a person sees the results that
// agents get. It has a search with the corpus's facets as menus, the reasons
// for each hit's rank, the sections with their neighbours, and snippets with
// which an agent can repeat the search.
//
// The page does not use the search engine directly. It calls the tools as an
// agent does and therefore shows the same results. Its menus come from the
// tool's schema. The page is one GET form. Each state has its own address, and
// works without the script, which searches while a person types, goes from hit to hit
// by keys, keeps the last questions in the browser, and copies text.
package searchpage

import (
	"embed"
	"encoding/json"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// Path is the page's path.
const Path = "/search"

//go:embed templates/*.html
var templates embed.FS

//go:embed static/*
var static embed.FS

// Options configure a Page. Shell and Tools are required.
type Options struct {
	// Shell renders the page. [New] adds files and a navigation link to it.
	Shell *page.Shell
	// Tools returns the current search_docs and get_doc tools. The search_docs tool must
	// explain its hits. If half is set, the question is half typed, and must not be
	// recorded as one that the docs do not answer.
	Tools func(half bool) (search, read contract.Tool)
	// Corpus describes what is searched. It may be nil.
	Corpus func() Corpus
	// Libraries returns the names of the libraries that are searched. It may be nil.
	Libraries func() []string
	// Name is the server's name in client configurations. If it is empty, the
	// name is docs.
	Name string
	// NoToken reports whether the server requires no token.
	NoToken bool
	// Log receives errors. If it is nil, they are discarded.
	Log *slog.Logger
}

// Corpus describes what is searched.
type Corpus struct {
	Size  string   // for example "992 pages, 1,774 sections"
	Date  string   // when it was built, for example "22 November 2026"; empty if it is unknown
	Terms []string // terms of the docs, as first questions
}

// Page is an [http.Handler] for GET. Use New to create one.
type Page struct {
	options Options
	page    *template.Template
}

// New returns the page and adds it to the shell.
func New(o Options) *Page {
	if o.Name == "" {
		o.Name = "docs"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err)
	}
	o.Shell.Add(files)
	o.Shell.Nav = append(o.Shell.Nav, page.Link{Path: Path, Name: "Search"})
	return &Page{o, o.Shell.Parse(templates, "templates/*.html")}
}

// view is the page's data.
type view struct {
	Query      string
	About      string // the tool's description for agents
	Corpus     Corpus
	Examples   []link // shown if there was no question
	Limits     []choice
	Facets     []facet
	Trouble    *trouble
	Result     *result // nil if there was no search
	SearchCall *copied // nil if there was no search
	Reading    *reading
	ReadCall   *copied // nil if Reading is nil
	Case       *copied // the section as the answer, for deskhand eval; nil without both
	Setups     []setup
}

// copied is text to copy, with a name.
type copied struct{ Name, Text string }

// choice is an item in a menu.
type choice struct {
	Value string
	Here  bool
}

// trouble is an error and its hint.
type trouble struct{ Message, Hint string }

func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	half := r.Header.Get("Deskhand-Part") != ""
	search, read := p.options.Tools(half)
	asked := r.URL.Query()
	v := view{Query: strings.TrimSpace(asked.Get("q")), About: search.Description, Setups: p.setups(r)}
	v.Limits = menu([]string{"5", "10", "20", "50"}, asked.Get("limit"), "10")
	v.Facets = facets(search, p.libraries(), asked)
	if v.Query == "" && p.options.Corpus != nil {
		v.Corpus = p.options.Corpus()
		for _, term := range v.Corpus.Terms[:min(5, len(v.Corpus.Terms))] {
			v.Examples = append(v.Examples, link{term, with(asked, "q", term)})
		}
	}
	status := http.StatusOK
	fail := func(err error) {
		f := fault.Of(err)
		if status = http.StatusBadRequest; f == nil {
			p.options.Log.Error("search page failed", "error", err)
			status, f = http.StatusInternalServerError, fault.New("internal", "The search failed.", "deskhand's log has the reason.")
		}
		v.Trouble = &trouble{f.Message, f.Hint}
	}
	if v.Query != "" {
		args := searchArguments(v, asked)
		v.SearchCall = &copied{"This search from an agent", call(search, args)}
		if answer, err := p.call(r, search, args); err != nil {
			fail(err)
		} else if v.Result, err = readResult(answer, asked); err != nil {
			fail(err)
		}
	}
	if id := asked.Get("read"); id != "" {
		args := readArguments(id, asked)
		v.ReadCall = &copied{"The same from an agent", call(read, args)}
		if answer, err := p.call(r, read, args); err != nil {
			fail(err)
		} else if v.Reading, err = readDoc(answer, asked); err != nil {
			fail(err)
		} else if v.Query != "" {
			v.Case = &copied{Text: caseOf(v, id)}
		}
	}
	title := "Search"
	if v.Query != "" {
		title = v.Query + " · Search"
	}
	part := ""
	if half {
		part = "found"
	}
	p.options.Shell.Write(w, r, status, p.page, part, page.Page{Title: title, Here: Path, Class: "searching", Data: v})
}

func (p *Page) libraries() []string {
	if p.options.Libraries == nil {
		return nil
	}
	return p.options.Libraries()
}

func (p *Page) call(r *http.Request, t contract.Tool, args arguments) (contract.Result, error) {
	return t.Call(r.Context(), contract.Caller{Name: "deskhand search page"}, args.json())
}

// argument is one argument of a call. Arguments are in the page's order.
type argument struct {
	name  string
	value any
}

type arguments []argument

func (a arguments) json() json.RawMessage {
	var b strings.Builder
	b.WriteByte('{')
	for i, one := range a {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(one.name) + ":" + quote(one.value))
	}
	b.WriteByte('}')
	return json.RawMessage(b.String())
}

// quote encodes a string, a number or parts of JSON as JSON.
func quote(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // no error: strings, numbers and valid JSON
	return strings.TrimSuffix(b.String(), "\n")
}

// searchArguments returns the arguments for search_docs: the typed text and the
// selected values.
func searchArguments(v view, asked url.Values) arguments {
	args := arguments{{"query", v.Query}}
	if n, err := strconv.Atoi(asked.Get("limit")); err == nil && n != 10 {
		args = append(args, argument{"limit", n})
	}
	for _, f := range v.Facets {
		if f.Chosen != "" {
			args = append(args, argument{f.Name, f.Chosen})
		}
	}
	if cursor := asked.Get("cursor"); cursor != "" {
		args = append(args, argument{"cursor", cursor})
	}
	return args
}

// readArguments returns the arguments for get_doc: a section, and the number of
// neighbours on each side, which is one by default.
func readArguments(id string, asked url.Values) arguments {
	around, err := strconv.Atoi(asked.Get("around"))
	if err != nil {
		around = 1
	}
	args := arguments{{"chunk_id", id}}
	if around != 0 && strings.Contains(id, "#") {
		args = append(args, argument{"context", around})
	}
	return args
}

// caseOf returns a case for deskhand eval, in which what is read answers the question.
func caseOf(v view, id string) string {
	key := "chunk_id"
	if !strings.Contains(id, "#") {
		key = "filepath"
	}
	c := arguments{{"query", v.Query}}
	var filters arguments
	for _, f := range v.Facets {
		if f.Chosen != "" {
			filters = append(filters, argument{f.Name, f.Chosen})
		}
	}
	if filters != nil {
		c = append(c, argument{"filters", filters.json()})
	}
	return string(append(c, argument{"expected", []json.RawMessage{arguments{{key, id}, {"grade", 3}}.json()}}).json())
}

// call returns a tool call in the form in which an agent's client sends it.
func call(t contract.Tool, args arguments) string {
	body := arguments{{"name", t.Name}, {"arguments", args.json()}}.json()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(body) // no error: the body is valid JSON
	return strings.TrimSpace(b.String())
}

func menu(values []string, chosen, usual string) []choice {
	here := chosen
	if here == "" {
		here = usual
	}
	var m []choice
	for _, value := range values {
		m = append(m, choice{value, value == here})
	}
	return m
}

// with returns the page's address with one parameter changed. If value is
// empty, it removes the parameter.
func with(asked url.Values, name, value string) string {
	next := url.Values{}
	for k, v := range asked {
		if len(v) > 0 && v[0] != "" {
			next[k] = v[:1]
		}
	}
	if next.Set(name, value); value == "" {
		next.Del(name)
	}
	return Path + "?" + next.Encode()
}
