package docs

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// wire writes a search result as JSON on one line. Its output equals that of
// encoding/json without HTML escapes, except that nil maps and lists are never
// null. Reflection took longer than the keyword search (BenchmarkAppendResult;
// FuzzAppendResult compares the bytes).
type wire struct {
	b     []byte
	empty bool // nothing was written after the opening bracket
}

// appendResult appends r to b.
func appendResult(b []byte, r *SearchResult) []byte {
	w := wire{b: b}
	w.open('{')
	w.key("hits")
	w.hits(r.Hits)
	w.key("next_cursor")
	if r.NextCursor == nil {
		w.raw("null")
	} else {
		w.string(*r.NextCursor)
	}
	w.key("hint")
	w.hint(r.Hint)
	if r.Note != "" {
		w.key("note")
		w.string(r.Note)
	}
	w.close('}')
	return w.b
}

func (w *wire) hits(hits []Hit) {
	w.open('[')
	for i := range hits {
		h := &hits[i]
		w.next()
		w.open('{')
		w.field("chunk_id", h.ChunkID)
		w.key("score")
		w.number(h.Score)
		w.field("heading", h.Heading)
		w.field("breadcrumb", h.Breadcrumb)
		w.field("snippet", h.Snippet)
		w.field("filepath", h.Filepath)
		w.key("metadata")
		w.open('{')
		for _, k := range slices.Sorted(maps.Keys(h.Metadata)) {
			w.named(k)
			w.string(h.Metadata[k])
		}
		w.close('}')
		w.field("title", h.Title)
		if h.Lines != "" {
			w.field("lines", h.Lines)
		}
		if len(h.Variants) > 0 {
			w.key("variants")
			w.lists(h.Variants)
		}
		if h.Library != "" {
			w.field("library", h.Library)
		}
		if why := h.Why; why != nil {
			w.key("why")
			w.open('{')
			for _, part := range [...]struct {
				name  string
				share float64
			}{{"words", why.Words}, {"meaning", why.Meaning}, {"near", why.Near}, {"path", why.Path}, {"verbatim", why.Verbatim}, {"row", why.Row}, {"each", why.Each}} {
				if part.name == "verbatim" && part.share == 0 {
					continue
				}
				w.key(part.name)
				w.number(part.share)
			}
			w.numbers("learnt", why.Learnt)
			w.numbers("weights", why.Weights)
			w.close('}')
		}
		w.close('}')
	}
	w.close(']')
}

// numbers writes a member with numbers by name, if there are any.
func (w *wire) numbers(name string, all map[string]float64) {
	if len(all) == 0 {
		return
	}
	w.key(name)
	w.open('{')
	for _, k := range slices.Sorted(maps.Keys(all)) {
		w.named(k)
		w.number(all[k])
	}
	w.close('}')
}

func (w *wire) hint(h *Hint) {
	if h == nil {
		w.raw("null")
		return
	}
	w.open('{')
	w.field("message", h.Message)
	w.key("suggested_filters")
	w.lists(h.SuggestedFilters)
	w.close('}')
}

func (w *wire) lists(all map[string][]string) {
	w.open('{')
	for _, k := range slices.Sorted(maps.Keys(all)) {
		w.named(k)
		w.open('[')
		for _, s := range all[k] {
			w.next()
			w.string(s)
		}
		w.close(']')
	}
	w.close('}')
}

func (w *wire) raw(s string) { w.b = append(w.b, s...) }

func (w *wire) open(bracket byte) {
	w.b = append(w.b, bracket)
	w.empty = true
}

func (w *wire) close(bracket byte) {
	w.b = append(w.b, bracket)
	w.empty = false
}

// next begins a member or an element.
func (w *wire) next() {
	if !w.empty {
		w.b = append(w.b, ',')
	}
	w.empty = false
}

// key begins a member whose name needs no escapes.
func (w *wire) key(name string) {
	w.next()
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, `":`...)
}

// named begins a member with any name.
func (w *wire) named(name string) {
	w.next()
	w.string(name)
	w.b = append(w.b, ':')
}

func (w *wire) field(name, value string) {
	w.key(name)
	w.string(value)
}

// number writes a finite number. A score is 0 or between 1e-6 and 1e9, for which
// encoding/json does not use an exponent either.
func (w *wire) number(f float64) {
	w.b = strconv.AppendFloat(w.b, f, 'f', -1, 64)
}

func (w *wire) string(s string) {
	w.b = append(w.b, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			continue
		}
		if c == '"' || c == '\\' {
			w.b = append(w.b, s[from:i]...)
			w.b = append(w.b, '\\', c)
			from = i + 1
			continue
		}
		if r, size := utf8.DecodeRuneInString(s[i:]); c >= utf8.RuneSelf && r != utf8.RuneError && r != '\u2028' && r != '\u2029' {
			i += size - 1
			continue
		}
		w.odd(s[from:])
		return
	}
	w.b = append(w.b, s[from:]...)
	w.b = append(w.b, '"')
}

// odd writes a string that contains control characters, line separators or invalid
// bytes, and the quote after it.
func (w *wire) odd(s string) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // strings always marshal
	}
	w.b = append(w.b, bytes.TrimSuffix(b.Bytes()[1:], []byte("\n"))...)
}
