package console

import (
	"testing"

	"github.com/deskhand/deskhand/runtime/tools/docs"
)

// Whatever a page holds, a terminal gets no character that does something but
// those of deskhand itself.
func TestPagesDoNothingToATerminal(t *testing.T) {
	const page = "a\x1b[31mb\u009b1mc\x07d\u007fe\r\tf\n"
	for _, c := range []struct {
		name  string
		got   string
		wants string
	}{
		{"not on a terminal", Paint{}.Plain(page), page},
		{"text", Paint{terminal: true}.Plain(page), "a\ufffd[31mb\ufffd1mc\ufffdd\ufffde\ufffd\tf\n"},
		{"text that turns around", Paint{terminal: true}.Plain("a\u202eb\u2066c"), "a\ufffdb\ufffdc"},
		{"in colour", Paint{true, true}.Bold("x\x1b[0m"), "\x1b[1mx\ufffd[0m\x1b[0m"},
		{"without colours", Paint{terminal: true}.Bold("x\x1b[0m"), "x\ufffd[0m"},
		{"a snippet", Paint{true, true}.Marks("a\x1b **b\x1b** c"), "a\ufffd \x1b[1;33mb\ufffd\x1b[0m c"},
		{"a snippet in a pipe", Paint{}.Marks("a **b** c"), "a b c"},
		{"a mark that is not closed", Paint{terminal: true}.Marks("a **\x1b"), "a **\ufffd"},
	} {
		if c.got != c.wants {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.wants)
		}
	}
}

func TestDocumentsShowWhereChunksStand(t *testing.T) {
	text := "--- Chunk: a.md#x (Chunk 1 of 2) (Target) ---\nText.\n\\--- Chunk: of the page\n\n" +
		"--- Chunk: a.md#y (Chunk 2 of 2) (Context: +1) ---\nMore\x1b.\n--- Chunk: too many"
	doc := docs.Doc{Filepath: "a.md", Chunks: []docs.DocPart{{Lines: "3-9"}, {Lines: "10-12"}}}
	want := "\x1b[1m--- Chunk: a.md#x (Chunk 1 of 2) (Target) ---\x1b[0m \x1b[36ma.md:3\x1b[0m\nText.\n\\--- Chunk: of the page\n\n" +
		"\x1b[1m--- Chunk: a.md#y (Chunk 2 of 2) (Context: +1) ---\x1b[0m \x1b[36ma.md:10\x1b[0m\nMore\ufffd.\n--- Chunk: too many"
	if got := (Paint{true, true}).Document(text, doc); got != want {
		t.Errorf("on a terminal %q, want %q", got, want)
	}
	if got := (Paint{}).Document(text, doc); got != text {
		t.Errorf("in a pipe %q, want the text as it is", got)
	}
}
