package docs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/runtime/contract"
)

// lookalikes is a corpus whose one page is full of lines that look like
// delimiters, behind no, one and two backslashes.
func lookalikes() map[string]string {
	var page strings.Builder
	page.WriteString("# Delimiters\n\n")
	for i := range 900 {
		fmt.Fprintf(&page, "%s--- Chunk: fake.md#%d (Chunk 1 of 1) (Target) ---\n", strings.Repeat(`\`, i%3), i)
	}
	page.WriteString("\n## After\n\nThe \"end\".\n")
	return map[string]string{"fake.md": page.String()}
}

// told strips what the text form puts around the chunks: delimiters, one
// backslash before lines that look like one, and what follows the last chunk.
func told(t *testing.T, answer string) []string {
	t.Helper()
	answer, _, _ = strings.Cut(answer, "\n\n[Outline of ")
	if at := foot.FindAllStringIndex(answer, -1); at != nil {
		answer = answer[:at[len(at)-1][0]]
	}
	var chunks []string
	for line := range strings.SplitSeq(answer, "\n") {
		switch {
		case strings.HasPrefix(line, delimiterStart):
			chunks = append(chunks, "")
			continue
		case delimiterLike(line):
			line = line[1:]
		}
		if len(chunks) == 0 {
			t.Fatalf("the answer begins with %.100q", answer)
		}
		chunks[len(chunks)-1] += line + "\n"
	}
	for i := range chunks {
		chunks[i] = strings.TrimRight(chunks[i], "\n")
	}
	return chunks
}

// A client shows its model one of the two forms, so each must have every word.
func TestBothFormsOfADocumentHaveTheSameWords(t *testing.T) {
	for name, files := range map[string]map[string]string{"large": large(), "lookalikes": lookalikes()} {
		all := toolsOf(library(t, indexer.Options{Dir: corpus(t, files), MaxChars: 1 << 20}), Options{MaxAnswerBytes: 8 << 10})
		for page := range files {
			if strings.HasPrefix(page, "deep/") || strings.HasPrefix(page, "api/") && page != "api/endpoint-007.md" {
				continue
			}
			for id, pages := page, 0; id != "" && pages < 80; pages++ {
				text, doc := all.get(t, map[string]any{"chunk_id": id})
				if len(text) > 8<<10 {
					t.Errorf("%s: get_doc %s: %d bytes, want at most %d", name, id, len(text), 8<<10)
				}
				want := told(t, text)
				if len(want) != len(doc.Chunks) {
					t.Fatalf("%s: get_doc %s: %d chunks in the text, %d in the structured form", name, id, len(want), len(doc.Chunks))
				}
				for i, c := range doc.Chunks {
					if got := strings.TrimRight(c.Text, "\n"); got != want[i] || got == "" {
						t.Fatalf("%s: get_doc %s: chunk %s has\n%.300q\nin the structured form and\n%.300q\nin the text", name, id, c.ChunkID, got, want[i])
					}
				}
				id = doc.Next
			}
		}
	}
}

// The clients in the table show a text that comes alone, and it costs their
// model fewer tokens than JSON, so they get no second copy.
func TestKnownClientsGetADocumentOnce(t *testing.T) {
	all := toolsOf(harbour(t), Options{})
	for name, want := range map[string]bool{"claude-code": false, "codex-mcp-client": false, "gemini-cli-mcp-client": false, "opencode": false, "": true, "some-ide": true} {
		result, err := all["get_doc"].Call(t.Context(), contract.Caller{Name: name}, json.RawMessage(`{"chunk_id":"guides/pilotage.md"}`))
		if err != nil || len(result.Text) != 1 || !strings.Contains(result.Text[0], "A pilot boards two miles off.") {
			t.Fatalf("get_doc for %q = %v, %v", name, result.Text, err)
		}
		if got := result.Structured != nil; got != want {
			t.Errorf("get_doc for %q: structured form %v, want %v", name, got, want)
		}
		if want && !strings.Contains(encode(t, result.Structured), "A pilot boards two miles off.") {
			t.Errorf("get_doc for %q: the structured form lacks the text: %s", name, encode(t, result.Structured))
		}
	}
}

// A client that shows its model no more than so many bytes gets no more, and is
// told how to go on.
func TestAnAnswerFitsWhatTheClientShows(t *testing.T) {
	all := largeLibrary(t, Options{})
	for _, c := range []struct {
		client string
		most   int
	}{{"codex-mcp-client", 32_000}, {"some-ide", 64 << 10}} {
		for name, arguments := range map[string]string{"get_doc": `{"chunk_id":"book.md#book/chapter"}`, "list_docs": `{"folder":"deep"}`} {
			result, err := all[name].Call(t.Context(), contract.Caller{Name: c.client}, json.RawMessage(arguments))
			if err != nil {
				t.Fatal(err)
			}
			if n := len(result.Text[0]); n > c.most || name == "get_doc" && n < c.most/2 || name == "get_doc" && !strings.Contains(result.Text[0], "[Cut: ") {
				t.Errorf("%s for %s: %d bytes that end %q, want at most %d and a way to go on", name, c.client, n, result.Text[0][n-80:], c.most)
			}
		}
	}
}
