package docs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/clients"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/search"
)

type getDocIn struct {
	ChunkID string `json:"chunk_id"`
	Context int    `json:"context"`
}

// Doc is the structured result of get_doc. It has the same content as the text,
// because clients may show their model only one of the two.
type Doc struct {
	Filepath string `json:"filepath"`
	Title    string `json:"title"`
	// Library is set if there are several libraries.
	Library string    `json:"library,omitempty"`
	Chunks  []DocPart `json:"chunks"`
	// Outline lists the page's sections, if a page was requested.
	Outline []OutlineEntry `json:"outline,omitempty"`
	// Next is the chunk_id to continue with if the answer was truncated.
	Next string `json:"next,omitempty"`
}

// DocPart is one chunk, or one piece of a chunk that does not fit into an answer.
type DocPart struct {
	ChunkID  string `json:"chunk_id"`
	Position int    `json:"position"`
	Total    int    `json:"total"`
	Target   bool   `json:"target"`
	// Lines holds the first and last line in the file. It is empty if they are
	// unknown.
	Lines string `json:"lines,omitempty"`
	// Text is the Markdown in the file, without the backslashes that escape
	// delimiters in the text form.
	Text string `json:"text"`
}

// OutlineEntry is one section of a page.
type OutlineEntry struct {
	ChunkID string `json:"chunk_id"`
	Heading string `json:"heading"`
	Lines   string `json:"lines,omitempty"`
}

// getDocSpec returns the spec of get_doc. text, if not empty, replaces its
// description.
func getDocSpec(o Options, text string) contract.Spec {
	own := "Retrieve the full content of a specific documentation chunk using its chunk_id. You can optionally request surrounding context within the same file."
	zero, five := float64(0), float64(search.MaxContext)
	schema := contract.Object([]string{"chunk_id"},
		contract.Property{Name: "chunk_id", Schema: &jsonschema.Schema{Type: "string", Description: "The exact ID of the chunk to retrieve, as returned by search_docs (e.g., 'guides/retries.md#backoff-strategy')."}},
		contract.Property{Name: "context", Schema: &jsonschema.Schema{Type: "integer", Description: "Number of adjacent chunks to include before and after the target chunk. Default is 0. Use this to read the surrounding file context.",
			Minimum: &zero, Maximum: &five, Default: json.RawMessage("0")}},
	)
	return contract.Spec{
		Name: o.name("get_doc"), Title: "Read a section of the documentation", Description: cmp.Or(text, own),
		Input: contract.Freeze(schema), ReadOnly: true,
	}
}

func getDoc(engine *search.Engine, o Options) contract.Tool {
	text := ""
	if d := engine.Metadata().ToolDescriptions; d != nil {
		text = d.GetDoc
	}
	return contract.Define(getDocSpec(o, text), func(_ context.Context, caller contract.Caller, in getDocIn) (contract.Result, error) {
		answer, doc, err := Get(engine, in.ChunkID, in.Context, o.maxBytes(caller))
		if clients.Of(caller.Name).Shows != clients.Either {
			return contract.Result{Text: []string{answer}}, err // every known client shows text that comes without data
		}
		return contract.Result{Text: []string{answer}, Structured: doc}, err
	})
}

// continuation matches the ID that continues a truncated answer: the requested ID,
// "##", and a number. For a page, the number is that of the first chunk. For a
// chunk that does not fit into an answer, it is the number of the piece
// ("a.md##16", "a.md##16.2", "a.md#b##2"). No chunk ID contains "##".
var continuation = regexp.MustCompile(`^([^#]+(?:#[^#]+)?)##(\d{1,6})(?:\.(\d{1,6}))?$`)

// Get returns a chunk with its neighbours, or a page, as text in the delimiter
// grammar and as data. Text longer than maxBytes is truncated and ends with a
// note on where and how to continue.
func Get(engine *search.Engine, id string, context, maxBytes int) (string, Doc, error) {
	return get(engine, "", id, context, maxBytes)
}

