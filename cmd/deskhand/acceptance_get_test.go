package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// part is one chunk of an answer of get_doc.
type part struct {
	id    string
	n, of int
	label string
	body  string // without the blank line before the next part
}

// delimiter is the grammar that programs may rely on.
var delimiter = regexp.MustCompile(`(?m)^--- Chunk: (.+) \(Chunk (\d+) of (\d+)\) \((Target|Context: [+-]\d+)\) ---$`)

// parse reads an answer of get_doc as a program would, by the grammar alone.
func parse(t *testing.T, text string) (parts []part) {
	t.Helper()
	at := delimiter.FindAllStringSubmatchIndex(text, -1)
	if len(at) == 0 || at[0][0] != 0 {
		t.Fatalf("the answer does not begin with a delimiter: %.200q", text)
	}
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		n, _ := strconv.Atoi(text[m[4]:m[5]])
		of, _ := strconv.Atoi(text[m[6]:m[7]])
		body := strings.TrimPrefix(text[m[1]:end], "\n")
		if i+1 < len(at) {
			var found bool
			if body, found = strings.CutSuffix(body, "\n\n"); !found {
				t.Errorf("no blank line before %q", text[at[i+1][0]:at[i+1][1]])
			}
		}
		parts = append(parts, part{text[m[2]:m[3]], n, of, text[m[8]:m[9]], body})
	}
	return parts
}

// chunkIDs are the ids of all chunks of a page, in file order.
func (d door) chunkIDs(page string) (list []string) {
	d.t.Helper()
	text, _, _ := strings.Cut(d.get(page, 0), "\n\n[Outline of ")
	for _, p := range parse(d.t, text) {
		list = append(list, p.id)
	}
	return list
}

func labels(parts []part) (list []string) {
	for _, p := range parts {
		list = append(list, p.label)
	}
	return list
}

