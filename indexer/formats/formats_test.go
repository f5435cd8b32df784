package formats

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// converted makes the pages of files, by path, and the rest of the result.
func converted(t *testing.T, o Options, files map[string]string) (map[string]string, map[string]Page, Result) {
	t.Helper()
	dir := t.TempDir()
	var list []File
	for name, content := range files {
		open := filepath.Join(dir, fmt.Sprint(len(list)))
		if err := os.WriteFile(open, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		list = append(list, File{Path: name, Open: open})
	}
	c := New(o)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	r, err := c.Convert(t.Context(), list, nil)
	if err != nil {
		t.Fatal(err)
	}
	texts, pages := map[string]string{}, map[string]Page{}
	for _, p := range r.Pages {
		b, err := os.ReadFile(p.Open)
		if err != nil {
			t.Fatal(err)
		}
		texts[p.Path], pages[p.Path] = string(b), p
	}
	return texts, pages, r
}

// contains checks that each of parts stands in text, in that order.
func contains(t *testing.T, name, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Fatalf("%s: %q is missing, or not in its place, in:\n%s", name, part, text)
		}
		rest = after
	}
}

func lacks(t *testing.T, name, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%s has %q:\n%s", name, part, text)
		}
	}
}

const htmlPage = `<!DOCTYPE html><html><head><title>Retries | Acme Docs</title><style>.x{color:styled}</style><script>var scripted = "evil"</script></head>
<body onload="run()"><header><a href="/">Acme logo</a></header><nav><ul><li>Navigation entry</li></ul></nav>
<div hidden>hidden words</div><main><article><h1>Retries<a class="headerlink" href="#r">¶</a></h1>
<p>Wait <em>longer</em> each time. <script>inline()</script></p><aside class="toc">On this page</aside><aside class="starlight-aside">Mind the limit.</aside>
<h2>Backoff</h2><pre><code class="language-go">x := 1 // # not a heading
</code></pre><table><tr><th colspan="1000000">Key</th><th>Value</th></tr><tr><td>max</td><td>5</td></tr></table>
<div role="tabpanel" hidden>npm install acme</div><img src="data:image/png;base64,AAAA" alt="a picture"><a href="javascript:alert(1)">press</a>
<noscript>enable scripts</noscript><!-- a comment --></article></main><footer>Copyright Acme</footer></body></html>`

func TestHTMLPagesAreTheirMainContent(t *testing.T) {
	texts, pages, r := converted(t, Options{}, map[string]string{
		"a/retries.html": htmlPage,
		"layout.html":    "<div>{{ .Content }}</div>",
		"empty.html":     "<html><body><nav>Home</nav></body></html>",
		"old.htm":        "<html><head><title>Caf\xe9</title></head><body><p>Some words in Latin-1: na\xefve and more.</p></body></html>",
		"sjis.html":      "<html><head><meta charset=\"Shift_JIS\"></head><body><p>\x83\x65\x83\x58\x83\x67 words and more words</p></body></html>",
		"deep.html":      strings.Repeat("<div>", 100_000) + "x",
	})
	got := texts["a/retries.html"]
	contains(t, "retries.html", got, "# Retries", "Wait *longer* each time.", "Mind the limit.", "## Backoff", "```go\nx := 1 // # not a heading", "| Key ", "| max ", "npm install acme")
	lacks(t, "retries.html", got, "styled", "scripted", "inline()", "Navigation", "Acme logo", "hidden words", "On this page", "¶", "Copyright", "enable scripts", "a comment", "javascript:", "base64", "<script")
	if pages["a/retries.html"].Lines != nil {
		t.Error("a page of HTML has lines, which nobody knows")
	}
	contains(t, "old.htm", texts["old.htm"], "# Café", "naïve")
	reasons := map[string]string{}
	for _, p := range r.Problems {
		reasons[p.File] = p.Reason
	}
	if len(reasons) != 2 || !strings.Contains(reasons["deep.html"], "512") || !strings.Contains(reasons["sjis.html"], "character set shift_jis") {
		t.Errorf("problems %v", r.Problems)
	}
	if got := LeftOut(r.Left); got != "left out: 1 .html (a template), 1 .html (no text)" {
		t.Error(got)
	}
}