// get does the work of Get. library, if not empty, is put before each ID.
func get(engine *search.Engine, library, id string, context, maxBytes int) (string, Doc, error) {
	asked, first, second := id, 0, 0
	if m := continuation.FindStringSubmatch(id); m != nil {
		asked = m[1]
		first, _ = strconv.Atoi(m[2]) // six digits always fit
		second, _ = strconv.Atoi(m[3])
		context = 0
	}
	p, err := engine.Passage(asked, context)
	if err != nil {
		return "", Doc{}, err
	}
	if library != "" {
		asked = library + ":" + asked
		for i := range p.Chunks {
			p.Chunks[i].ID = library + ":" + p.Chunks[i].ID
		}
	}
	w := writer{id: asked, passage: p, maxBytes: maxBytes, piece: 1}
	switch {
	case p.Whole && first > 0:
		w.passage.Target, w.piece = first-1, max(1, second)
	case first > 0:
		w.piece = first
	}
	w.doc.Library = library
	return w.write()
}

// writer formats one passage.
type writer struct {
	id       string // as requested, without a continuation
	passage  search.Passage
	maxBytes int
	piece    int // of the target, from 1
	text     strings.Builder
	doc      Doc
}

func (w *writer) write() (string, Doc, error) {
	p := w.passage
	if p.Target >= len(p.Chunks) {
		return "", Doc{}, w.beyond(p.Target+1, len(p.Chunks), "chunk")
	}
	w.doc.Filepath, w.doc.Title = p.Path, p.Title
	outline := ""
	if p.Whole && p.Target == 0 && w.piece == 1 {
		outline = w.outline()
	}
	target := p.Chunks[p.Target]
	room := w.maxBytes - len(outline) - footRoom - len(w.id)
	pieces := cut(body(target), max(MinAnswerBytes/4, room-delimiterRoom(target)))
	if w.piece > len(pieces) {
		return "", Doc{}, w.beyond(w.piece, len(pieces), "piece")
	}
	text := pieces[w.piece-1]
	last := w.piece == len(pieces)
	from, to := p.Target, p.Target+1
	if last {
		from, to = w.fit(room - len(escaped(text)) - delimiterRoom(target))
	}
	for i := from; i < to; i++ {
		if i != p.Target {
			w.chunk(i, body(p.Chunks[i]))
		} else {
			w.chunk(i, text)
		}
	}
	w.foot(len(pieces), from, to)
	w.text.WriteString(outline)
	return w.text.String(), w.doc, nil
}

func (w *writer) beyond(asked, has int, what string) error {
	return fault.New("invalid_argument", fmt.Sprintf("Chunk ID '%s' has no %s %d, the last is %d.", w.id, what, asked, has), "Call get_doc with only the chunk_id to start again.")
}

// fit returns the range of chunks around the target that fit into room bytes next
// to the target. The nearest chunks are chosen first. Chunks before the target
// are included unless the passage is a whole page.
func (w *writer) fit(room int) (from, to int) {
	p := w.passage
	from, to = p.Target, p.Target+1
	takes := func(i int) bool {
		n := len(escaped(body(p.Chunks[i]))) + delimiterRoom(p.Chunks[i])
		if n > room {
			return false
		}
		room -= n
		return true
	}
	for up, down := !p.Whole, true; up || down; {
		if down = down && to < len(p.Chunks) && takes(to); down {
			to++
		}
		if up = up && from > 0 && takes(from-1); up {
			from--
		}
	}
	return from, to
}

// footRoom is the number of bytes reserved for the end of a truncated answer,
// without the ID in it.
const footRoom = 256

// foot adds a note on how to continue to a truncated answer.
func (w *writer) foot(pieces, from, to int) {
	p := w.passage
	said := ""
	switch {
	case w.piece < pieces && p.Whole:
		w.doc.Next = fmt.Sprintf("%s##%d.%d", w.id, p.Target+1, w.piece+1)
		said = fmt.Sprintf("Cut: piece %d of %d of this chunk.", w.piece, pieces)
	case w.piece < pieces:
		w.doc.Next = fmt.Sprintf("%s##%d", w.id, w.piece+1)
		said = fmt.Sprintf("Cut: piece %d of %d of this chunk.", w.piece, pieces)
	case p.Whole && to < len(p.Chunks):
		w.doc.Next = fmt.Sprintf("%s##%d", w.id, to+1)
		said = fmt.Sprintf("Cut: chunks %d to %d of %d.", from+1, to, len(p.Chunks))
	case !p.Whole && to-from < len(p.Chunks):
		i := to
		if to == len(p.Chunks) {
			i = from - 1
		}
		w.doc.Next = p.Chunks[i].ID
		said = fmt.Sprintf("Cut: %d of the %d requested chunks fit in %d bytes.", to-from, len(p.Chunks), w.maxBytes)
	default:
		return
	}
	fmt.Fprintf(&w.text, "\n\n[%s Continue with get_doc chunk_id \"%s\".]", said, w.doc.Next)
}

