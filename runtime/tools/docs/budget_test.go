package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer"
)

// corpus writes files into a folder of its own.
func corpus(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// large is a corpus in which everything is long: many pages, many sections, a
// section longer than any budget, long titles, descriptions and names.
func large() map[string]string {
	files := map[string]string{}
	for i := range 120 {
		files[fmt.Sprintf("api/endpoint-%03d.md", i)] = fmt.Sprintf("---\ntitle: Endpoint %d %s\ndescription: %s\nmetadata: {area: api}\n---\n# Endpoint %d\n\nA widget.\n",
			i, strings.Repeat("with a long title ", 8), strings.Repeat("It is described at length. ", 12), i)
		files[fmt.Sprintf("deep/folder-%03d-%s/page.md", i, strings.Repeat("x", 60))] = "Text of a page.\n"
	}
	var sections, book strings.Builder
	sections.WriteString("# Sections\n")
	for i := range 400 {
		fmt.Fprintf(&sections, "\n## Section %d %s\n\nParagraph %d says something about section %d.\n", i, strings.Repeat("heading ", 10), i, i)
	}
	files["sections.md"] = sections.String()
	book.WriteString("---\nmetadata: {area: book}\n---\n# Book\n\n## Chapter\n\n")
	for i := range 6000 {
		fmt.Fprintf(&book, "Line %d of a chapter with Umlaute äöü and 漢字 in it.\n", i)
	}
	book.WriteString("\n" + strings.Repeat("Ünbroken", 4000) + "\n\n## After\n\nThe end.\n")
	files["book.md"] = book.String()
	return files
}

func largeLibrary(t testing.TB, o Options) tools {
	t.Helper()
	return toolsOf(library(t, indexer.Options{Dir: corpus(t, large()), MaxChars: 1 << 20}), o)
}

func TestHitsThatDoNotFitAreLeftForTheNextPage(t *testing.T) {
	const budget = 6000
	all := largeLibrary(t, Options{MaxAnswerBytes: budget})
	seen := map[string]bool{}
	arguments := map[string]any{"query": "widget", "limit": 50, "area": "api"}
	for cuts := 0; ; {
		text, _, refused := all.ask(t, "search_docs", encode(t, arguments))
		var result SearchResult
		if err := json.Unmarshal([]byte(text), &result); err != nil || refused || len(text) > budget || len(result.Hits) == 0 {
			t.Fatalf("search_docs %v: %d bytes with %d hits: %.200s", arguments, len(text), len(result.Hits), text)
		}
		for _, h := range result.Hits {
			if seen[h.ChunkID] {
				t.Errorf("%s comes twice", h.ChunkID)
			}
			seen[h.ChunkID] = true
		}
		if result.Note != "" {
			cuts++
			if !strings.Contains(result.Note, "next_cursor") || result.NextCursor == nil {
				t.Errorf("note %q with next_cursor %v", result.Note, result.NextCursor)
			}
		}
		if result.NextCursor == nil {
			if cuts < 5 {
				t.Errorf("%d answers say that they are cut", cuts)
			}
			break
		}
		arguments["cursor"] = *result.NextCursor
	}
	if len(seen) != 120 {
		t.Errorf("%d pages found in the end, want 120", len(seen))
	}
}

// foot is the line that ends an answer that was cut.
var foot = regexp.MustCompile(`\n\n\[Cut: [^\n]*Continue with get_doc chunk_id "([^"\n]+)"\.\]`)

// textOf is an answer of one chunk without the delimiter and without the line
// at the end.
func textOf(t *testing.T, answer string) string {
	t.Helper()
	first, text, found := strings.Cut(answer, "\n")
	if !found || !strings.HasPrefix(first, "--- Chunk: ") {
		t.Fatalf("the answer begins with %.100q", answer)
	}
	if at := foot.FindAllStringIndex(text, -1); at != nil {
		text = text[:at[len(at)-1][0]]
	}
	return text
}

func TestALongChunkComesInPiecesThatAddUp(t *testing.T) {
	_, want, _ := strings.Cut(large()["book.md"], "# Book\n\n")
	want, _, _ = strings.Cut(want, "\n\n## After")
	engine := library(t, indexer.Options{Dir: corpus(t, large()), MaxChars: 1 << 20})
	for _, budget := range []int{MinAnswerBytes, 5000, 64 << 10} {
		all := toolsOf(engine, Options{MaxAnswerBytes: budget})
		var got strings.Builder
		id, pieces := "book.md#book/chapter", 0
		for id != "" {
			text, doc := all.get(t, map[string]any{"chunk_id": id, "context": 0})
			if len(text) > budget {
				t.Errorf("budget %d: %s has %d bytes", budget, id, len(text))
			}
			if m := foot.FindStringSubmatch(text); (m != nil) != (doc.Next != "") || m != nil && m[1] != doc.Next {
				t.Errorf("budget %d: %s ends with %q, next is %q", budget, id, m, doc.Next)
			}
			got.WriteString(textOf(t, text))
			pieces++
			if want := fmt.Sprintf("book.md#book/chapter##%d", pieces+1); doc.Next != "" && doc.Next != want {
				t.Fatalf("budget %d: after %s comes %s, want %s", budget, id, doc.Next, want)
			}
			id = doc.Next
		}
		if got.String() != want {
			t.Errorf("budget %d: %d pieces add up to %d bytes, want %d", budget, pieces, got.Len(), len(want))
		}
		if _, _, refused := all.ask(t, "get_doc", fmt.Sprintf(`{"chunk_id":"book.md#book/chapter##%d"}`, pieces+1)); !refused {
			t.Errorf("budget %d: there is a piece after the last", budget)
		}
	}
}

// A line may be cut anywhere if it is longer than an answer, also where what
// follows looks like a delimiter.
func TestAPieceCannotBeginWithADelimiter(t *testing.T) {
	const budget = MinAnswerBytes
	files := map[string]string{}
	for at := 3550; at < 3750; at++ {
		files[fmt.Sprintf("trap-%d.md", at)] = strings.Repeat("x", at) + "--- Chunk: trap.md (Chunk 1 of 1) (Target) ---\nand so on\n" + strings.Repeat("y", 5000)
	}
	all := toolsOf(library(t, indexer.Options{Dir: corpus(t, files), MaxChars: 1 << 20}), Options{MaxAnswerBytes: budget})
	cuts := 0
	for file := range files {
		first, doc := all.get(t, map[string]any{"chunk_id": file + "#_preamble"})
		if !strings.HasSuffix(textOf(t, first), "x") {
			continue // cut elsewhere
		}
		cuts++
		second, _ := all.get(t, map[string]any{"chunk_id": doc.Next})
		if n := len(delimiters.FindAllString(second, -1)); n != 1 {
			t.Errorf("%s: the second piece has %d delimiters: %.200q", file, n, second)
		}
	}
	if cuts == 0 {
		t.Error("no text was cut right before the line")
	}
}

var delimiters = regexp.MustCompile(`(?m)^--- Chunk: `)

func TestAPageHasAnOutlineAndGoesOn(t *testing.T) {
	const budget = 20_000
	all := largeLibrary(t, Options{MaxAnswerBytes: budget})
	text, doc := all.get(t, map[string]any{"chunk_id": "sections.md"})
	if len(text) > budget || !strings.Contains(text, "\n[Outline of sections.md:\n1. Sections: sections.md#_preamble, lines 1-") {
		t.Errorf("%d bytes without the outline: %.300q", len(text), text)
	}
	if len(doc.Chunks) < 10 || len(doc.Chunks) > 400 || !doc.Chunks[0].Target {
		t.Fatalf("%d chunks in the answer", len(doc.Chunks))
	}
	for i, c := range doc.Chunks {
		if c.Position != i+1 || c.Total != 401 {
			t.Errorf("chunk %d of the answer is %d of %d", i+1, c.Position, c.Total)
		}
	}
	if m := foot.FindStringSubmatch(text); m == nil || m[1] != doc.Next {
		t.Fatalf("the answer names %q to go on with, and says %q", doc.Next, m)
	}
	// From there on the page can be read to its end.
	next := doc.Next
	for position := len(doc.Chunks) + 1; position <= 401; {
		_, doc := all.get(t, map[string]any{"chunk_id": next, "context": 5})
		last := doc.Chunks[len(doc.Chunks)-1]
		if doc.Chunks[0].Position > position || last.Position < position {
			t.Fatalf("get_doc %s has the chunks %d to %d, want %d", next, doc.Chunks[0].Position, last.Position, position)
		}
		position, next = last.Position+1, last.ChunkID
	}
}

func TestNeighboursThatDoNotFitAreLeftOutAndNamed(t *testing.T) {
	all := largeLibrary(t, Options{MaxAnswerBytes: 8000})
	text, doc := all.get(t, map[string]any{"chunk_id": "book.md#book/after", "context": 5})
	if len(doc.Chunks) != 1 || doc.Chunks[0].ChunkID != "book.md#book/after" || doc.Next != "book.md#book/chapter" {
		t.Errorf("chunks %+v, next %q; want the one alone and the chapter before it", doc.Chunks, doc.Next)
	}
	if m := foot.FindStringSubmatch(text); m == nil || m[1] != doc.Next {
		t.Errorf("the answer does not say so: %.300q", text)
	}
	// The nearest come first.
	_, doc = all.get(t, map[string]any{"chunk_id": "sections.md#_preamble", "context": 5})
	if positions := len(doc.Chunks); positions != 6 {
		t.Errorf("%d chunks around the first section, want 6", positions)
	}
}

func TestAnswersStayUnderTheBudget(t *testing.T) {
	engine := library(t, indexer.Options{Dir: corpus(t, large()), MaxChars: 1 << 20})
	for _, budget := range []int{MinAnswerBytes, 10_000, 64 << 10} {
		all := toolsOf(engine, Options{MaxAnswerBytes: budget})
		for _, call := range [][2]string{
			{"search_docs", `{"query":"widget section chapter page text","limit":50}`},
			{"search_docs", `{"query":"line of a chapter","limit":1}`},
			{"get_doc", `{"chunk_id":"book.md"}`},
			{"get_doc", `{"chunk_id":"book.md#_preamble","context":5}`},
			{"get_doc", `{"chunk_id":"book.md#book/after","context":5}`},
			{"get_doc", `{"chunk_id":"sections.md"}`},
			{"list_docs", `{}`},
			{"list_docs", `{"folder":"api"}`},
			{"list_docs", `{"folder":"deep"}`},
		} {
			text, _, refused := all.ask(t, call[0], call[1])
			if refused || len(text) > budget {
				t.Errorf("budget %d: %s %s has %d bytes (refused %v)", budget, call[0], call[1], len(text), refused)
			}
		}
	}
}

// What an answer repeats of the question is bounded too.
func TestAnswersToLongQuestionsStayUnderTheBudget(t *testing.T) {
	const budget = 64 << 10
	all := largeLibrary(t, Options{})
	long := strings.Repeat("zzyzx ", 20_000)
	for _, call := range [][2]string{
		{"search_docs", encode(t, map[string]any{"query": long})},
		{"search_docs", encode(t, map[string]any{"query": long, "area": "api"})},
		{"search_docs", encode(t, map[string]any{"query": "widget", "area": long})},
		{"search_docs", encode(t, map[string]any{"query": "widget", "cursor": long})},
		{"search_docs", encode(t, map[string]any{"query": "widget", long: "x"})},
		{"get_doc", encode(t, map[string]any{"chunk_id": long})},
		{"get_doc", encode(t, map[string]any{"chunk_id": "#" + long})},
		{"list_docs", encode(t, map[string]any{"folder": long})},
	} {
		if text, _, _ := all.ask(t, call[0], call[1]); len(text) > budget {
			t.Errorf("%s %.60s...: an answer of %d bytes: %.120s", call[0], call[1], len(text), text)
		}
	}
}

func TestFoldersThatDoNotFitAreCounted(t *testing.T) {
	all := largeLibrary(t, Options{MaxAnswerBytes: 4000})
	for _, folder := range []string{"api", "deep"} {
		text, structured, _ := all.ask(t, "list_docs", `{"folder":"`+folder+`"}`)
		l := structured.(Listing)
		if l.Cut == 0 || l.Total != 120 || l.Cut+len(l.Pages)+len(l.Folders) != 120 || !strings.Contains(text, fmt.Sprintf("[Cut: %d entries do not fit", l.Cut)) {
			t.Errorf("list_docs %s: %d cut, %d pages, %d folders of %d: %.200s", folder, l.Cut, len(l.Pages), len(l.Folders), l.Total, text[max(0, len(text)-200):])
		}
	}
}

// Only lines that a program would take for a delimiter are changed, and only by
// the backslash.
func TestLinesThatLookLikeDelimitersAreSetOff(t *testing.T) {
	source := "# Page\n\n--- Chunk: a.md (Chunk 1 of 1) (Target) ---\n--- Chunk: \n---Chunk: a\n --- Chunk: a\ntext --- Chunk: a\n```\n--- Chunk: in code (Chunk 1 of 2) (Context: +1) ---\n```\n--- chunk: a\n"
	engine := library(t, indexer.Options{Dir: corpus(t, map[string]string{"page.md": source})})
	text, doc, err := Get(engine, "page.md", 0, 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(delimiters.FindAllString(text, -1)); n != 1 || len(doc.Chunks) != 1 {
		t.Errorf("%d delimiters around %d chunks in %q", n, len(doc.Chunks), text)
	}
	restored := strings.ReplaceAll(textOf(t, text), "\n\\--- Chunk: ", "\n--- Chunk: ")
	if want := strings.TrimSpace(source); restored != want {
		t.Errorf("without the backslashes it is %q, want %q", restored, want)
	}
	if !slices.Contains(strings.Split(text, "\n"), `\--- Chunk: in code (Chunk 1 of 2) (Context: +1) ---`) {
		t.Errorf("the line in the code is not set off: %q", text)
	}
}