func TestPlainTextsStayAsTheyAre(t *testing.T) {
	texts, pages, r := converted(t, Options{}, map[string]string{
		"notes.txt":        "Notes on <b>retries</b>\r\n\r\n# not a heading\r\nwords  \r\n```\r\n",
		"guide.txt":        "Guide\n=====\n\nSetup\n-----\n\n    indented code\n",
		"requirements.txt": "flask\n", "blob.txt": "a\x00b", "blank.txt": " \n",
		"utf16.txt": "\xff\xfeH\x00i\x00",
	})
	if got, want := texts["notes.txt"], "# notes\n\nNotes on \\<b>retries\\</b>\n\n\\# not a heading\nwords\n\\```\n\n"; got != want {
		t.Errorf("notes.txt is %q, want %q", got, want)
	}
	if got := fmt.Sprint(pages["notes.txt"].Lines); got != "[0 0 1 2 3 4 5 6]" {
		t.Errorf("lines of notes.txt: %s", got)
	}
	contains(t, "guide.txt", texts["guide.txt"], "Guide\n=====\n", "    indented code")
	contains(t, "utf16.txt", texts["utf16.txt"], "Hi")
	if len(r.Problems) != 1 || r.Problems[0].File != "blob.txt" || len(r.Left) != 0 {
		t.Errorf("problems %v, left out %v", r.Problems, r.Left)
	}
	if Wants("requirements.txt") || Wants("LICENSE.txt") || Wants("llms-full.txt") || Wants("main.go") || !Wants("x.RST") || !Wants("x.pdf") {
		t.Error("the wrong files are wanted")
	}
}

func TestNotebooksOfOtherKinds(t *testing.T) {
	texts, _, r := converted(t, Options{}, map[string]string{
		"old.ipynb": `{"nbformat": 3, "worksheets": [{"cells": [
 {"cell_type": "heading", "level": 1, "source": ["Systems"]},
 {"cell_type": "heading", "level": 3, "source": ["Deep part"]},
 {"cell_type": "code", "language": "julia", "input": ["x"], "outputs": [{"output_type": "pyout", "text": ["42"]}]}]}]}`,
		"output.ipynb": `{"cells": [{"cell_type": "code", "source": "x", "outputs": [
 {"output_type": "error", "traceback": ["\u001b[0;31m----\u001b[0m", "NameError  Traceback", "in x\n--> 1 x", "NameError: no x"]},
 {"output_type": "stream", "text": ["10%\r50%\r100%\n", "done\r\nlast\r"]}]}]}`,
		"front.ipynb": `{"cells": [{"cell_type": "raw", "source": ["---\n", "title: A Quarto page\n", "---\n"]}, {"cell_type": "markdown", "source": "## Part\n\nText"}]}`,
		"empty.ipynb": `{"cells": [], "nbformat": 4}`,
	})
	contains(t, "old", texts["old.ipynb"], "# Systems\n\n### Deep part\n\n```julia\nx\n```\n\n```text\n42\n```")
	contains(t, "output", texts["output.ipynb"], "```text\n----\nNameError  Traceback\nin x\n--> 1 x\nNameError: no x\n```\n\n```text\n100%\ndone\nlast")
	contains(t, "front", texts["front.ipynb"], "# A Quarto page\n\n## Part")
	if got := LeftOut(r.Left); len(r.Problems) > 0 || got != "left out: 1 .ipynb (no text)" {
		t.Errorf("%s, problems %v", got, r.Problems)
	}
}