func (w *writer) chunk(i int, text string) {
	c := w.passage.Chunks[i]
	label := "Target"
	if i != w.passage.Target {
		label = fmt.Sprintf("Context: %+d", i-w.passage.Target)
	}
	if w.text.Len() > 0 {
		w.text.WriteString("\n\n")
	}
	fmt.Fprintf(&w.text, "--- Chunk: %s (Chunk %d of %d) (%s) ---\n%s", c.ID, c.Position, c.Total, label, escaped(text))
	w.doc.Chunks = append(w.doc.Chunks, DocPart{
		ChunkID: c.ID, Position: c.Position, Total: c.Total, Target: i == w.passage.Target, Lines: lines(c), Text: text,
	})
}

// outlineShare is the divisor that gives an outline's maximum share of an answer.
const outlineShare = 4

// outline lists the sections of a page that has several.
func (w *writer) outline() string {
	p := w.passage
	if len(p.Chunks) < 2 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n\n[Outline of " + p.Path + ":")
	for i, c := range p.Chunks {
		heading := c.Heading
		if heading == "" {
			heading = "(beginning)"
		}
		line := fmt.Sprintf("\n%d. %s: %s", i+1, heading, c.ID)
		if at := lines(c); at != "" {
			line += ", lines " + at
		}
		if b.Len()+len(line) > w.maxBytes/outlineShare {
			fmt.Fprintf(&b, "\n... and %d more", len(p.Chunks)-i)
			break
		}
		b.WriteString(line)
		w.doc.Outline = append(w.doc.Outline, OutlineEntry{ChunkID: c.ID, Heading: c.Heading, Lines: lines(c)})
	}
	b.WriteString("]")
	return b.String()
}

func lines(c search.Part) string { return linesOf(c.StartLine, c.EndLine) }

// linesOf returns a range such as "3-9", or "" if the lines are unknown, for
// example for a page converted from another format.
func linesOf(start, end int) string {
	if start == 0 {
		return ""
	}
	return strconv.Itoa(start) + "-" + strconv.Itoa(end)
}

// delimiterRoom returns an upper bound for the number of bytes around a chunk's
// text.
func delimiterRoom(c search.Part) int { return len(c.ID) + 64 }

// body returns a chunk's Markdown without blank lines around it.
func body(c search.Part) string { return strings.Trim(c.Markdown, "\n") }

// escaped adds a backslash before each line that looks like a delimiter, even if
// the line already begins with backslashes. Then only our own lines are delimiters,
// and a reader can restore the text.
func escaped(text string) string {
	if !strings.Contains(text, delimiterStart) {
		return text
	}
	all := strings.Split(text, "\n")
	for i, line := range all {
		if delimiterLike(line) {
			all[i] = `\` + line
		}
	}
	return strings.Join(all, "\n")
}

const delimiterStart = "--- Chunk: "

func delimiterLike(line string) bool {
	return strings.HasPrefix(strings.TrimLeft(line, `\`), delimiterStart)
}

// cut splits text into pieces that have at most n bytes after escaping. It splits
// at a line end if there is one in the second half of a piece.
func cut(text string, n int) []string {
	if strings.Contains(text, delimiterStart) {
		n -= n / (len(delimiterStart) + 1) // leaves room for one backslash per line; each line is at least this long
	}
	var pieces []string
	for len(text) > n {
		at := strings.LastIndexByte(text[:n], '\n') + 1
		if at < n/2 {
			for at = n; at > 0 && !utf8.RuneStart(text[at]); at-- {
			}
		}
		pieces = append(pieces, text[:at])
		text = text[at:]
	}
	return append(pieces, text)
}
