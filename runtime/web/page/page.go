// Package page is what the pages of deskhand have in common: the layout, the
// styles, how texts of agents are shown, and what a form must carry.
//
// A page joins in three steps. Its package embeds templates that define "main",
// and perhaps "head" for scripts, and parses them with [Shell.Parse]; in them
// .Data is its own, .Token is for the hidden field "token" of each form, and
// the functions asset, text, phrase, line and clean are there. A handler answers with
// [Shell.Write], and begins what changes something with [Shell.Checked]. Where
// the front is made, its path is mounted and [Shell.Nav] gets a line. Styles
// are those of static/deskhand.css; a page brings scripts and more styles with
// [Shell.Add] and names them with {{asset "name.js"}}. The policy allows no
// inline script and no inline style, and nothing from elsewhere. Every page
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

// Shell makes pages. Its methods may be called at once, after Nav is set and
// the last Add.
type Shell struct {
	// Nav is the list of places, in order.
	Nav []Link
	// TLSHost is the host at which a proxy shows the pages over https: cookies
	// that are set there go over nothing else. Empty: there is no such proxy.
	TLSHost string
	// SignedIn reports whether a request is of a browser that can sign out. Nil:
	// none is.
	SignedIn func(*http.Request) bool
	// Explain words an error that the pages do not know and that is expected all
	// the same, as that a disk is full: what is wrong and what to do. An empty
	// message: it is of something else. Nil: none is expected.
	Explain func(error) (message, hint string)

	key    []byte
	base   *template.Template
	assets map[string]asset // by name
}

// Link is a place that every page leads to.
type Link struct{ Path, Name string }

// Failed is what a page says of an error that it does not know, and its status:
// 503 with the words of Explain, or 500.
func (s *Shell) Failed(err error) (status int, message, hint string) {
	if s.Explain != nil {
		if message, hint := s.Explain(err); message != "" {
			return http.StatusServiceUnavailable, Sentence(message), Sentence(hint)
		}
	}
	return http.StatusInternalServerError, "Something went wrong here.", "Reload the page; the log of deskhand says more."
}

// New makes a shell. key, of any length, signs the tokens of forms: processes
// that are to take each other's forms share it.
func New(key []byte) *Shell {
	s := &Shell{key: key, assets: map[string]asset{}}
	s.base = template.Must(template.New("").Funcs(template.FuncMap{
		"asset":  s.url,
		"clean":  Clean,
		"text":   Text,
		"line":   Line,
		"phrase": Phrase,
	}).ParseFS(templates, "templates/*.html"))
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err)
	}
	s.Add(files)
	return s
}

// Parse reads the templates of a page over the layout. Broken ones are a bug.
func (s *Shell) Parse(files fs.FS, patterns ...string) *template.Template {
	return template.Must(template.Must(s.base.Clone()).ParseFS(files, patterns...))
}

// Page is one answer.
type Page struct {
	Title string // of the tab
	Here  string // path of the place that it belongs to
	// Class is for the styles of a page; empty: a column of text.
	Class string
	Data  any
	// FormsTo is a further origin that the forms of the page may lead to. Empty:
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

// Write answers with a page, or with one template of it if name is not empty.
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

// Part is one template of a page, to stand on another page of this answer.
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
