package main

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/deskhand/deskhand/runtime/tools/docs"
)

// pageThrough follows next_cursor to the end.
func (d door) pageThrough(arguments map[string]any) (pages [][]docs.Hit) {
	d.t.Helper()
	arguments = maps.Clone(arguments)
	for {
		result := d.search(arguments)
		pages = append(pages, result.Hits)
		if result.NextCursor == nil {
			return pages
		}
		if len(pages) > 200 {
			d.t.Fatalf("search_docs %v does not come to an end", arguments)
		}
		arguments["cursor"] = *result.NextCursor
	}
}

func TestSearchDocsAnswers(t *testing.T) {
	everyDoor(t, indexed(t, acme(t, endpoints(40))), func(t *testing.T, d door) {
		d.line("D-022 an exact identifier is first", func(t *testing.T, d door) {
			for query, want := range map[string]string{
				"RateLimitError":   "reference/errors.md#errors/ratelimiterror",
				"rate limit error": "reference/errors.md#errors/ratelimiterror",
				"TimeoutError":     "reference/errors.md#errors/timeouterror",
				"backoff strategy": "guides/retries.md#retries/backoff-strategy",
			} {
				if got := ids(d.search(map[string]any{"query": query}).Hits); len(got) == 0 || got[0] != want {
					t.Errorf("query %q: %q, want %s first", query, got, want)
				}
			}
		})
		d.line("D-023 one block of JSON", func(t *testing.T, d door) {
			a := d.call("search_docs", `{"query":"jitter"}`)
			fields := object(t, a.text())
			for _, name := range []string{"hits", "next_cursor", "hint"} {
				if _, ok := fields[name]; !ok {
					t.Errorf("the answer has no %s: %s", name, a.text())
				}
			}
			if structured := object(t, string(a.Structured)); !reflect.DeepEqual(structured, fields) {
				t.Errorf("structuredContent %s is not the text %s", a.Structured, a.text())
			}
		})
		d.line("D-024 no isError on success", func(t *testing.T, d door) {
			if a := d.call("search_docs", `{"query":"jitter"}`); a.IsError {
				t.Errorf("isError with %s", a.text())
			}
		})
		d.line("D-025 ids are for get_doc", func(t *testing.T, d door) {
			for _, h := range d.search(map[string]any{"query": "retries pagination errors setup", "limit": 50}).Hits {
				if text := d.get(h.ChunkID, 0); !strings.HasPrefix(text, "--- Chunk: "+h.ChunkID+" (Chunk ") {
					t.Errorf("get_doc %s = %.100q", h.ChunkID, text)
				}
			}
		})
		d.line("D-026 scores do not rise", func(t *testing.T, d door) {
			for _, query := range []string{"widget", "error", "the call", "retries"} {
				last := 0.0
				for i, h := range slices.Concat(d.pageThrough(map[string]any{"query": query, "limit": 7})...) {
					if i > 0 && h.Score > last || h.Score <= 0 {
						t.Errorf("query %q: hit %d has score %v after %v", query, i+1, h.Score, last)
					}
					last = h.Score
				}
			}
		})
		login := docs.Hit{}
		for _, h := range d.search(map[string]any{"query": "login confirm with your account"}).Hits {
			if h.ChunkID == "guides/authentication.md#authentication/oauth/login" {
				login = h
			}
		}
		d.line("D-027 heading", func(t *testing.T, d door) {
			if login.Heading != "Login" {
				t.Errorf("heading %q, want Login", login.Heading)
			}
		})
		d.line("D-028 breadcrumb", func(t *testing.T, d door) {
			if want := "Authentication > OAuth > Login"; login.Breadcrumb != want {
				t.Errorf("breadcrumb %q, want %q", login.Breadcrumb, want)
			}
		})
		d.line("D-029 snippet", func(t *testing.T, d door) {
			if !strings.Contains(login.Snippet, "account") {
				t.Errorf("snippet %q does not show what was found", login.Snippet)
			}
			for _, h := range d.search(map[string]any{"query": "the a of widget", "limit": 50}).Hits {
				if n := utf8.RuneCountInString(h.Snippet); n > 400 || n == 0 {
					t.Errorf("snippet of %s has %d characters", h.ChunkID, n)
				}
			}
			stated(t, "reference/tools/search_docs.md", "about 220 characters")
		})
		d.line("D-030 filepath", func(t *testing.T, d door) {
			if want := "guides/authentication.md"; login.Filepath != want {
				t.Errorf("filepath %q, want %q", login.Filepath, want)
			}
		})
		d.line("D-031 metadata", func(t *testing.T, d door) {
			hits := d.search(map[string]any{"query": "cursors", "language": "TypeScript"}).Hits
			want := map[string]string{"language": "TypeScript", "scope": "sdk"}
			if len(hits) == 0 || !maps.Equal(hits[0].Metadata, want) {
				t.Errorf("hits %+v, want metadata %v", hits, want)
			}
		})
		d.line("D-032 all fields in 100 hits", func(t *testing.T, d door) {
			kinds := map[string]reflect.Kind{
				"chunk_id": reflect.String, "score": reflect.Float64, "heading": reflect.String, "breadcrumb": reflect.String,
				"snippet": reflect.String, "filepath": reflect.String, "metadata": reflect.Map, "title": reflect.String, "lines": reflect.String,
			}
			seen := 0
			for _, query := range []string{"widget", "the a of to", "page", "guide retries error setup pagination"} {
				hits := object(t, d.succeed("search_docs", encoded(t, map[string]any{"query": query, "limit": 50})))["hits"].([]any)
				for _, hit := range hits {
					seen++
					fields := hit.(map[string]any)
					for name, kind := range kinds {
						if got := reflect.ValueOf(fields[name]); got.Kind() != kind {
							t.Errorf("query %q: %s is %v in %v", query, name, fields[name], fields)
						}
					}
					for k, v := range fields["metadata"].(map[string]any) {
						if _, ok := v.(string); !ok {
							t.Errorf("query %q: metadata %s is %v, not a string", query, k, v)
						}
					}
					if len(fields) != len(kinds) {
						t.Errorf("query %q: fields %v, the manual knows %d", query, fields, len(kinds))
					}
				}
			}
			if seen < 100 {
				t.Errorf("%d hits looked at, want 100", seen)
			}
		})
		d.line("D-033 next_cursor", func(t *testing.T, d door) {
			next := d.search(map[string]any{"query": "widget", "limit": 3}).NextCursor
			if next == nil {
				t.Fatal("no next_cursor")
			}
			if _, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(*next, "=")); err != nil {
				t.Errorf("next_cursor %q: %v", *next, err)
			}
			if r := d.search(map[string]any{"query": "RateLimitError", "limit": 50}); r.NextCursor != nil {
				t.Errorf("next_cursor %q after all %d hits", *r.NextCursor, len(r.Hits))
			}
		})
		d.line("D-034 pages cover all once", func(t *testing.T, d door) {
			for _, arguments := range []map[string]any{{"query": "widget request"}, {"query": "the"}, {"query": "page", "scope": "sdk"}} {
				var want []string
				for _, page := range d.pageThrough(with(arguments, "limit", 50)) {
					want = append(want, ids(page)...)
				}
				for _, limit := range []int{3, 11} {
					got := ids(slices.Concat(d.pageThrough(with(arguments, "limit", limit))...))
					if !slices.Equal(got, want) {
						t.Errorf("%v by %d: %q, want %q", arguments, limit, got, want)
					}
					if slices.Sort(got); len(slices.Compact(got)) != len(want) {
						t.Errorf("%v by %d: a chunk comes twice in %q", arguments, limit, got)
					}
				}
			}
		})
		d.line("D-035 last page", func(t *testing.T, d door) {
			// Forty pages of two chunks match, so the count is a multiple of the limit.
			pages := d.pageThrough(map[string]any{"query": "widget", "limit": 20})
			if len(pages) != 4 || len(pages[3]) != 20 {
				t.Errorf("%d pages, the last with %d hits; want 4 with 20", len(pages), len(pages[len(pages)-1]))
			}
		})
		next := *d.search(map[string]any{"query": "widget", "limit": 3}).NextCursor
		d.line("D-036 invalid cursor", func(t *testing.T, d door) {
			payload, err := base64.RawURLEncoding.DecodeString(next)
			if err != nil {
				t.Fatal(err)
			}
			farther := strings.Replace(string(payload), `"offset":3`, `"offset":4`, 1)
			for _, cursor := range []string{
				"", "garbage", "?", next[:len(next)-1], next[:len(next)/2], next + "A", next + next, strings.ToUpper(next),
				base64.RawURLEncoding.EncodeToString([]byte("{}")), base64.RawURLEncoding.EncodeToString([]byte("[1]")),
				base64.RawURLEncoding.EncodeToString([]byte(farther)), strings.Repeat("A", 10_000), "\x00", "💥",
			} {
				if cursor != next {
					d.refused("search_docs", encoded(t, map[string]any{"query": "widget", "cursor": cursor}), "Invalid cursor")
				}
			}
		})
		d.line("D-037 cursor of another query", func(t *testing.T, d door) {
			for _, arguments := range []map[string]any{
				{"query": "gadget", "cursor": next}, {"query": "Widget", "cursor": next}, {"query": "widget", "scope": "api", "cursor": next},
			} {
				d.refused("search_docs", encoded(t, arguments), "Invalid cursor", "does not match")
			}
			if n := len(d.search(map[string]any{"query": "widget", "limit": 5, "cursor": next}).Hits); n != 5 {
				t.Errorf("another limit with the same cursor: %d hits, want 5", n)
			}
			stated(t, "concepts/how-search-works.md", "A cursor is valid only for its own query and filters")
		})
		d.line("D-038 no hint with hits", func(t *testing.T, d door) {
			for _, query := range []string{"widget", "jitter", "jiter"} {
				if r := d.search(map[string]any{"query": query}); len(r.Hits) == 0 || r.Hint != nil {
					t.Errorf("query %q: %d hits, hint %+v", query, len(r.Hits), r.Hint)
				}
			}
			if fields := object(t, d.succeed("search_docs", `{"query":"jitter"}`)); fields["hint"] != nil {
				t.Errorf("hint %v, want null", fields["hint"])
			}
		})
		nothing := d.search(map[string]any{"query": "refresh token", "scope": "api"})
		d.line("D-039 hint without hits", func(t *testing.T, d door) {
			for _, r := range []docs.SearchResult{nothing, d.search(map[string]any{"query": "zzyzx"})} {
				if r.Hits == nil || len(r.Hits) != 0 || r.Hint == nil || r.Hint.Message == "" || r.Hint.SuggestedFilters == nil || r.NextCursor != nil {
					t.Errorf("no hits: %+v, want an empty list, a hint and no cursor", r)
				}
			}
		})
		d.line("D-040 what gave nothing", func(t *testing.T, d door) {
			for _, want := range []string{"0 results found", "scope", "'api'"} {
				if nothing.Hint == nil || !strings.Contains(nothing.Hint.Message, want) {
					t.Errorf("hint %+v, want %q in the message", nothing.Hint, want)
				}
			}
		})
		d.line("D-041 suggested filters give hits", func(t *testing.T, d door) {
			for _, arguments := range []map[string]any{
				{"query": "refresh token", "scope": "api"}, {"query": "Written for python", "language": "go", "scope": "guide"}, {"query": "widget", "language": "go", "scope": "guide"},
			} {
				hint := d.search(arguments).Hint
				if hint == nil || len(hint.SuggestedFilters) == 0 {
					t.Errorf("%v: hint %+v, want suggestions", arguments, hint)
					continue
				}
				for key, values := range hint.SuggestedFilters {
					for _, value := range values {
						if len(d.search(map[string]any{"query": arguments["query"], key: value}).Hits) == 0 {
							t.Errorf("%v: suggested %s=%s gives nothing", arguments, key, value)
						}
					}
				}
			}
		})
		d.line("D-042 filters hold", func(t *testing.T, d door) {
			for key, values := range map[string][]string{"language": {"go", "python", "TypeScript"}, "scope": {"guide", "sdk", "api", "reference"}} {
				for _, value := range values {
					hits := slices.Concat(d.pageThrough(map[string]any{"query": "page error widget the", key: value})...)
					if len(hits) == 0 {
						t.Errorf("%s=%s: no hits", key, value)
					}
					for _, h := range hits {
						if h.Metadata[key] != value {
							t.Errorf("%s=%s: hit %s has %v", key, value, h.ChunkID, h.Metadata)
						}
					}
				}
			}
		})
		d.line("D-043 filters are joined by and", func(t *testing.T, d door) {
			hits := d.search(map[string]any{"query": "pages", "language": "go", "scope": "sdk"}).Hits
			if len(hits) == 0 {
				t.Error("no hits")
			}
			for _, h := range hits {
				if h.Metadata["language"] != "go" || h.Metadata["scope"] != "sdk" {
					t.Errorf("hit %s has %v", h.ChunkID, h.Metadata)
				}
			}
			if r := d.search(map[string]any{"query": "pages", "language": "go", "scope": "guide"}); len(r.Hits) != 0 {
				t.Errorf("language go and scope guide: %q, want none", ids(r.Hits))
			}
		})
		d.line("D-045 blank query", func(t *testing.T, d door) {
			for _, query := range []string{"", "   ", "\t\n", "\u00a0"} {
				d.refused("search_docs", encoded(t, map[string]any{"query": query}), "query", "non-empty")
			}
			stated(t, "troubleshooting/tool-errors.md", "`query` is missing, blank")
		})
		d.line("D-046 hostile queries", func(t *testing.T, d door) {
			for _, query := range []string{
				`+-*"\(){}[]^~:/`, `"`, `""`, `"""`, `*`, `~`, `title:retries AND (`, `/[/`, "\x00", "a\x00b", "%s%n%d", "../../etc/passwd", "'; DROP TABLE pages; --",
				"\u202e\u2028", "💥💥💥", "ﷺ", "e" + strings.Repeat("\u0301", 1000), strings.Repeat("a", 100<<10), strings.Repeat("widget ", 15_000),
				strings.Repeat(`"`, 100<<10), strings.Repeat(`"a b" `, 10_000), strings.Repeat("本", 30_000),
			} {
				a := d.call("search_docs", encoded(t, map[string]any{"query": query}))
				if a.IsError && (a.text() == "" || strings.Contains(a.text(), "internal error")) {
					t.Errorf("query %.40q: %q", query, a.text())
				}
				if len(a.text()) > 64<<10 {
					t.Errorf("query %.40q: an answer of %d bytes", query, len(a.text()))
				}
			}
			d.succeed("search_docs", `{"query":"widget"}`)
		})
	})
}

func TestSearchIsDeterministic(t *testing.T) {
	t.Run("D-044 same bytes after a restart", func(t *testing.T) {
		corpus := acme(t, endpoints(40))
		index := indexed(t, corpus)
		first, second, rebuilt := byPipe(t, index), byPipe(t, index), byPipe(t, indexed(t, corpus))
		for _, query := range []string{"widget", "error", "the", "pagination cursors", "setup 2", "endpoint 7 request", "jiter"} {
			arguments := encoded(t, map[string]any{"query": query, "limit": 50})
			want := first.succeed("search_docs", arguments)
			for name, d := range map[string]door{"the same process": first, "another process": second, "another build": rebuilt} {
				if got := d.succeed("search_docs", arguments); got != want {
					t.Errorf("query %q, %s:\n%s\nwant\n%s", query, name, got, want)
				}
			}
		}
	})
}

// object reads a JSON object.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return fields
}

// with is a copy of m with one more entry.
func with(m map[string]any, key string, value any) map[string]any {
	m = maps.Clone(m)
	m[key] = value
	return m
}