func TestGetDocAnswers(t *testing.T) {
	everyDoor(t, indexed(t, acme(t, nil)), func(t *testing.T, d door) {
		d.line("D-055 markdown of the chunk", func(t *testing.T, d door) {
			parts := parse(t, d.get("guides/retries.md#retries/backoff-strategy", 0))
			want := "## Backoff strategy\n\nThe client waits twice as long after each attempt, from 100 milliseconds on.\n\n    client.Retry(acme.Exponential)"
			if len(parts) != 1 || parts[0].body != want {
				t.Errorf("parts %+v, want %q", parts, want)
			}
		})
		d.line("D-056 context of the same file alone", func(t *testing.T, d door) {
			for _, id := range []string{"guides/setup.md#_preamble", "guides/setup.md#setting-up/section", "guides/glossary.md#_preamble"} {
				for _, p := range parse(t, d.get(id, 5)) {
					if file, _, _ := strings.Cut(id, "#"); !strings.HasPrefix(p.id, file+"#") {
						t.Errorf("context 5 of %s brings %s", id, p.id)
					}
				}
			}
		})
		d.line("D-057 context ends with the file", func(t *testing.T, d door) {
			for id, want := range map[string][]string{
				"guides/retries.md#_preamble":                {"Target", "Context: +1", "Context: +2"},
				"guides/retries.md#retries/backoff-strategy": {"Context: -1", "Target", "Context: +1", "Context: +2"},
				"guides/retries.md#retries/budget":           {"Context: -2", "Context: -1", "Target"},
				"guides/glossary.md#_preamble":               {"Target"},
			} {
				if got := labels(parse(t, d.get(id, 2))); !slices.Equal(got, want) {
					t.Errorf("context 2 of %s: %q, want %q", id, got, want)
				}
			}
		})
		d.line("D-058 file order", func(t *testing.T, d door) {
			for i, p := range parse(t, d.get("guides/retries.md#retries/jitter", 5)) {
				if p.n != i+1 {
					t.Errorf("part %d has position %d", i+1, p.n)
				}
			}
		})
		d.line("D-059 no isError on success", func(t *testing.T, d door) {
			if a := d.call("get_doc", `{"chunk_id":"guides/glossary.md"}`); a.IsError {
				t.Errorf("isError with %s", a.text())
			}
		})
		d.line("D-060 not found", func(t *testing.T, d door) {
			for _, id := range []string{"guides/retries.md#does-not-exist", "guides/nothing.md", "Guides/retries.md", "guides/retries.md#Retries/Jitter", "guides"} {
				want := "Chunk ID '" + id + "' not found. Use search_docs to discover valid chunk IDs."
				if got := d.refused("get_doc", encoded(t, map[string]any{"chunk_id": id})); got != want {
					t.Errorf("get_doc %s: %q, want %q", id, got, want)
				}
			}
		})
		d.line("D-061 invalid format", func(t *testing.T, d door) {
			for _, id := range []string{"", "#x", "a b#", "../x", "x#", "/etc/passwd", "a/../b", "a#b#c", "a\nb", "a\x00", `a\b`} {
				d.refused("get_doc", encoded(t, map[string]any{"chunk_id": id}), "{filepath} or {filepath}#{heading-path}")
			}
		})
		d.line("D-062 errors say what to do", func(t *testing.T, d door) {
			for arguments, want := range map[string]string{
				`{"chunk_id":"guides/none.md"}`:                      "Use search_docs to discover valid chunk IDs",
				`{"chunk_id":"#"}`:                                   "Expected {filepath}",
				`{"chunk_id":"guides/retries.md","context":9}`:       "between 0 and 5",
				`{"chunk_id":"guides/retries.md#retries/jitter##7"}`: "Call get_doc with only the chunk_id",
			} {
				d.refused("get_doc", arguments, want)
			}
		})
		d.line("D-068 target delimiter", func(t *testing.T, d door) {
			first, _, _ := strings.Cut(d.get("guides/retries.md#retries/jitter", 0), "\n")
			if want := "--- Chunk: guides/retries.md#retries/jitter (Chunk 3 of 5) (Target) ---"; first != want {
				t.Errorf("first line %q, want %q", first, want)
			}
		})
		d.line("D-069 context delimiters", func(t *testing.T, d door) {
			want := []string{"Context: -2", "Context: -1", "Target", "Context: +1", "Context: +2"}
			if got := labels(parse(t, d.get("guides/retries.md#retries/jitter", 2))); !slices.Equal(got, want) {
				t.Errorf("labels %q, want %q", got, want)
			}
		})
		d.line("D-070 N of M", func(t *testing.T, d door) {
			for i, id := range d.chunkIDs("guides/setup.md") {
				if p := parse(t, d.get(id, 0))[0]; p.n != i+1 || p.of != 5 {
					t.Errorf("%s is chunk %d of %d, want %d of 5", id, p.n, p.of, i+1)
				}
			}
		})
		d.line("D-071 one target", func(t *testing.T, d door) {
			for _, id := range []string{"guides/retries.md#retries/jitter", "guides/retries.md", "guides/lookalike.md", "guides/lookalike.md#_preamble", "guides/glossary.md"} {
				n := 0
				for _, p := range parse(t, d.get(id, 5)) {
					if p.label == "Target" {
						n++
					}
				}
				if n != 1 {
					t.Errorf("get_doc %s with context 5 has %d targets", id, n)
				}
			}
		})
		d.line("D-072 ids of delimiters are for get_doc", func(t *testing.T, d door) {
			for _, p := range parse(t, d.get("guides/retries.md#retries/jitter", 5)) {
				if again := parse(t, d.get(p.id, 0)); again[0].id != p.id || again[0].body != p.body {
					t.Errorf("get_doc %s = %+v, in context it was %+v", p.id, again[0], p)
				}
			}
		})
		d.line("D-073 text that looks like a delimiter", func(t *testing.T, d door) {
			parts := parse(t, d.get("guides/lookalike.md#_preamble", 1))
			want := []string{"guides/lookalike.md#_preamble", "guides/lookalike.md#transcripts/after-the-transcript"}
			if len(parts) != 2 || parts[0].id != want[0] || parts[1].id != want[1] {
				t.Fatalf("parts %+v, want %q", parts, want)
			}
			if line := "\n\\--- Chunk: guides/retries.md#retries/jitter (Chunk 1 of 1) (Target) ---\n"; !strings.Contains(parts[0].body, line) {
				t.Errorf("body %q, want the line %q in it", parts[0].body, line)
			}
			stated(t, "reference/tools/get_doc.md", "is shown with one more backslash before it")
		})
		d.line("D-074 layout", func(t *testing.T, d door) {
			want := `--- Chunk: guides/retries.md#retries/jitter (Chunk 3 of 5) (Context: -1) ---
## Jitter

A random part of the wait keeps clients from knocking at the same moment.

--- Chunk: guides/retries.md#retries/attempts (Chunk 4 of 5) (Target) ---
## Attempts

Five attempts at most. After the last one the error is returned as it came.

--- Chunk: guides/retries.md#retries/budget (Chunk 5 of 5) (Context: +1) ---
## Budget

Retries stop when they make up a tenth of the traffic.`
			if got := d.get("guides/retries.md#retries/attempts", 1); got != want {
				t.Errorf("get_doc = %s\nwant\n%s", got, want)
			}
		})
	})
}

