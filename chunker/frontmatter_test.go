package chunker

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// problems words problems as "line: reason", one a line.
func problems(page Page) string {
	var b strings.Builder
	for _, p := range page.Problems {
		fmt.Fprintf(&b, "%d: %s\n", p.Line, p.Reason)
	}
	return b.String()
}

func TestFrontMatterIsReadAndNotPartOfTheText(t *testing.T) {
	for name, c := range map[string]struct {
		src, title, description, body string
	}{
		"YAML":                     {"---\ntitle: T\ndescription: D d\n---\nbody\n", "T", "D d", "body\n"},
		"closed by dots":           {"---\ntitle: T\n...\nbody\n", "T", "", "body\n"},
		"white space at the fence": {"--- \ntitle: T\n---\t\nbody\n", "T", "", "body\n"},
		"CRLF":                     {"---\r\ntitle: T\r\n---\r\nbody\r\n", "T", "", "body\n"},
		"byte-order mark":          {"\ufeff---\ntitle: T\n---\nbody\n", "T", "", "body\n"},
		"empty":                    {"---\n---\nbody\n", "", "", "body\n"},
		"blank":                    {"---\n \n---\nbody\n", "", "", "body\n"},
		"with a comment":           {"---\n# c\ntitle: T\n---\nbody\n", "T", "", "body\n"},
		"no line end":              {"---\ntitle: T\n---", "T", "", ""},
		"folded":                   {"---\ntitle: >\n  a\n  b\n---\n", "a b", "", ""},
		"quoted":                   {"---\ntitle: \"a: 'b'\"\n---\n", "a: 'b'", "", ""},
		"a number":                 {"---\ntitle: 2.10\n---\n", "2.10", "", ""},
		"null":                     {"---\ntitle: ~\ndescription:\n---\n# H\n", "H", "", "# H\n"},
		"an alias":                 {"---\ndescription: &d D\ntitle: *d\n---\n", "D", "D", ""},
		"TOML":                     {"+++\ntitle = \"T \\\"q\\\"\" # c\ndescription = 'D'\n[params]\ntitle = \"no\"\n+++\nbody\n", `T "q"`, "D", "body\n"},
		"not closed":               {"---\ntitle: T\n\nbody\n", "", "", "---\ntitle: T\n\nbody\n"},
		"TOML not closed":          {"+++\ntitle = 1\n", "", "", "+++\ntitle = 1\n"},
		"not on the first line":    {"\n---\ntitle: T\n---\n", "", "", "\n---\ntitle: T\n---\n"},
		"four dashes":              {"----\ntitle: T\n---\n", "", "", "----\ntitle: T\n---\n"},
		"a rule inside the text":   {"---\ntitle: T\n---\na\n\n---\n\nb\n", "T", "", "a\n\n---\n\nb\n"},
	} {
		t.Run(name, func(t *testing.T) {
			page := split(t, c.src, Options{By: File})
			body := ""
			for _, chunk := range page.Chunks {
				body += chunk.Markdown
			}
			if page.Title != c.title || page.Description != c.description || body != c.body || len(page.Problems) > 0 {
				t.Errorf("Split(%q) = title %q, description %q, body %q, problems %v;\nwant %q, %q, %q, none",
					c.src, page.Title, page.Description, body, page.Problems, c.title, c.description, c.body)
			}
		})
	}
}

