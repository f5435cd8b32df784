package chunker

import (
	"strings"
	"testing"
)

func TestTextHasTheWordsAndNoMarkup(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"prose":             {"a *b* **c** ~~d~~ `e *f*`\n\ng\nh\n", "a b c d e *f*\ng\nh"},
		"headings":          {"# A *b*\n\ntext\n\n### C {#c}\n", "A b\ntext\nC"},
		"links":             {"see [the *guide*](http://x.example \"t\") and [ref][r] and ![alt *text*](i.png)\n\n[r]: http://y.example\n", "see the guide and ref and alt text"},
		"an address":        {"<https://x.example/a> and https://y.example\n", "https://x.example/a and https://y.example"},
		"code blocks":       {"```sh title=x\nls -l\n\n  cd\n```\n\n    tab\n      more\n", "ls -l\n\n  cd\ntab\n  more"},
		"lists":             {"- a\n  - b\n\n    c\n1. d\n- [x] done\n", "a\nb\nc\nd\ndone"},
		"quotes":            {"> a\n> b\n>\n> > c\n", "a\nb\nc"},
		"tables":            {"intro\n| a | `b` |\n|---|:-:|\n| c\\|d | **e** |\n| f |\n", "intro\na b \nc|d e \nf"},
		"references":        {"a &amp; b &lt;c&gt; &#169; &unknown; \\*d\\* \\a\n", "a & b <c> © &unknown; *d* \\a"},
		"inline HTML":       {"a<br>b <b>c</b>d <!-- no --> <a name=\"x\"></a>e\n", "a b cd  e"},
		"HTML blocks":       {"<div class=\"no\">a <b>b</b>c<p>d &amp; e</div>\n\n<!-- no\n\nno -->\n\n<pre>\nx < y\n</pre>\n", "a bc d & e \nx < y"},
		"scripts":           {"<script>\nno()\n</script>\n\n<style>no</style>\n\ntext\n", "text"},
		"tag over lines":    {"<table\n  class=\"a > b\">\n<tr><td>c</td><td>d</td></tr></table>\n", "c d"},
		"components":        {"<Card icon=\"no\" items={[{a: '>'}]}>\n  inner *text*\n</Card>\n", "inner *text*"},
		"component by line": {"<Tabs>\n\n**bold**\n\n</Tabs>\n", "bold"},
		"hard breaks":       {"a  \nb\\\nc\n", "a\nb\nc"},
		"rules":             {"a\n\n---\n\nb\n", "a\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := split(t, c.src, Options{By: File}).Chunks[0].Text; got != c.want {
				t.Errorf("text of %q = %q, want %q", c.src, got, c.want)
			}
		})
	}
}

func TestImportsOfMDXStayOutOfTheText(t *testing.T) {
	const src = "import A from './a'\nexport const b = 1\n\nimport B from './b'\n\n# T\n\nimport taxes apply\n"
	for _, path := range []string{"p.mdx", "p.MDX"} {
		page := Split(path, []byte(src), Options{By: File})
		check(t, path, src, page)
		if got, want := page.Chunks[0].Text, "T\nimport taxes apply"; got != want {
			t.Errorf("text of %s = %q, want %q", path, got, want)
		}
	}
	if got, want := split(t, "import taxes apply\n", Options{By: File}).Chunks[0].Text, "import taxes apply"; got != want {
		t.Errorf("text of p.md = %q, want %q", got, want)
	}
}

func TestTextHasNoCharactersThatCutWords(t *testing.T) {
	src := "---\ntitle: Ti\u00adtle\ndescription: De\ufeffscription\n---\n# Hy\u00adphen\n\nThe soft hy&shy;phen, a token\ufeffin a `co\u2060de` word.\n"
	page := Split("a.md", []byte(src), Options{})
	c := page.Chunks[0]
	if page.Title != "Title" || page.Description != "Description" || c.Heading != "Hyphen" || c.Text != "Hyphen\nThe soft hyphen, a tokenin a code word." {
		t.Errorf("title %q, description %q, heading %q, text %q", page.Title, page.Description, c.Heading, c.Text)
	}
	if !strings.Contains(c.Markdown, "\ufeffin") {
		t.Errorf("the markdown was changed: %q", c.Markdown)
	}
	deep := Split("a.md", []byte(strings.Repeat("> ", 3000)+"x\n\n## Hy\u00adphen\n"), Options{})
	if last := deep.Chunks[len(deep.Chunks)-1]; last.Heading != "Hyphen" || strings.Contains(last.Text, "\u00ad") {
		t.Errorf("of a text that is not parsed: %q, %q", last.Heading, last.Text)
	}
	if page := Split("a.md", []byte("<h1>Hy\u00adphen</h1>\n\ntext\n"), Options{}); page.Title != "Hyphen" {
		t.Errorf("title in HTML %q", page.Title)
	}
}

func TestTextOfAChunkIsItsOwn(t *testing.T) {
	page := split(t, "a\n\n## B\n\n- c\n\n  d\n\n## E\n| f |\n|---|\n| g |\n", Options{})
	for i, want := range []string{"a", "B\nc\nd", "E\nf \ng"} {
		if got := page.Chunks[i].Text; got != want {
			t.Errorf("text of chunk %d = %q, want %q", i, got, want)
		}
	}
}

func TestTextHasTheAttributesThatAReaderSees(t *testing.T) {
	const src = `# T

<Card title="Quickstart widget" icon="rocket" href="/start">
  <ParamField name="limitfoo" type="string"/>
</Card>

<img src="a.png" alt="A map of moons"> <a name="anchorx"></a> <div class="hiddenclass" title='Shown "so"'>in</div>
`
	page := Split("p.mdx", []byte(src), Options{})
	got := page.Chunks[0].Text
	for _, want := range []string{"Quickstart widget", "limitfoo", "A map of moons", `Shown "so"`, "in"} {
		if !strings.Contains(got, want) {
			t.Errorf("text lacks %q: %q", want, got)
		}
	}
	for _, not := range []string{"rocket", "/start", "anchorx", "hiddenclass", "a.png"} {
		if strings.Contains(got, not) {
			t.Errorf("text has %q: %q", not, got)
		}
	}
}
