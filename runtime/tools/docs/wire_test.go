package docs

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// checkAppendResult compares appendResult with encoding/json.
func checkAppendResult(t *testing.T, r *SearchResult) {
	t.Helper()
	want, err := plainJSON(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(appendResult(nil, r)); got != want {
		t.Errorf("appendResult(%+v) =\n%s\nwant\n%s", r, got, want)
	}
}

func TestAppendResultWritesWhatJSONDoes(t *testing.T) {
	cursor := "abc"
	for _, r := range []SearchResult{
		{Hits: []Hit{}},
		{Hits: []Hit{{Metadata: map[string]string{}}, {Metadata: map[string]string{"b": "1", "a": "\"2\""}}}, NextCursor: &cursor},
		{Hits: []Hit{}, Hint: &Hint{Message: "none", SuggestedFilters: map[string][]string{}}, Note: "a\nb"},
		{Hits: []Hit{}, Hint: &Hint{SuggestedFilters: map[string][]string{"y": {"1", "<2>"}, "x": {}}}},
		{Hits: []Hit{{Metadata: map[string]string{}, Variants: map[string][]string{"v": {"1", "2"}, "l\n": {"go"}}, Why: &Why{1, 0, 0.5, 0.000001, 0, 0.25, 0.75, map[string]float64{"words": -1.5, "rows": 0.25}, nil}}}},
		{Hits: []Hit{{Metadata: map[string]string{}, Why: &Why{Words: 1, Verbatim: 0.5, Weights: map[string]float64{"words": 0.48, "path": 0.085}}}}},
		{Hits: []Hit{{Score: 0.000001, Metadata: map[string]string{}}, {Score: 123456.789012, Metadata: map[string]string{}}}},
	} {
		checkAppendResult(t, &r)
	}
}

func FuzzAppendResult(f *testing.F) {
	f.Add("a/b.md#c", `quote " and \ and <b> & é 日本`, "line\u2028 sep\u2029 bad \xff\xc3( \x00\x1f\x7f\t\n", 12.25)
	f.Fuzz(func(t *testing.T, id, snippet, value string, score float64) {
		score = math.Round(math.Mod(math.Abs(score), 1e9)*1e6) / 1e6
		if math.IsNaN(score) {
			score = 0
		}
		checkAppendResult(t, &SearchResult{Hits: []Hit{{ChunkID: id, Snippet: snippet, Score: score, Metadata: map[string]string{value: snippet, "k": value}}}})
	})
}

func BenchmarkAppendResult(b *testing.B) {
	r := SearchResult{}
	for range 10 {
		r.Hits = append(r.Hits, Hit{ChunkID: "guides/retries.md#retries/backoff", Score: 12.345678, Heading: "Backoff", Breadcrumb: "Retries > Backoff",
			Snippet:  "Between two attempts the client waits, each time **twice** as long as before, and at most for a minute; what it waits is drawn by chance.",
			Filepath: "guides/retries.md", Metadata: map[string]string{"part": "guide"}, Title: "Retries", Lines: "10-20"})
	}
	b.Run("own", func(b *testing.B) {
		room := make([]byte, 0, 8<<10)
		for b.Loop() {
			appendResult(room, &r)
		}
	})
	b.Run("json", func(b *testing.B) {
		for b.Loop() {
			if _, err := plainJSON(&r); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// plainJSON is v as JSON on one line, without HTML escapes.
func plainJSON(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