func TestTextBetweenTwoRulesIsNoFrontMatter(t *testing.T) {
	for name, block := range map[string]string{
		"a sentence":              "A motto.\n",
		"a list":                  "- a\n- b\n",
		"a heading":               "# A comment in YAML\n",
		"a sentence with a colon": "Remember this: xylophones first.\n",
		"a note":                  "Note: xylophones first.\n",
		"quotes before a colon":   "\"One thing\": another\n",
		"several lines":           "Remember this: xylophones\nSee also: https://x.example\n",
		"not YAML":                "This is prose: it says\nand %: more: of it\n",
		"an address":              "https://x.example: a: b\n",
		"a list of pairs":         "- a: b: c\n  d: e\n",
		"stress":                  "**warning**: a: b\n",
		"over 256 KiB":            strings.Repeat("Remember this: xylophones first.\n", maxFrontMatter/30),
	} {
		t.Run(name, func(t *testing.T) {
			src := "---\n" + block + "---\nbody\n"
			page := split(t, src, Options{By: File, MaxChars: 1 << 30})
			if len(page.Chunks) != 1 || page.Chunks[0].Markdown != src {
				t.Errorf("chunks of %q = %+v, want all of it", src, page.Chunks)
			}
			if want := "2: the lines before the second --- are not key: value pairs and are read as text\n"; problems(page) != want {
				t.Errorf("problems of %q = %q, want %q", src, problems(page), want)
			}
		})
	}
}

func TestOneLikelyKeyMakesFrontMatter(t *testing.T) {
	for name, block := range map[string]string{
		"known":          "title: T\n",
		"unknown":        "sidebar_label: x\n",
		"with dots":      "ms.date: 01/02/2024\n",
		"a package":      "'@scope/name': patch\n",
		"a capital":      "Title: x\n",
		"no Latin":       "标题: x\n",
		"words beside":   "external help file: x.xml\nonline version:\nschema: 2.0.0\n",
		"JSON":           "{\"layout\": \"x\"}\n",
		"without value":  "hide:\n  - toc\n",
		"broken":         "authors:\n- \"@a\"\n  sponsors:\n- TBD\n",
		"broken, quoted": "\"authors\": a: b\n",
		"broken later":   "{{ if x }}\nweight: 3\n{{ end }}\n",
	} {
		t.Run(name, func(t *testing.T) {
			src := "---\n" + block + "---\nbody\n"
			page := split(t, src, Options{By: File})
			if len(page.Chunks) != 1 || page.Chunks[0].Markdown != "body\n" {
				t.Errorf("chunks of %q = %+v, want the body alone", src, page.Chunks)
			}
		})
	}
}

func TestFrontMatterCutsTheYAMLFromTheText(t *testing.T) {
	for src, want := range map[string][2]string{
		"---\na: b\n---\ntext\n":                {"a: b\n", "text\n"},
		"\ufeff---\r\na: b\r\n... \r\ntext\r\n": {"a: b\n", "text\n"},
		"---\n---":                              {"", ""},
		"---\nprose\n---\n":                     {"prose\n", ""},
		"---\na: b\n":                           {"", "---\na: b\n"},
		"text\n---\n":                           {"", "text\n---\n"},
		"":                                      {"", ""},
	} {
		if yaml, text := FrontMatter([]byte(src)); string(yaml) != want[0] || string(text) != want[1] {
			t.Errorf("FrontMatter(%q) = %q, %q; want %q, %q", src, yaml, text, want[0], want[1])
		}
	}
}

