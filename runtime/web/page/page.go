// Package page contains what deskhand's pages share: the layout, the styles,
// how agents' texts are shown, and the tokens of forms.
//
// To add a page, embed templates that define "main", and "head" if the page has
// scripts, and parse them with [Shell.Parse]. In them, .Data is the page's own
// data, .Token is for the hidden field "token" of each form, and the functions
// asset, text, phrase, line and clean are available. Handlers answer with
// [Shell.Write], and check requests that change something with [Shell.Checked]
// first. Mount the path in the front and add a line to [Shell.Nav]. Styles are
// in static/deskhand.css; a page adds scripts and more styles with [Shell.Add]
// and refers to them with {{asset "name.js"}}. The content policy allows no
// inline scripts, no inline styles, and nothing from other hosts. Every page
// works without its script.
package page

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed static/*
var static embed.FS

// Shell makes pages. Its methods may be called concurrently, after Nav is set
// and the last Add.
type Shell struct {
	// Nav lists the places, in order.
	Nav []Link
	// TLSHost is the host at which a proxy serves the pages over https: cookies
	// set there are restricted to https. Empty: there is no such proxy.
	TLSHost string
	// SignedIn reports whether a request comes from a browser that can sign
	// out. Nil: none does.
	SignedIn func(*http.Request) bool
	// Explain words an expected error that the pages do not know, such as a
	// full disk: what is wrong and what to do. It returns an empty message for
	// other errors. Nil: none is expected.
	Explain func(error) (message, hint string)

	key    []byte
	base   *template.Template
	assets map[string]asset // by name
}

// Link is a place in the navigation of every page.
type Link struct{ Path, Name string }

// Failed returns what a page shows for an error that it does not know: status
// 503 with the text of Explain, or 500.
func (s *Shell) Failed(err error) (status int, message, hint string) {
	if s.Explain != nil {
		if message, hint := s.Explain(err); message != "" {
			return http.StatusServiceUnavailable, Sentence(message), Sentence(hint)
		}
	}
	return http.StatusInternalServerError, "Something went wrong here.", "Reload the page; deskhand's log has details."
}

// New returns a shell. key, of any length, signs the forms' tokens: processes
// that accept each other's forms share it.
func New(key []byte) *Shell {
	s := &Shell{key: key, assets: map[string]asset{}}
	s.base = template.Must(template.New("").Funcs(template.FuncMap{
		"asset":  s.url,
		"clean":  Clean,
		"text":   Text,
		"line":   Line,
		"exact":  Exact,
		"phrase": Phrase,
	}).ParseFS(templates, "templates/*.html"))
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err)
	}
	s.Add(files)
	return s
}

// Parse parses a page's templates on top of the layout. It panics if they are
// broken.
func (s *Shell) Parse(files fs.FS, patterns ...string) *template.Template {
	return template.Must(template.Must(s.base.Clone()).ParseFS(files, patterns...))
}

// Page is the content of one answer.
type Page struct {
	Title string // title of the tab
	Here  string // path of the place it belongs to
	// Class is the CSS class of a page; empty: a column of text.
	Class string
	Data  any
	// FormsTo is an additional origin that the page's forms may lead to. Empty:
	// none.
	FormsTo string
}

// view is what the layout sees.
type view struct {
	Page
	Nav     []Link
	Token   string
	SignOut bool
}

// Once is what a form carries in its field "once", so that one which is sent
// twice does one thing: see [Once]. Each is another.
func (view) Once() string { return rand.Text() }

// policy allows what the server itself sends.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"manifest-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"

// Write answers with a page, or with one of its templates if name is not empty.
func (s *Shell) Write(w http.ResponseWriter, r *http.Request, status int, t *template.Template, name string, p Page) {
	body := s.execute(w, r, t, cmp.Or(name, "page"), p).Bytes()
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	h.Add("Vary", "Sec-Fetch-Site")
	if packs(r, len(body)) {
		h.Set("Content-Encoding", "gzip")
		body = packed(body)
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", strings.TrimSpace(policy+" "+p.FormsTo))
	h.Set("Referrer-Policy", "same-origin") // with none, a browser hides the origin of a form from us too
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // nobody is left to tell
	}
}

// Part renders one template of a page, to put into another page of this answer.
func (s *Shell) Part(w http.ResponseWriter, r *http.Request, t *template.Template, name string, data any) template.HTML {
	return template.HTML(s.execute(w, r, t, name, Page{Data: data}).String())
}

func (s *Shell) execute(w http.ResponseWriter, r *http.Request, t *template.Template, name string, p Page) *bytes.Buffer {
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, view{p, s.Nav, s.Token(w, r), s.SignedIn != nil && s.SignedIn(r)}); err != nil {
		panic(err) // a template that does not fit its data
	}
	return &b
}
