package views

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"io/fs"
	"net/http"
	"strings"

	"github.com/deskhand/deskhand/runtime/web/page"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed static/*
var static embed.FS

// document is a view's HTML. It is the same for all readers, except at one
// place, which [document.with] fills in.
type document string

// parts describes a page. Styles and scripts are file names.
type parts struct {
	name            string // name of the content template
	title           string
	styles, scripts []string
	tools           map[string]string // tools that the page calls; the keys are the page's names for them
}

// documents holds what a server needs once a client shows a view.
type documents struct {
	ask, search, attempt document
	form                 http.Handler
}

// make creates the documents of the three views.
func (v *Views) make() documents {
	var d documents
	var shell *page.Shell
	shell, d.form = v.options.Pages()
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err)
	}
	shell.Add(files)
	pages := template.Must(template.ParseFS(templates, "templates/*.html")) // the layout of views and the content of each view
	if v.options.Hub != nil {
		d.ask = documentOf(shell, pages, parts{name: "ask", title: "A question for you",
			styles: []string{"answer.css"}, scripts: []string{"ask-view.js", "answer.js"},
			tools: map[string]string{"form": v.askViewName}})
	}
	d.search = documentOf(shell, pages, parts{name: "search", title: "The documentation", scripts: []string{"search-view.js"},
		tools: map[string]string{"search": v.searchName, "read": v.name("get_doc")}})
	d.attempt = documentOf(shell, pages, parts{name: "attempt", title: "An attempt", scripts: []string{"attempt-view.js"},
		tools: map[string]string{"status": v.statusName, "logs": v.name("tail_attempt_logs"), "changes": v.name("get_attempt_changes")}})
	return d
}

// proofMark stands in a page for a proof. [document.with] replaces it with the
// proof that the reader has read the page.
const proofMark = "-proof-"

// documentOf returns a page's HTML. The page's policy identifies the allowed
// styles and scripts by their digests. It allows nothing else: no addresses and
// no inline handlers. The host adds its own policy.
func documentOf(shell *page.Shell, pages *template.Template, p parts) document {
	tools, err := json.Marshal(p.tools)
	if err != nil {
		panic(err) // cannot happen: strings can always be encoded
	}
	data := struct {
		Name, Title, Tools, Proof, Policy string
		Style, Script                     template.HTML
	}{Name: p.name, Title: p.title, Tools: string(tools), Proof: proofMark}
	var styles, scripts []string
	for _, name := range append([]string{"deskhand.css"}, append(p.styles, "view.css")...) {
		styles = append(styles, shell.File(name))
	}
	for _, name := range append([]string{"host.js"}, p.scripts...) {
		scripts = append(scripts, shell.File(name))
	}
	style, script := strings.Join(styles, "\n"), strings.Join(scripts, "\n")
	if strings.Contains(style, "</style") || strings.Contains(script, "</script") {
		panic("a view's file contains its element's closing tag")
	}
	data.Style, data.Script = template.HTML("<style>"+style+"</style>"), template.HTML("<script>"+script+"</script>")
	data.Policy = "default-src 'none'; script-src " + hashOf(script) + "; style-src " + hashOf(style) +
		"; img-src data:; connect-src 'none'; form-action 'none'; base-uri 'none'"
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, "view", data); err != nil {
		panic(err) // cannot happen unless the template does not match its data
	}
	return document(b.String())
}

// hashOf returns a source for a content security policy.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// with returns the page for one reader. proof is the proof for that reader.
func (d document) with(proof string) string { return strings.Replace(string(d), proofMark, proof, 1) }