func TestMetadata(t *testing.T) {
	for name, c := range map[string]struct {
		yaml, want, problems string
	}{
		"strings, trimmed":          {"metadata: {' lang ': ' go ', scope: sdk}", "lang=go scope=sdk", ""},
		"mcp_metadata wins":         {"metadata: {a: 1, b: 2}\nmcp_metadata: {a: 3}", "a=3 b=2", ""},
		"mcp_metadata stands first": {"mcp_metadata: {a: 3}\nmetadata: {a: 1}", "a=3", ""},
		"numbers and booleans":      {"metadata: {a: 1.10, b: true, c: 0x1F, d: 2024-01-02, e: no}", "a=1.10 b=true c=0x1F d=2024-01-02 e=no", ""},
		"a list":                    {"metadata:\n  a: 1\n  b: [x]\n  c: {d: e}", "a=1", "4: metadata.b is not a single value and is skipped\n5: metadata.c is not a single value and is skipped\n"},
		"empty values":              {"metadata:\n  a:\n  b: ''\n  ' ': x\n  d: ~", "", "3: metadata.a is empty and is skipped\n4: metadata.b is empty and is skipped\n5: metadata. is empty and is skipped\n6: metadata.d is empty and is skipped\n"},
		"no mapping":                {"metadata: go", "", "2: metadata is not a list of key: value pairs and is ignored\n"},
		"null":                      {"metadata:", "", ""},
		"twice":                     {"metadata:\n  a: 1\n  a: 2", "a=1", "4: metadata has \"a\" twice; the first one counts\n"},
		"an alias":                  {"x: &x {a: b}\nmetadata: *x", "a=b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			page := split(t, "---\n"+c.yaml+"\n---\nbody\n", Options{})
			var pairs []string
			for _, key := range slices.Sorted(maps.Keys(page.Metadata)) {
				pairs = append(pairs, key+"="+page.Metadata[key])
			}
			if got := strings.Join(pairs, " "); got != c.want || problems(page) != c.problems {
				t.Errorf("metadata of %q = %q, problems %q; want %q, %q", c.yaml, got, problems(page), c.want, c.problems)
			}
			if c.want == "" && page.Metadata != nil {
				t.Errorf("metadata of %q = %v, want nil", c.yaml, page.Metadata)
			}
		})
	}
}

func TestBrokenFrontMatterIsAProblemAndThePageIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		yaml, title string
		line        int
	}{
		"percent sign in a list": {"title: T\ntags:\n  - a\n  - %\n  - b", "T", 5},
		"tab":                    {"title: T\nmetadata:\n\ta: b", "T", 4},
		"colon in a value":       {"title: T\ndescription: a: b", "T", 3},
		"broken on its line":     {"title: T: U\ndescription: D", "T: U", 2},
		"open quote":             {"title: T\nx: \"a\ny: b", "T", 3},
		"open list":              {"title: 'T'\nx: [a,\ny: b", "T", 3},
		"unknown alias":          {"title: T\nx: *y", "T", 3},
		"nested without end":     {"title: T\nx: " + strings.Repeat("[", 50_000), "T", 3},
		"control character":      {"title: T\nx: \x01", "T", 3},
	} {
		t.Run(name, func(t *testing.T) {
			page := split(t, "---\n"+c.yaml+"\n---\n## A\nbody\n", Options{})
			if len(page.Problems) != 1 || page.Problems[0].Line != c.line ||
				!strings.HasPrefix(page.Problems[0].Reason, "front matter is not valid YAML: ") {
				t.Errorf("problems = %q, want one on line %d", problems(page), c.line)
			}
			if page.Title != c.title || len(page.Chunks) != 1 || page.Chunks[0].Markdown != "## A\nbody\n" {
				t.Errorf("title %q, chunks %+v; want %q and the body", page.Title, page.Chunks, c.title)
			}
		})
	}
}

func TestHugeFrontMatterIsReadByLine(t *testing.T) {
	page := split(t, "---\ntitle: T\n"+strings.Repeat("x: [\n", maxFrontMatter/4)+"---\nbody\n", Options{})
	if want := "2: front matter is over 256 KiB; only its title and description are read\n"; page.Title != "T" || problems(page) != want {
		t.Errorf("title %q, problems %q; want T, %q", page.Title, problems(page), want)
	}
}

func TestAliasesDoNotMultiply(t *testing.T) {
	yaml := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'z'; c++ {
		yaml += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+", ", 9), ", "))
	}
	page := split(t, "---\ntitle: T\n"+yaml+"---\nbody\n", Options{})
	if page.Title != "T" || len(page.Problems) != 0 {
		t.Errorf("title %q, problems %q; want T and none", page.Title, problems(page))
	}
}

func TestDuplicateKeysKeepTheFirst(t *testing.T) {
	page := split(t, "---\ntitle: A\nx: y\ntitle: B\n---\nbody\n", Options{})
	if want := "4: front matter has \"title\" twice; the first one counts\n"; page.Title != "A" || problems(page) != want {
		t.Errorf("title %q, problems %q; want A, %q", page.Title, problems(page), want)
	}
}
