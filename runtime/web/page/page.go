// Package page contains the parts that deskhand's pages share: the layout, the
// styles, the rendering of text from agents, and form tokens.
//
// To add a page, embed templates that define "main", and "head" if the page has
// scripts, and parse them with [Shell.Parse]. In these templates, .Data is the
// page's own data, and .Token is the value of the hidden field "token" that
// each form must have. The functions asset, text, phrase, line and clean are
// available. Handlers answer with [Shell.Write]. A handler that changes
// something must first check the request with [Shell.Checked]. Mount the path
// in the front and add a link to [Shell.Nav]. Styles are in
// static/deskhand.css; a page adds scripts and more styles with [Shell.Add] and
// refers to them with {{asset "name.js"}}. The content policy does not allow
// inline scripts, inline styles, or anything from other hosts. Every page works
// without its script.
package page

import (
	"bytes"
	"cmp"
	"context"
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

// Shell renders pages. Once Nav is set and Add is no longer called, its methods
// may be called concurrently.
type Shell struct {
	// Nav lists the navigation links, in order.
	Nav []Link
	// TLSHost is the host at which a proxy serves the pages over https. Cookies
	// that are set there are restricted to https. If TLSHost is empty, there is
	// no such proxy.
	TLSHost string
	// SignedIn reports whether a request comes from a browser that can sign
	// out. If SignedIn is nil, no browser can.
	SignedIn func(*http.Request) bool
	// Counts returns how much is waiting behind navigation links, by path. They are
	// called for each page of a person who has signed in, so they must be fast.
	Counts map[string]func(context.Context) (int, error)
	// Find returns what a person can go to and whose name contains words, at most
	// limit items. With no words, it returns what the person is likely to want.
	Find []func(ctx context.Context, words string, limit int) ([]Found, error)
	// Who returns the name of the person who is signed in, or "" for the owner of
	// the installation and for strangers. If nil, no one has a name.
	Who func(*http.Request) string
	// Explain describes an expected error that the pages do not recognize, for
	// example a full disk, and says what to do. For other errors, it returns an
	// empty message. If Explain is nil, no error is expected.
	Explain func(error) (message, hint string)

	key    []byte
	base   *template.Template
	assets map[string]asset // by name
}

// Failed returns what a page shows for an error that it does not recognize: status
// 503 with Explain's text, or status 500.
func (s *Shell) Failed(err error) (status int, message, hint string) {
	if s.Explain != nil {
		if message, hint := s.Explain(err); message != "" {
			return http.StatusServiceUnavailable, Sentence(message), Sentence(hint)
		}
	}
	return http.StatusInternalServerError, "Something went wrong here.", "Reload the page; deskhand's log has details."
}

// New returns a shell. key signs the form tokens, and may have any length.
// Processes that accept each other's forms have the same key.
func New(key []byte) *Shell {
	s := &Shell{key: key, assets: map[string]asset{}}
	s.base = template.Must(template.New("").Funcs(template.FuncMap{
		"asset":  s.url,
		"clean":  Clean,
		"text":   Text,
		"line":   Line,
		"exact":  Exact,
		"phrase": Phrase,
		"dict":   dict,
	}).ParseFS(templates, "templates/*.html"))
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err)
	}
	s.Add(files)
	return s
}

// Parse parses a page's templates on top of the layout. It panics if they are
// invalid.
func (s *Shell) Parse(files fs.FS, patterns ...string) *template.Template {
	return template.Must(template.Must(s.base.Clone()).ParseFS(files, patterns...))
}

// Page is the content of one answer.
type Page struct {
	Title string // title of the tab
	Here  string // path of the navigation link to highlight
	// Class is the page's CSS class. If it is empty, the page is a column of
	// text.
	Class string
	Data  any
	// FormsTo is an additional origin to which the page's forms may lead. It
	// may be empty.
	FormsTo string
}

// view is the data of the layout template.
type view struct {
	Page
	Nav     []Link
	Token   string
	SignOut bool
	waiting map[string]int
	Who     string
}

// Once returns a new random value for a form's field "once". If a form with
// this value is sent twice, it acts only once; see the function [Once].
func (view) Once() string { return rand.Text() }

// policy allows only content from the server itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"manifest-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"

// Write answers with a page. If name is not empty, it answers with only that
// template of the page.
func (s *Shell) Write(w http.ResponseWriter, r *http.Request, status int, t *template.Template, name string, p Page) {
	body := s.execute(w, r, t, cmp.Or(name, "page"), p).Bytes()
	if at := Prefix(r.Context()); at != "" {
		body = below(body, at)
	}
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	h.Add("Vary", "Sec-Fetch-Site")
	if packs(r, len(body)) {
		h.Set("Content-Encoding", "gzip")
		body = packed(body)
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", strings.TrimSpace(policy+" "+p.FormsTo))
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers would hide a form's origin from this server too
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // ignore the error: the client may be gone
	}
}

// Part renders one template, to be included in another page of the same answer.
func (s *Shell) Part(w http.ResponseWriter, r *http.Request, t *template.Template, name string, data any) template.HTML {
	return template.HTML(s.execute(w, r, t, name, Page{Data: data}).String())
}

func (s *Shell) execute(w http.ResponseWriter, r *http.Request, t *template.Template, name string, p Page) *bytes.Buffer {
	var b bytes.Buffer
	v := view{Page: p, Nav: s.Nav, Token: s.Token(w, r), SignOut: s.SignedIn != nil && s.SignedIn(r)}
	if v.SignOut && name == "page" {
		v.waiting = s.counts(r.Context())
	}
	if s.Who != nil {
		v.Who = s.Who(r)
	}
	if err := t.ExecuteTemplate(&b, name, v); err != nil {
		panic(err) // the template does not match its data
	}
	return &b
}