func TestNotebooksKeepTextCodeAndSomeOutput(t *testing.T) {
	long := strings.Repeat("row\n", 10_000)
	notebook := map[string]any{
		"metadata": map[string]any{"kernelspec": map[string]any{"language": "python"}},
		"nbformat": 4,
		"cells": []any{
			map[string]any{"cell_type": "markdown", "source": []string{"# Plots\n", "\n", "How to *plot*."}},
			map[string]any{"cell_type": "code", "source": []string{"\n", "import acme\n", "acme.plot()"}, "outputs": []any{
				map[string]any{"output_type": "stream", "text": []string{"\u001b[31mhello\u001b[0m\n"}},
				map[string]any{"output_type": "display_data", "data": map[string]any{"image/png": strings.Repeat("A", 1<<20), "text/html": "<script>x()</script>", "text/plain": []string{"<Figure>"}}},
				map[string]any{"output_type": "stream", "text": long},
			}},
			map[string]any{"cell_type": "raw", "source": "raw words"},
		},
	}
	src, err := json.MarshalIndent(notebook, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	texts, pages, r := converted(t, Options{}, map[string]string{"plots.ipynb": string(src), "none.ipynb": `{"cells": 3}`, "broken.ipynb": "{\n\"cells\": [\n"})
	got := texts["plots.ipynb"]
	contains(t, "plots.ipynb", got, "# Plots", "How to *plot*.", "```python\nimport acme\nacme.plot()\n```", "```text\nhello\n```", "<Figure>", "row", "...")
	lacks(t, "plots.ipynb", got, "AAAA", "script", "raw words", "\x1b")
	if len(got) > 4<<10 {
		t.Errorf("a page of %d bytes: the output is not bounded", len(got))
	}
	lines := strings.Split(string(src), "\n")
	markdown := strings.Split(got, "\n")
	for i, at := range pages["plots.ipynb"].Lines {
		if at > 0 && i < len(markdown) && strings.TrimSpace(markdown[i]) != "" && markdown[i][0] != '`' && !strings.Contains("hello<Figure>row...", markdown[i]) && !strings.Contains(lines[at-1], markdown[i]) {
			t.Errorf("line %d is %q, but %d of the source is %q", i+1, markdown[i], at, lines[at-1])
		}
	}
	if len(r.Problems) != 2 {
		t.Errorf("problems %v", r.Problems)
	}
}

// fakePandoc is a program that does as script says.
func fakePandoc(t *testing.T, script string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: there is no shell to write a pandoc in")
	}
	file := filepath.Join(t.TempDir(), "pandoc")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPandocIsCalledInABox(t *testing.T) {
	t.Setenv("DESKHAND_SECRET", "key")
	program := fakePandoc(t, `case "$*" in
*--list-input-formats*) echo rst org man docx latex;;
*--sandbox*--from=rst*) echo "# Title"; echo "<div class=note>"; echo; echo "secret=$DESKHAND_SECRET home=$HOME args=$*"; cat; echo "</div>";;
*--from=man*) echo "# NAME"; cat;;
*--from=latex*) [ -z "${*##*--standalone*}" ] && printf -- '---\nauthor: A\ntitle: Guide *to* retries\n---\n\n'; echo "# Part"; cat;;
*--from=org*) yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa;;
*) echo "bad input" >&2; exit 64;;
esac`)
	texts, _, r := converted(t, Options{Pandoc: program}, map[string]string{
		"a.rst": "words of a\n", "b.adoc": "= B\n", "c.pdf": "%PDF", "d.PDF": "%PDF", "tool.1": ".TH TOOL 1\n", "data.5": "1 2 3\n", "e.org": "* E\n", "f.docx": "PK", "g.tex": "words of g\n",
	})
	contains(t, "g.tex", texts["g.tex"], "# Guide *to* retries\n\n# Part\nwords of g")
	lacks(t, "g.tex", texts["g.tex"], "author", "---")
	contains(t, "a.rst", texts["a.rst"], "# Title", "secret= home=/nonexistent args=--sandbox --from=rst --to=gfm-raw_html", "+RTS -M512M -RTS", "words of a")
	lacks(t, "a.rst", texts["a.rst"], "<div", "</div")
	contains(t, "tool.1", texts["tool.1"], "# tool\n", "# NAME")
	if got := LeftOut(r.Left); got != "left out: 2 .pdf, 1 .adoc (the installed pandoc does not support asciidoc)" {
		t.Error(got)
	}
	var reasons []string
	for _, p := range r.Problems {
		reasons = append(reasons, p.File+": "+p.Reason)
	}
	all := strings.Join(reasons, "\n")
	if len(r.Problems) != 2 {
		t.Errorf("problems %v", reasons)
	}
	for _, want := range []string{"e.org: skipped: pandoc wrote more than 16 MB", "f.docx: skipped: pandoc failed: bad input"} {
		if !strings.Contains(all, want) {
			t.Errorf("no problem %q in:\n%s", want, all)
		}
	}
}

func TestWithoutPandocFilesAreCounted(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	texts, _, r := converted(t, Options{}, map[string]string{"a.rst": "A", "b.RST": "B", "c.1": ".TH C 1\n", "d.1": "no manual"})
	if got := LeftOut(r.Left); len(texts) != 0 || got != "left out: 2 .rst (install pandoc), 1 .1 (install pandoc)" {
		t.Errorf("%v, %s", texts, got)
	}
	if IsDocs("a.rst") || !IsDocs("a.html") || IsDocs("a.txt") || IsDocs("a.json") || IsDocs("a.pdf") {
		t.Error("the wrong files are docs")
	}
}

// TestRealPandoc needs the program.
func TestRealPandoc(t *testing.T) {
	if pandocPath() == "" {
		t.Skip("NOT TESTED: there is no pandoc in PATH")
	}
	secret := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(secret, []byte("stolen words"), 0o600); err != nil {
		t.Fatal(err)
	}
	var docx bytes.Buffer
	z := zip.NewWriter(&docx)
	for name, content := range map[string]string{
		"[Content_Types].xml": `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`,
		"_rels/.rels":         `<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
		"word/document.xml":   `<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>Words of Word</w:t></w:r></w:p></w:body></w:document>`,
	} {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	texts, _, r := converted(t, Options{}, map[string]string{
		"a.rst": "Retries\n=======\n\n.. note:: Mind the limit.\n\n.. include:: " + secret + "\n\n.. raw:: html\n\n   <script>evil()</script>\n\n.. code-block:: go\n\n   x := 1\n",
		"b.org": "#+TITLE: Org docs\n* Heading\n#+INCLUDE: \"" + secret + "\"\nwords of org\n", "c.tex": "\\title{TeX docs}\\begin{document}\\section{Intro}\\input{" + secret + "}words of TeX\\end{document}",
		"tool.1": ".TH TOOL 1\n.SH NAME\ntool \\- does it\n", "d.docx": docx.String(),
	})
	contains(t, "a.rst", texts["a.rst"], "# Retries", "Mind the limit.", "x := 1")
	contains(t, "b.org", texts["b.org"], "# Org docs\n\n# Heading", "words of org")
	contains(t, "c.tex", texts["c.tex"], "# TeX docs\n\n# Intro", "words of TeX")
	contains(t, "tool.1", texts["tool.1"], "# tool\n", "does it")
	contains(t, "d.docx", texts["d.docx"], "Words of Word")
	for name, text := range texts {
		lacks(t, name, text, "stolen words", "<div", "evil()")
	}
	if len(r.Problems) != 0 || len(r.Left) != 0 {
		t.Errorf("problems %v, left out %v", r.Problems, r.Left)
	}
}

func TestAttackFormatsLargeFiles(t *testing.T) {
	big := strings.Repeat("<p>words and words</p>\n", (50<<20)/23)
	texts, _, r := converted(t, Options{}, map[string]string{
		"big.html": "<html><body>" + big, "big.txt": strings.Repeat("a\n", 25<<20), "big.yaml": "openapi: 3.0.0\n" + strings.Repeat("a: b\n", 10<<20), "data.json": "[" + strings.Repeat("1,", 25<<20), "big.ipynb": `{"cells": ["` + strings.Repeat("A", 50<<20) + `"]}`,
	})
	if len(texts) != 0 || len(r.Problems) != 4 {
		t.Errorf("%d pages, problems %v", len(texts), r.Problems)
	}
	for _, p := range r.Problems {
		if !strings.Contains(p.Reason, "larger than") {
			t.Errorf("%s: %s", p.File, p.Reason)
		}
	}
}

// The converter fills up the rows of a table to the longest: a page of 500 KB
// would have 100 million cells.
func TestAttackFormatsTables(t *testing.T) {
	texts, _, r := converted(t, Options{}, map[string]string{
		"rows.html": "<html><body><table><tr>" + strings.Repeat("<td>x", 2000) + strings.Repeat("<tr><td>words of a row", 50_000) + "</table>",
	})
	if n := len(texts["rows.html"]); n == 0 || n > 8<<20 || len(r.Problems) > 0 {
		t.Errorf("a page of %d bytes, problems %v", n, r.Problems)
	}
}

func TestNamedFilesCanBeCountedOnly(t *testing.T) {
	texts, _, r := converted(t, Options{CountOnly: "pass their folder with --path"}, map[string]string{"a.html": htmlPage, "b.txt": "words", "c.pdf": ""})
	if got := LeftOut(r.Left); len(texts) != 0 || got != "left out: 1 .html (pass their folder with --path), 1 .pdf" {
		t.Errorf("%v, %s", texts, got)
	}
}

// FuzzPages converts any bytes: nothing panics, and no page of HTML has scripts.
func FuzzPages(f *testing.F) {
	f.Add("a.html", htmlPage)
	f.Add("a.yaml", petStore)
	f.Add("a.json", `{"openapi": "3.0.0", "paths": {"/a": {"get": {"parameters": [{"$ref": "#/paths"}]}}}}`)
	f.Add("a.ipynb", `{"cells": [{"cell_type": "code", "source": ["a\n"], "outputs": [{"text": ["x"]}]}]}`)
	f.Add("a.txt", "Title\n=====\n\xff")
	f.Fuzz(func(t *testing.T, name, content string) {
		if strings.Contains(name, "/") || !Wants(name) || of(name).pandoc != "" {
			return
		}
		texts, pages, r := converted(t, Options{}, map[string]string{name: content})
		for path, text := range texts {
			if lines := pages[path].Lines; lines != nil && len(lines) < strings.Count(text, "\n") {
				t.Errorf("%s has %d lines for %q", path, len(lines), text)
			}
		}
		for _, p := range r.Problems {
			if strings.Contains(p.Reason, "converting it failed") && !strings.Contains(p.Reason, errSteps.Error()) {
				t.Errorf("%s", p.Reason)
			}
		}
	})
}
