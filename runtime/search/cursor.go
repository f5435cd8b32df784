package search

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// cursor says where the next page begins. Its signature ties it to a query to catch
// mix-ups. It is not secret.
type cursor struct {
	Offset  int `json:"offset"`
	Limit   int `json:"limit"`
	Version int `json:"v"`
	// Lexical reports whether the previous pages were ranked by keyword only. If
	// so, the next pages are too, even if a vector is available again, because
	// using it would reorder all hits.
	Lexical bool   `json:"lexical,omitempty"`
	Sig     string `json:"sig"`
}

// cursorVersion changes when old cursors no longer mean the same.
const cursorVersion = 1

// question identifies the query that a cursor belongs to.
type question struct {
	text    string
	filters map[string]string
	by      By
}

// encode signs a cursor for a question.
func (c cursor) encode(q question) string {
	c.Version = cursorVersion
	c.Sig = c.sign(q)
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // numbers and strings always marshal
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseCursor parses a cursor that encode wrote for the same question. The corpus
// has the given number of chunks.
func parseCursor(s string, q question, chunks int) (c cursor, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return c, badCursor("malformed JSON payload")
	}
	var raw map[string]json.RawMessage
	if json.Unmarshal(b, &raw) != nil {
		return c, badCursor("malformed JSON payload")
	}
	fields := 4
	if _, ok := raw["lexical"]; ok {
		fields++
	}
	if json.Unmarshal(b, &c) != nil || len(raw) != fields || c.Version != cursorVersion || c.Offset < 1 || c.Sig == "" {
		return c, badCursor("expected a search cursor payload")
	}
	if c.Sig != c.sign(q) || c.Offset > chunks {
		return c, badCursor("does not match current query or filters")
	}
	return c, nil
}

// sign returns the signature of everything but Sig.
func (c cursor) sign(q question) string {
	h := sha1.New()
	fmt.Fprintf(h, "%d %d %d %q", c.Version, c.Offset, c.Limit, q.text)
	if c.Lexical {
		fmt.Fprint(h, " lexical")
	}
	for _, k := range slices.Sorted(maps.Keys(q.filters)) {
		fmt.Fprintf(h, " %q=%q", k, q.filters[k])
	}
	if q.by != Both {
		fmt.Fprintf(h, " by %s", q.by)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

func badCursor(why string) error {
	f := invalid("Invalid cursor: " + why)
	f.Hint = "Pass next_cursor of a previous search with the same query and filters unchanged, or omit cursor for the first page."
	return f
}
