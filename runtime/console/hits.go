package console

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/ranker"
	"github.com/deskhand/deskhand/runtime/tools/docs"
)

// Hits prints search results with their locations and snippets.
func (c *Console) Hits(r docs.SearchResult) {
	paint := PainterFor(c.Stdout)
	for i, h := range r.Hits {
		if i > 0 {
			fmt.Fprintln(c.Stdout)
		}
		fmt.Fprintf(c.Stdout, "%s  %s\n", paint.Bold(h.Breadcrumb), paint.Dim(fmt.Sprintf("%.3f", h.Score)))
		fmt.Fprintf(c.Stdout, "%s  %s\n", paint.Path(place(h.Filepath, h.Lines)), paint.Dim(h.ChunkID))
		fmt.Fprintf(c.Stdout, "  %s\n", paint.Marks(h.Snippet))
		if h.Why != nil {
			fmt.Fprintf(c.Stdout, "  %s\n", paint.Dim(why(h.Why)))
		}
		for _, k := range slices.Sorted(maps.Keys(h.Variants)) {
			fmt.Fprintf(c.Stdout, "  %s\n", paint.Dim("also for "+k+" "+strings.Join(h.Variants[k], ", ")))
		}
	}
	if r.Hint != nil {
		fmt.Fprintln(c.Stdout, paint.Plain(r.Hint.Message))
		for _, k := range slices.Sorted(maps.Keys(r.Hint.SuggestedFilters)) {
			fmt.Fprintf(c.Stdout, "  --facet %s=%s\n", k, paint.Plain(strings.Join(r.Hint.SuggestedFilters[k], " | ")))
		}
	}
}

// place returns FILE:LINE, or FILE if the lines are unknown.
func place(file, lines string) string {
	first, _, _ := strings.Cut(lines, "-")
	if first == "" {
		return file
	}
	return file + ":" + first
}

// why words the evidence of a hit: the shares, and what the ranker made of them.
func why(w *docs.Why) string {
	text := fmt.Sprintf("words %.2f  meaning %.2f  near %.2f  path %.2f", w.Words, w.Meaning, w.Near, w.Path)
	if w.Verbatim > 0 {
		text += fmt.Sprintf("  verbatim %.2f", w.Verbatim)
	}
	if w.Learnt == nil {
		return text
	}
	text += fmt.Sprintf("  row %.2f  each %.2f  learnt:", w.Row, w.Each)
	for _, group := range ranker.Groups() {
		text += fmt.Sprintf("  %s %+.1f", group, w.Learnt[string(group)])
	}
	return text
}

// delimiterStart begins the line before each chunk of a document. In the document's text,
// a line that begins like this is escaped with a backslash.
const delimiterStart = "--- Chunk: "

// On a terminal, Document highlights the lines between chunks and adds to each line the
// location to open in an editor.
func (p Paint) Document(text string, doc docs.Doc) string {
	if !p.terminal {
		return text
	}
	lines := strings.Split(text, "\n")
	chunk := 0
	for i, line := range lines {
		if !strings.HasPrefix(line, delimiterStart) || chunk == len(doc.Chunks) {
			lines[i] = p.Plain(line)
			continue
		}
		lines[i] = p.Bold(line) + " " + p.Path(place(doc.Filepath, doc.Chunks[chunk].Lines))
		chunk++
	}
	return strings.Join(lines, "\n")
}

// Document prints a document of get_doc as text, as JSON, or, if raw is true, as the
// Markdown of its chunks with nothing between them.
func (c *Console) Document(text string, doc docs.Doc, asJSON, raw bool) error {
	paint := PainterFor(c.Stdout)
	switch {
	case asJSON:
		return c.JSON(struct {
			docs.Doc
			Text string `json:"text"`
		}{doc, text})
	case raw:
		text = paint.Plain(rawText(doc))
	default:
		text = paint.Document(text, doc)
	}
	_, err := fmt.Fprintln(c.Stdout, text)
	return err
}

// rawText joins the chunks of a document with empty lines, as in its file.
func rawText(doc docs.Doc) string {
	var parts []string
	for _, chunk := range doc.Chunks {
		parts = append(parts, strings.Trim(chunk.Text, "\n"))
	}
	return strings.Join(parts, "\n\n")
}
