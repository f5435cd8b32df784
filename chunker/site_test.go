package chunker

import (
	"strings"
	"testing"
)

func TestTextHasNoNotationOfSiteGenerators(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"shortcodes":            {"a {{< note >}}b{{< /note >}} {{% include \"x.md\" %}}c\n", "a b c"},
		"with words":            {"run {{< tip text=\"a Pod\" id=\"pod\" >}} now\n", "run a Pod now"},
		"over lines":            {"{{< img\n  src=\"a_b_c.png\"\n  alt=\"A *map*\"\n>}}\n", "A *map*"},
		"without spaces":        {"{{<img src=\"a.png\">}} b\n", "b"},
		"liquid":                {"{% tabs a_b class=c_d %}\n{% tab 'Scala 2 and 3' for=x %}\ntext\n{%- endtab -%}\n", "Scala 2 and 3 \ntext"},
		"in code":               {"`{{< ref >}}` and\n\n```\n{% if a %}\n```\n", "{{< ref >}} and\n{% if a %}"},
		"shown, not called":     {"write {{</* ref */>}}\n", "write {{</* ref */>}}"},
		"not closed":            {"a {{< b\n\nc >}}\n", "a {{< b\nc >}}"},
		"variables":             {"v{{ .Version }} and ${.x} and {{.Name}}\n", "v{{ .Version }} and ${.x} and {{.Name}}"},
		"MDX comments":          {"a {/*no*/} b\n\n{/* no *such* thing */}\n", "a b"},
		"attribute lists":       {"[a](b){ .button } c\n{: .note}\n\nsay {:ok, 1}\n", "a c\nsay {:ok, 1}"},
		"admonitions":           {":::note\na\n:::\n\n::: {tip} Title\nb\n:::\n\n!!! warning \"Mind\"\n\n??? example\n", "a\nTitle\nb\n\"Mind\""},
		"alerts":                {"> [!NOTE]\n> a\n\n> [!TIP] b\n", "a\nb"},
		"not alerts":            {"a [!b] c\n\n[!INCLUDE [c](d.md)]\n\n!!! Mind, all of you\n", "a [!b] c\n[!INCLUDE c]\n!!! Mind, all of you"},
		"tabs":                  {"=== \"Linux\"\n\ntext\n", "\"Linux\"\ntext"},
		"markdown in HTML":      {"<Step>\n  ## Run **it** {#run}\n  see [the guide](../a_b.md#c) ![map](m.png) [x]!\n  ```sh\n  npm ci\n  ```\n  :::tip\n  {{< br >}}d\n</Step>\n", "Run it \n  see the guide map [x]!\n  npm ci\n  d"},
		"targets":               {"(syntax/a-b)=\n# A\n\nf(x)=\n", "A\nf(x)="},
		"paths in HTML":         {"<p>src/**/*.md and **b**</p>\n", "src/**/*.md and b"},
		"imports":               {"import A from '@b/c';\nimport {\n  D } from \"e\"\n\nimport taxes apply\n", "import taxes apply"},
		"an import and text":    {"import A from 'b';\nmore\n", "import A from 'b';\nmore"},
		"between words":         {"a{{< b >}}c\n", "ac"},
		"long":                  {"{{< " + strings.Repeat("a", maxTag) + " >}}\n", "{{< " + strings.Repeat("a", maxTag) + " >}}"},
		"over a code span":      {"{{< a `b` \"c d\" `e` >}} f\n", "c d f"},
		"links to tags":         {"see [the *guide*]({{< ref \"g\" >}}), ![x]({% link y.md %}) [a]\n\n[a]: {{< ref \"a\" >}}\n[b]: https://b/{{< v >}}/c\n", "see the guide, x [a]"},
		"anchors of a heading":  {"## A[[a]]\n\n## B [#b]\n\n## C {#c .d}\n", "A\nB\nC"},
		"nothing but notation":  {"## {{% heading \"next\" %}}\n\n## [[A]]\n", "{{% heading \"next\" %}}\n[[A]]"},
		"a heading with a mark": {"## A {/*a-b*/}\n\n## B {%- include \"c.html\" -%}\n\n## get() {.method}\n", "A\nB\nget()"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := split(t, c.src, Options{By: File}).Chunks[0].Text; got != c.want {
				t.Errorf("text of %q = %q, want %q", c.src, got, c.want)
			}
		})
	}
}

func TestTitlesLoseNotationThatIDsKeep(t *testing.T) {
	for src, want := range map[string]struct{ heading, id string }{
		"## Opt out {/*opt-out*/}":            {"Opt out", "p.md#opt-out-opt-out"},
		"## Install[[install]]":               {"Install", "p.md#installinstall"},
		"## pull() {.method}":                 {"pull()", "p.md#pull-method"},
		`## New {%- include b.html v="4" -%}`: {"New", "p.md#new-include-bhtml-v4"},
		`## {{% heading "whatsnext" %}}`:      {`{{% heading "whatsnext" %}}`, "p.md#heading-whatsnext"},
		"## Use `{{< ref >}}`":                {"Use {{< ref >}}", "p.md#use-ref"},
		"## {#if ...}":                        {"{#if ...}", "p.md#if"},
	} {
		c := split(t, src+"\n", Options{}).Chunks[0]
		if c.Heading != want.heading || c.ID != want.id {
			t.Errorf("heading of %q = %q, ID %q; want %q, %q", src, c.Heading, c.ID, want.heading, want.id)
		}
	}
}