func TestChunkIDs(t *testing.T) {
	t.Run("D-063 the same wherever and however the files came", func(t *testing.T) {
		corpus := acme(t, endpoints(5))
		other := filepath.Join(t.TempDir(), "elsewhere", "deep")
		var files []string
		if err := filepath.WalkDir(corpus, func(path string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				files = append(files, path)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		slices.Reverse(files)
		for _, file := range files {
			name, err := filepath.Rel(corpus, file)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			write(t, other, map[string]string{filepath.ToSlash(name): string(text)})
		}
		one, two := indexed(t, corpus), indexed(t, other)
		if a, b := contents(t, one), contents(t, two); a != b {
			t.Errorf("two builds of one corpus:\n%s\n%s", a, b)
		}
		d, e := byPipe(t, one), byPipe(t, two)
		for _, page := range []string{"guides/setup.md", "guides/authentication.md", "api/endpoint-03.md"} {
			if got, want := e.chunkIDs(page), d.chunkIDs(page); !slices.Equal(got, want) {
				t.Errorf("ids of %s: %q, want %q", page, got, want)
			}
		}
	})
	d := byPipe(t, indexed(t, acme(t, nil)))
	d.line("D-064 unique under duplicate headings", func(t *testing.T, d door) {
		got := d.chunkIDs("guides/setup.md")
		want := []string{"_preamble", "setting-up/setup", "setting-up/setup-2", "setting-up/setup-2-2", "setting-up/section"}
		for i := range want {
			want[i] = "guides/setup.md#" + want[i]
		}
		if !slices.Equal(got, want) {
			t.Errorf("ids %q, want %q", got, want)
		}
		for i, id := range got {
			if p := parse(t, d.get(id, 0))[0]; p.n != i+1 {
				t.Errorf("%s is chunk %d, want %d", id, p.n, i+1)
			}
		}
	})
	d.line("D-065 path, or path and headings", func(t *testing.T, d door) {
		form := regexp.MustCompile(`^[^#]+\.md(#[a-z0-9_-]+(/[a-z0-9_-]+)*)?$`)
		for _, h := range d.search(map[string]any{"query": "the a of to is in", "limit": 50}).Hits {
			if !form.MatchString(h.ChunkID) {
				t.Errorf("id %q has another form", h.ChunkID)
			}
		}
		if got := d.chunkIDs("guides/retries.md")[0]; got != "guides/retries.md#_preamble" {
			t.Errorf("the text before the first section is %q", got)
		}
		corpus := t.TempDir()
		write(t, corpus, map[string]string{"whole.md": "# Whole\n\n## Part\n\nOne chunk.\n"})
		whole := byPipe(t, indexed(t, corpus, "--chunk-by", "file"))
		if got := whole.chunkIDs("whole.md"); !slices.Equal(got, []string{"whole.md"}) {
			t.Errorf("cut by file: ids %q, want the path alone", got)
		}
		stated(t, "reference/chunk-ids.md", "`_preamble`", "With the strategy `file`, the id is only the path")
	})
	t.Run("D-066 odd file names", func(t *testing.T) {
		names := []string{
			"with space.md", "a#b.md", "100%.md", "%41.md", "本文/日本語.md", "ünï/çödé.md", "(brackets)[1].md", "it's.md", "a&b=c+d.md", "-dash.md", "UPPER.MD",
		}
		if filepath.Separator == '/' { // names that other systems do not allow
			names = append(names, `quote".md`, `back\slash.md`, "new\nline.md", "tab\there.md", "star*?.md", "c:drive.md")
		}
		corpus := t.TempDir()
		for i, name := range names {
			write(t, corpus, map[string]string{name: fmt.Sprintf("# Number%d\n\nThe oddity of page%dodd.\n\n## More\n\nText.\n", i, i)})
		}
		everyDoor(t, indexed(t, corpus), func(t *testing.T, d door) {
			for i, name := range names {
				hits := d.search(map[string]any{"query": fmt.Sprintf("page%dodd", i)}).Hits
				if len(hits) == 0 || hits[0].Filepath != name {
					t.Errorf("%q: hits %+v", name, hits)
					continue
				}
				parts := parse(t, d.get(hits[0].ChunkID, 1))
				if len(parts) != 2 || parts[0].id != hits[0].ChunkID || !strings.Contains(parts[0].body, fmt.Sprintf("page%dodd", i)) {
					t.Errorf("%q: get_doc %s = %+v", name, hits[0].ChunkID, parts)
				}
			}
		})
		stated(t, "reference/chunk-ids.md", "Spaces, quotes and letters of any script stay unchanged")
	})
}

func TestChunksAddUpToTheFile(t *testing.T) {
	t.Run("D-067 nothing lost, nothing doubled", func(t *testing.T) {
		pages := map[string]string{
			"plain.md":   "Intro.\n\n# One\n\nText.\n\n## Two\n\nMore.\n\n### Three\n\nEven more.\n\n## Four\n\nEnd.\n",
			"setext.md":  "One\n===\n\nText.\n\nTwo\n---\n\nMore.\n\n* * *\n\nEnd.",
			"fenced.md":  "# A\n\n```md\n## not a heading\n```\n\n## B\n\n~~~\n# nor this\n~~~\n",
			"crlf.md":    "# A\r\n\r\nText.\r\n\r\n## B\r\n\r\nMore.\r\n",
			"bom.md":     "\ufeff# A\n\nÄpfel.\n\n## B\n\nBirnen.\n",
			"gaps.md":    "\n\n# A\n\n\n\nText.\n\n\n\n## B\n\n\nMore.\n\n\n",
			"html.md":    "# <a name=\"x\"></a>A\n\n<div>\n## no heading\n</div>\n\n## B <b>bold</b>\n\nText.\n",
			"h1late.md":  "## A\n\nText.\n\n# Late\n\nMore.\n\n## B\n\nEnd.\n",
			"large.md":   "# A\n\n## B\n\n" + strings.Repeat("A paragraph of some words that fills the section.\n\n", 900) + "## C\n\nEnd.\n",
			"longest.md": "# A\n\n" + strings.Repeat("word ", 30_000) + "\n\n## B\n\nEnd.\n",
		}
		corpus := acme(t, pages)
		d := byPipe(t, indexed(t, corpus), "--max-answer-bytes", "1000000")
		for _, page := range append(slices.Collect(maps.Keys(pages)), "guides/retries.md", "guides/authentication.md", "guides/lookalike.md", "sdk/go/pagination.md") {
			src, err := os.ReadFile(filepath.Join(corpus, page))
			if err != nil {
				t.Fatal(err)
			}
			read := lines
			if page == "longest.md" { // its line is longer than a chunk may be, and is cut
				read = strings.Fields
			}
			var got []string
			for _, id := range d.chunkIDs(page) {
				got = append(got, read(parse(t, d.get(id, 0))[0].body)...)
			}
			if want := read(withoutFrontMatter(string(src))); !slices.Equal(got, want) {
				t.Errorf("%s: the chunks add up to %d lines\n%.2000q\nwant %d\n%.2000q", page, len(got), got, len(want), want)
			}
		}
		stated(t, "reference/tools/get_doc.md", "with a blank line between them", "Every other line is as in the file")
	})
}

// lines are the lines with something on them; the blank ones around a chunk
// are not kept. The backslash before what looks like a delimiter is taken away.
func lines(text string) (list []string) {
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if rest, ok := strings.CutPrefix(line, `\--- Chunk: `); ok {
			line = "--- Chunk: " + rest
		}
		if line != "" {
			list = append(list, line)
		}
	}
	return list
}

func withoutFrontMatter(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	if rest, ok := strings.CutPrefix(text, "---\n"); ok {
		_, text, _ = strings.Cut(rest, "\n---\n")
	}
	return text
}

// contents is what an index holds: its metadata.json, which has the digest of
// the data file.
func contents(t testing.TB, index string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(index, "metadata.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
