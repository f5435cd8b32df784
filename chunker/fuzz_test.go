package chunker

import (
	"bytes"
	"reflect"
	"testing"
	"time"
)

func FuzzSplit(f *testing.F) {
	for _, h := range hostile {
		f.Add("p.md", []byte(h.make(200)), uint8(1), uint8(20), uint8(3))
	}
	for _, src := range []string{
		"\ufeff---\r\ntitle: T\r\n---\r\n# A\r\n\r\n## B {#b}\r\n",
		"# A\n## A\n## A\n## A 2\n### A part 2\n\ntext\n\ntext\n",
		"a\n| b | c |\n|---|---|\n| `d\\|` |\n\n[r]: x\n\n[r] ![i](j) <b>k</b>\n\n<div>\nl\n\n> m\n> - n\n",
		"T\n===\n\n```\n# x\n```\n\n\t- tab\n\n&amp; \\# <br> <!-- c\n\n-->\n",
		"import a\n\n<A b={{c: '>'}}>\nd\n</A>\n",
		"\xff\xfea\x00", "\x00\xff\r",
	} {
		f.Add("a b#%\n.mdx", []byte(src), uint8(2), uint8(5), uint8(2))
	}
	f.Fuzz(func(t *testing.T, path string, src []byte, by, maxChars, minChars uint8) {
		if !staysInside(path) {
			path = "p.md"
		}
		opts := Options{
			By:       []By{"", H1, H2, H3, File}[by%5],
			MaxChars: int(maxChars), MinChars: int(minChars),
		}
		start := time.Now()
		page := Split(path, src, opts)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("Split of %d bytes took %v", len(src), took)
		}
		check(t, path, string(src), page)
		if again := Split(path, src, opts); !reflect.DeepEqual(page, again) {
			t.Errorf("Split twice = %+v\nthen %+v", page, again)
		}
	})
}

func FuzzParseID(f *testing.F) {
	for _, id := range []string{"", "a.md", "a b.md#x/y-2", "#x", "x#", "../x", "%2e%2e/x", "a%0A.md", "100%.md", `c:\x`, "a#b#c", "\xff", "日本.md#section"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if path, fragment, err := ParseID(id); err == nil {
			again, fragmentAgain, err := ParseID(ID(path, fragment))
			if err != nil || again != path || fragmentAgain != fragment {
				t.Errorf("ParseID(%q) = %q, %q; through ID = %q, %q, %v", id, path, fragment, again, fragmentAgain, err)
			}
		}
		if !staysInside(id) {
			return
		}
		if path, fragment, err := ParseID(ID(id, "x")); path != id || fragment != "x" || err != nil {
			t.Errorf("ParseID(ID(%q, x)) = %q, %q, %v", id, path, fragment, err)
		}
	})
}

func FuzzFrontMatter(f *testing.F) {
	for _, src := range []string{
		"---\ntitle: T\nmetadata: {a: 1, b: [c]}\nmcp_metadata: {a: 2}\n---\n",
		"---\nmcp_strategy: {chunk_by: h3, max_chunk_size: 10}\nmcp_chunking_hint: h1\n---\n",
		"---\n- %\n---\n", "---\na: &a [*a]\nmetadata: *a\n---\n", "---\n\ta: b\n...\n", "---\n? [a]\n: b\n<<: {a: b}\n---\n",
		"---\n!!binary a: !!int b\n---\n", "---\ntitle: |\n  a\n\n  b\n---\n", "+++\ntitle = \"a\\\"\n[b]\n+++\n", "---\nA note: of: prose\n---\n", "---\n--- a\n%YAML 1.1\n---\n",
	} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		text, _ := normalise(src)
		head, rest := FrontMatter(src)
		if !bytes.Contains(text, head) || !bytes.HasSuffix(text, rest) {
			t.Errorf("FrontMatter(%q) = %q, %q, which it was not given", src, head, rest)
		}
		for _, p := range DecodeYAML(head, new(struct{ Title, Description string })) {
			if p.Line < 0 || p.Line > 1+countNewlines(head) || p.Reason == "" {
				t.Errorf("DecodeYAML(%q): problem %+v", head, p)
			}
		}
		front := readFrontMatter(text)
		if front.end < 0 || front.end > len(text) || front.end > 0 && front.end < len(text) && text[front.end-1] != '\n' {
			t.Errorf("front matter of %q ends at %d, which is no line start", src, front.end)
		}
		lines := 1 + countNewlines(text)
		for _, p := range front.problems {
			if p.Line < 1 || p.Line > lines || p.Reason == "" {
				t.Errorf("problem %+v of %q, which has %d lines", p, src, lines)
			}
		}
		for key, value := range front.metadata {
			if key == "" || value == "" {
				t.Errorf("metadata of %q has %q: %q", src, key, value)
			}
		}
	})
}
