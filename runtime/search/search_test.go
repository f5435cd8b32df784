package search

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/fault"
)

// file is one page of a test corpus.
type file struct {
	path, text string
	metadata   map[string]string
}

// index writes files as an artifact in dir.
func index(t testing.TB, dir string, taxonomy map[string]artifact.Facet, files ...file) {
	t.Helper()
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	var docs []artifact.Document
	for _, f := range files {
		docs = append(docs, cutPage(f))
	}
	w, err := artifact.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	g, err := artifact.Encode(docs)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(g); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(artifact.Metadata{CorpusDescription: "test docs", Taxonomy: taxonomy, Folders: map[string]string{"guides": "How to do things."}}); err != nil {
		t.Fatal(err)
	}
}

func cutPage(f file) artifact.Document {
	p := chunker.Split(f.path, []byte(f.text), chunker.Options{})
	return artifact.Document{
		Source: artifact.Source{Path: f.path, Size: int64(len(f.text)), Digest: sha256.Sum256([]byte(f.text))},
		Title:  p.Title, Description: p.Description, Metadata: f.metadata, Chunks: p.Chunks,
	}
}

func engine(t testing.TB, taxonomy map[string]artifact.Facet, files ...file) *Engine {
	t.Helper()
	dir := t.TempDir()
	index(t, dir, taxonomy, files...)
	e, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// ask returns the ids of the hits of one query.
func ask(t *testing.T, e *Engine, q Query) []string {
	t.Helper()
	page, err := e.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("Search(%+v) = %v", q, err)
	}
	var ids []string
	for _, h := range page.Hits {
		ids = append(ids, h.ID)
	}
	return ids
}

var languages = map[string]artifact.Facet{
	"language": {Values: []string{"go", "python"}, VectorCollapse: true},
	"scope":    {Values: []string{"guide", "sdk"}},
}

func sdk() []file {
	var files []file
	for _, lang := range []string{"go", "python"} {
		files = append(files,
			file{"sdk/" + lang + "/retries.md", "# Retries\n\nHow retries work.\n\n## Backoff\n\nThe client waits with jitter between attempts in " + lang + ".\n\n## Limits\n\nAt most five attempts.\n",
				map[string]string{"language": lang, "scope": "sdk"}},
			file{"sdk/" + lang + "/auth.md", "# Authentication\n\n## OAuth\n\nLog in with a browser. The scheduler calls `RateLimitError` when it is busy.\n",
				map[string]string{"language": lang, "scope": "sdk"}})
	}
	return append(files,
		file{"guides/start.md", "# Getting started\n\nTo be or not to be is the question. 本文はここです。\n\n## Install the `CMFCVisualManager::OnDraw` hook\n\nUse snake_case_name and the --dry-run flag. See error C2065.\n", map[string]string{"scope": "guide"}})
}

func TestQueriesFindTheirSection(t *testing.T) {
	e := engine(t, languages, sdk()...)
	for query, want := range map[string]string{
		"retries":                          "sdk/go/retries.md#_preamble",
		"Backoff":                          "sdk/go/retries.md#retries/backoff",
		"jiter between atempts":            "sdk/go/retries.md#retries/backoff",
		"RateLimitError":                   "sdk/go/auth.md#authentication/oauth",
		"rate limit error":                 "sdk/go/auth.md#authentication/oauth",
		"cmfcvisualmanager::ondraw":        "guides/start.md#getting-started/install-the-cmfcvisualmanagerondraw-hook",
		"visual manager draw":              "guides/start.md#getting-started/install-the-cmfcvisualmanagerondraw-hook",
		"snake_case_name":                  "guides/start.md#getting-started/install-the-cmfcvisualmanagerondraw-hook",
		"--dry-run":                        "guides/start.md#getting-started/install-the-cmfcvisualmanagerondraw-hook",
		"C2065":                            "guides/start.md#getting-started/install-the-cmfcvisualmanagerondraw-hook",
		"本文":                               "guides/start.md#_preamble",
		"本":                                "guides/start.md#_preamble",
		`"to be or not to be"`:             "guides/start.md#_preamble",
		"the":                              "guides/start.md#getting-started/install-the-cmfcvisualmanagerondraw-hook",
		"authentication":                   "sdk/go/auth.md#_preamble",
		`+-*"\(){}[]^~:/ retries`:          "sdk/go/retries.md#_preamble",
		strings.Repeat("retries ", 12_500): "sdk/go/retries.md#_preamble",
	} {
		if got := ask(t, e, Query{Text: query}); len(got) == 0 || got[0] != want {
			t.Errorf("Search(%.60q) = %v, want %s first", query, got, want)
		}
	}
}

func TestQuotedWordsStandTogether(t *testing.T) {
	e := engine(t, nil,
		file{"a.md", "# A\n\nthe state of the art\n", nil},
		file{"b.md", "# B\n\nthe art of the state\n", nil})
	if got := ask(t, e, Query{Text: `"state of the art"`}); len(got) != 1 || got[0] != "a.md#_preamble" {
		t.Errorf("phrase = %v, want a.md alone", got)
	}
	if got := ask(t, e, Query{Text: `"state of`}); len(got) != 2 {
		t.Errorf("an odd quote = %v, want both", got)
	}
}

// Quoted text that is nowhere is searched without its quotes, and the hint says so,
// on every page of the results. With hits for the quoted text, nothing else is found.
func TestQuotedWordsThatAreNowhere(t *testing.T) {
	e := engine(t, map[string]artifact.Facet{"kind": {Values: []string{"one", "two"}}},
		file{"a.md", "# A\n\nthe state of the art\n", map[string]string{"kind": "one"}},
		file{"b.md", "# B\n\nthe art of the state\n", map[string]string{"kind": "two"}})
	page, err := e.Search(t.Context(), Query{Text: `"state the" art`, Limit: 1})
	if err != nil || len(page.Hits) != 1 || page.Hint == nil || page.Hint.Found != FoundUnsure || !strings.Contains(page.Hint.Message, "quoted text") {
		t.Fatalf("words that do not stand together = %+v, %v; want a hit and a hint", page, err)
	}
	first := page.Hits[0].ID
	page, err = e.Search(t.Context(), Query{Text: `"state the" art`, Limit: 1, Cursor: &page.Next})
	if err != nil || len(page.Hits) != 1 || page.Hits[0].ID == first {
		t.Errorf("the second page = %+v, %v; want the other section", page, err)
	}
	if page, err = e.Search(t.Context(), Query{Text: `"state of the art"`, Filters: map[string]string{"kind": "two"}}); err != nil || len(page.Hits) != 1 || page.Hint == nil {
		t.Errorf("with a filter that the text does not meet = %+v, %v; want a hit and a hint", page, err)
	}
	if page, err = e.Search(t.Context(), Query{Text: `"zebra quagga okapi"`}); err != nil || len(page.Hits) != 0 || page.Hint == nil || page.Hint.Found != FoundNothing {
		t.Errorf("words that are nowhere = %+v, %v; want no hit", page, err)
	}
	if page, err = e.Search(t.Context(), Query{Text: `"state of the art"`}); err != nil || len(page.Hits) != 1 || page.Hint != nil {
		t.Errorf("quoted text that is there = %+v, %v; want one hit without a hint", page, err)
	}
}

func TestFiltersHold(t *testing.T) {
	e := engine(t, languages, sdk()...)
	for _, filters := range []map[string]string{{"language": "go"}, {"language": "python", "scope": "sdk"}, {"scope": "guide"}} {
		page, err := e.Search(t.Context(), Query{Text: "retries authentication start attempts", Filters: filters, Limit: 50})
		if err != nil || len(page.Hits) == 0 {
			t.Fatalf("%v: %d hits, %v", filters, len(page.Hits), err)
		}
		for _, h := range page.Hits {
			for k, v := range filters {
				if h.Metadata[k] != v {
					t.Errorf("%v: hit %s has %v", filters, h.ID, h.Metadata)
				}
			}
		}
	}
}

func TestVariantsCollapseUnlessFiltered(t *testing.T) {
	e := engine(t, languages, sdk()...)
	open := ask(t, e, Query{Text: "backoff jitter"})
	if n := len(slices.DeleteFunc(slices.Clone(open), func(id string) bool { return !strings.HasSuffix(id, "/backoff") })); n != 1 {
		t.Errorf("without a filter %v, want one of the two variants", open)
	}
	page, err := e.Search(t.Context(), Query{Text: "backoff jitter"})
	if err != nil || len(page.Hits) == 0 {
		t.Fatalf("%d hits, %v", len(page.Hits), err)
	}
	if first := page.Hits[0]; len(first.Variants["language"]) != 1 || first.Variants["language"][0] == first.Metadata["language"] {
		t.Errorf("the hit in %q names the variants %v, want the other language", first.Metadata["language"], first.Variants)
	}
	if got := ask(t, e, Query{Text: "backoff jitter", Filters: map[string]string{"language": "python"}}); len(got) == 0 || got[0] != "sdk/python/retries.md#retries/backoff" {
		t.Errorf("language python = %v", got)
	}
}

func TestHintNamesFiltersThatGiveResults(t *testing.T) {
	e := engine(t, languages, sdk()...)
	page, err := e.Search(t.Context(), Query{Text: "OAuth", Filters: map[string]string{"scope": "guide"}})
	if err != nil || len(page.Hits) != 0 || page.Hint == nil {
		t.Fatalf("Search = %+v, %v; want no hits and a hint", page, err)
	}
	if want := "0 results found for query 'OAuth' with filters scope='guide'."; page.Hint.Message != want {
		t.Errorf("hint %q, want %q", page.Hint.Message, want)
	}
	for k, values := range page.Hint.Suggested {
		for _, v := range values {
			if len(ask(t, e, Query{Text: "OAuth", Filters: map[string]string{k: v}})) == 0 {
				t.Errorf("suggested %s=%s gives nothing", k, v)
			}
		}
	}
	if len(page.Hint.Suggested) == 0 {
		t.Error("no suggestion")
	}
	page, err = e.Search(t.Context(), Query{Text: "zzqqxx"})
	if err != nil || page.Hint == nil || page.Hint.Message != "0 results found. No matches were found for this query in the indexed corpus." || page.Hint.Suggested == nil {
		t.Errorf("unknown word: %+v, %v", page.Hint, err)
	}
}

func TestPagesCoverEverythingOnce(t *testing.T) {
	var files []file
	for i := range 40 {
		files = append(files, file{fmt.Sprintf("p%02d.md", i), fmt.Sprintf("# Page %d\n\nalpha beta\n\n## More\n\nalpha %s\n", i, strings.Repeat("gamma ", i%5)), nil})
	}
	e := engine(t, nil, files...)
	large := ask(t, e, Query{Text: "alpha gamma", Limit: 50})
	for _, limit := range []int{1, 7, 10, 40} {
		var all []string
		q := Query{Text: "alpha gamma", Limit: limit}
		for {
			page, err := e.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for i, h := range page.Hits {
				all = append(all, h.ID)
				if i > 0 && h.Score > page.Hits[i-1].Score {
					t.Errorf("score rises from %v to %v", page.Hits[i-1].Score, h.Score)
				}
			}
			if page.Next == "" {
				break
			}
			q.Cursor = &page.Next
		}
		if slices.Sort(slices.Clone(all)); len(all) != 80 || len(slices.Compact(slices.Sorted(slices.Values(all)))) != 80 || !slices.Equal(all[:50], large) {
			t.Errorf("limit %d: %d hits, want all 80 once, the first 50 as in one large page", limit, len(all))
		}
	}
}

func TestCursorRefusals(t *testing.T) {
	e := engine(t, languages, sdk()...)
	page, err := e.Search(t.Context(), Query{Text: "the retries attempts", Limit: 1})
	if err != nil || page.Next == "" {
		t.Fatalf("no second page: %v", err)
	}
	good := page.Next
	payload, err := base64.RawURLEncoding.DecodeString(good)
	if err != nil {
		t.Fatalf("cursor %q is not base64url: %v", good, err)
	}
	edited := base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(payload), `"offset":1`, `"offset":2`, 1)))
	for name, c := range map[string]struct {
		cursor, text string
		filters      map[string]string
		want         string
	}{
		"garbage":        {"garbage", "the retries attempts", nil, "Invalid cursor: malformed JSON payload"},
		"empty":          {"", "the retries attempts", nil, "Invalid cursor: malformed JSON payload"},
		"cut short":      {good[:len(good)-3], "the retries attempts", nil, "Invalid cursor: malformed JSON payload"},
		"other JSON":     {base64.RawURLEncoding.EncodeToString([]byte(`{"a":1}`)), "the retries attempts", nil, "Invalid cursor: expected a search cursor payload"},
		"edited":         {edited, "the retries attempts", nil, "Invalid cursor: does not match current query or filters"},
		"another query":  {good, "the retries", nil, "Invalid cursor: does not match current query or filters"},
		"another filter": {good, "the retries attempts", map[string]string{"language": "go"}, "Invalid cursor: does not match current query or filters"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := e.Search(t.Context(), Query{Text: c.text, Filters: c.filters, Cursor: &c.cursor})
			if f := fault.Of(err); f == nil || f.Message != c.want || f.Hint == "" {
				t.Errorf("Search = %v, want fault %q", err, c.want)
			}
		})
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(cursor{Offset: 10, Limit: 10}.encode(question{text: "q", by: Both}), "q")
	f.Add(cursor{Offset: 10, Limit: 10, Lexical: true}.encode(question{text: "q", by: Both}), "q")
	f.Add("garbage", "q")
	f.Fuzz(func(t *testing.T, s, text string) {
		if c, err := parseCursor(s, question{text: text, by: Both}, 100); err == nil && c.encode(question{text: text, by: Both}) != s {
			t.Errorf("parseCursor(%q, %q) = %+v: not a cursor of ours", s, text, c)
		}
	})
}

func TestBadQueriesAreRefused(t *testing.T) {
	e := engine(t, languages, sdk()...)
	for want, q := range map[string]Query{
		"query must be a non-empty string":                                        {Text: " \n\t"},
		"limit must be between 1 and 50":                                          {Text: "x", Limit: 51},
		"Invalid taxonomy value for 'language': 'Go'. Allowed values: go, python": {Text: "x", Filters: map[string]string{"language": "Go"}},
		"Unexpected field 'planet'":                                               {Text: "x", Filters: map[string]string{"planet": "mars"}},
	} {
		if _, err := e.Search(t.Context(), q); fault.Of(err) == nil || fault.Of(err).Message != want {
			t.Errorf("Search(%+v) = %v, want fault %q", q, err, want)
		}
	}
}

func TestSnippetShowsTheEvidence(t *testing.T) {
	long := strings.Repeat("Filler text that says nothing of interest at all. ", 40)
	e := engine(t, nil, file{"a.md", "# Long page\n\n" + long + "Here the **needle** of `gold` lies. " + long, nil})
	page, err := e.Search(t.Context(), Query{Text: "needle gold"})
	if err != nil || len(page.Hits) != 1 {
		t.Fatal(err)
	}
	s := page.Hits[0].Snippet
	if !strings.Contains(s, "**needle** of **gold**") || !strings.HasPrefix(s, "...") || !strings.HasSuffix(s, "...") || len(s) > 300 || strings.Contains(s, "\n") {
		t.Errorf("snippet = %q", s)
	}
}

func TestPassage(t *testing.T) {
	e := engine(t, languages, sdk()...)
	for _, c := range []struct {
		id      string
		context int
		chunks  int
		target  int
		whole   bool
	}{
		{"sdk/go/retries.md#_preamble", 0, 1, 0, false},
		{"sdk/go/retries.md#_preamble", 5, 3, 0, false},
		{"sdk/go/retries.md#retries/backoff", 1, 3, 1, false},
		{"sdk/go/retries.md#retries/limits", 1, 2, 1, false},
		{"sdk/go/retries.md", 0, 3, 0, true},
	} {
		p, err := e.Passage(c.id, c.context)
		if err != nil || len(p.Chunks) != c.chunks || p.Target != c.target || p.Whole != c.whole {
			t.Errorf("Passage(%s, %d) = %d chunks, target %d, whole %v, %v; want %+v", c.id, c.context, len(p.Chunks), p.Target, p.Whole, err, c)
		}
	}
	for id, code := range map[string]string{
		"sdk/go/retries.md#nothing": "chunk_not_found", "nothing.md": "chunk_not_found", "sdk/go": "chunk_not_found",
		"": "invalid_argument", "#x": "invalid_argument", "a b#": "invalid_argument", "../x": "invalid_argument", "x#": "invalid_argument",
	} {
		if _, err := e.Passage(id, 0); fault.Of(err) == nil || fault.Of(err).Code != code {
			t.Errorf("Passage(%q) = %v, want fault %s", id, err, code)
		}
	}
}

func TestEveryHitCanBeRead(t *testing.T) {
	var files []file
	for _, name := range []string{"with space.md", "q\"uote's.md", "hash#tag.md", "percent%20.md", "日本/ページ.md", "new\nline.md", "a&b?c=d.md"} {
		files = append(files, file{name, "# Title\n\nneedle\n\n## Über `ñ`\n\nneedle\n\n## 中文\n\nneedle\n\n## 中文\n\nneedle\n", nil})
	}
	e := engine(t, nil, files...)
	ids := ask(t, e, Query{Text: "needle", Limit: 50})
	if len(ids) != 4*len(files) {
		t.Fatalf("%d hits, want %d", len(ids), 4*len(files))
	}
	for _, id := range ids {
		if p, err := e.Passage(id, 0); err != nil || p.Chunks[p.Target].ID != id {
			t.Errorf("Passage(%q) = %v", id, err)
		}
	}
}

func TestOutline(t *testing.T) {
	e := engine(t, languages, sdk()...)
	top, err := e.Outline("")
	if err != nil || top.Total != 5 || len(top.Pages) != 0 || len(top.Folders) != 2 || top.Folders[0] != (FolderEntry{"guides", "How to do things.", 1}) {
		t.Errorf("Outline of all = %+v, %v", top, err)
	}
	goDocs, err := e.Outline("/sdk/go/")
	if err != nil || len(goDocs.Pages) != 2 || goDocs.Pages[1].Title != "Retries" || goDocs.Pages[1].Sections != 3 {
		t.Errorf("Outline of sdk/go = %+v, %v", goDocs, err)
	}
	if _, err := e.Outline("../etc"); fault.Of(err) == nil {
		t.Errorf("Outline of a folder that is not there = %v", err)
	}
}

func TestReloadSwapsBelowRunningQueries(t *testing.T) {
	dir := t.TempDir()
	one := file{"a.md", "# One\n\nalpha\n", nil}
	two := file{"a.md", "# Two\n\nalpha beta\n", nil}
	index(t, dir, nil, one)
	e, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if changed, err := e.Reload(); changed || err != nil {
		t.Fatalf("Reload of the same = %v, %v", changed, err)
	}
	stop := make(chan struct{})
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if page, err := e.Search(context.Background(), Query{Text: "alpha"}); err != nil || len(page.Hits) != 1 {
					t.Errorf("Search while reloading = %+v, %v", page, err)
					return
				}
			}
		})
	}
	for i := range 20 {
		index(t, dir, nil, []file{two, one}[i%2])
		if changed, err := e.Reload(); !changed || err != nil {
			t.Errorf("Reload %d = %v, %v", i, changed, err)
		}
	}
	close(stop)
	users.Wait()
	if err := os.WriteFile(filepath.Join(dir, artifact.MetadataFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Reload(); err == nil {
		t.Error("Reload of a broken artifact = nil")
	}
	if got := ask(t, e, Query{Text: "alpha"}); len(got) != 1 {
		t.Errorf("after a failed reload %v, want the old artifact", got)
	}
}

func TestATruncatedFileIsAnErrorOfTheQuery(t *testing.T) {
	dir := t.TempDir()
	var files []file
	for i := range 50 {
		files = append(files, file{fmt.Sprintf("p%02d.md", i), "# P\n\n" + strings.Repeat(fmt.Sprintf("alpha beta%d ", i), 300), nil})
	}
	index(t, dir, nil, files...)
	e, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := os.Truncate(filepath.Join(dir, e.Metadata().Index.Path), 4096); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Search(t.Context(), Query{Text: "alpha"}); err == nil {
		t.Error("Search of a truncated file = nil, want an error")
	}
}

func BenchmarkSearch(b *testing.B) {
	var files []file
	for i := range 2000 {
		files = append(files, file{fmt.Sprintf("p%04d.md", i), fmt.Sprintf("# Page %d\n\nalpha beta%d\n\n## More\n\nThe gamma of %s\n", i, i%97, strings.Repeat(fmt.Sprintf("delta%d is the ", i%31), 30)), nil})
	}
	e := engine(b, nil, files...)
	for _, query := range []string{"beta7", "what is the gamma of delta5", "dleta5"} {
		b.Run(query, func(b *testing.B) {
			for b.Loop() {
				if _, err := e.Search(b.Context(), Query{Text: query}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestACursorBeyondTheCorpusIsRefused(t *testing.T) {
	e := engine(t, nil, sdk()...)
	for _, offset := range []int{100, 1 << 30, 1<<31 - 1} {
		far := cursor{Offset: offset, Limit: 10}.encode(question{text: "retries", by: Both})
		if _, err := e.Search(t.Context(), Query{Text: "retries", Cursor: &far}); fault.Of(err) == nil {
			t.Errorf("offset %d: %v, want a fault", offset, err)
		}
	}
}

func TestAPhraseOfCommonWordsReadsOnlyWhatHoldsThemAll(t *testing.T) {
	var files []file
	for i := range 400 {
		files = append(files, file{fmt.Sprintf("p%03d.md", i), "# P\n\nthe of the in other words to\n", nil})
	}
	files = append(files, file{"q.md", "# Q\n\n" + strings.Repeat("filler ", 500) + "of to the in\n", nil})
	e := engine(t, nil, files...)
	if got := ask(t, e, Query{Text: `"of to the in"`}); len(got) != 1 || got[0] != "q.md#_preamble" {
		t.Errorf("phrase = %v, want q.md alone", got)
	}
	page, err := e.Search(t.Context(), Query{Text: `"of filler"`})
	if err != nil || page.Hint == nil || !strings.Contains(page.Hint.Message, "quoted text") {
		t.Errorf("phrase that stands nowhere: hint %+v, %v; want that the text is nowhere", page.Hint, err)
	}
}

func TestVariantsMayNameTheirValueInHeadings(t *testing.T) {
	var files []file
	for _, lang := range []string{"go", "python"} {
		files = append(files, file{"sdk/" + lang + "/retries.md", "# Retries in " + lang + "\n\n## Backoff\n\njitter\n", map[string]string{"language": lang}})
	}
	e := engine(t, languages, files...)
	if got := ask(t, e, Query{Text: "jitter"}); len(got) != 1 {
		t.Errorf("Search = %v, want one of the two variants", got)
	}
}

func TestSnippetMarksWholeWords(t *testing.T) {
	e := engine(t, nil, file{"a.md", "# A\n\nSet `max_retry_budget` and $PSVersionTable. See the École and the dying.\n", nil})
	for query, want := range map[string]string{
		"retry": "**max_retry_budget**", "version": "**$PSVersionTable**", "ecole": "**École**", "dying": "**dying**",
	} {
		page, err := e.Search(t.Context(), Query{Text: query})
		if err != nil || len(page.Hits) != 1 || !strings.Contains(page.Hits[0].Snippet, want) {
			t.Errorf("Search(%s) = %+v, %v; want a snippet with %s", query, page.Hits, err, want)
		}
	}
}

func TestAfterFaultsTheRebuiltIndexServes(t *testing.T) {
	dir := t.TempDir()
	var files []file
	for i := range 50 {
		files = append(files, file{fmt.Sprintf("p%02d.md", i), "# P\n\n" + strings.Repeat(fmt.Sprintf("alpha beta%d ", i), 300), nil})
	}
	index(t, dir, nil, files...)
	e, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	// More faults than the engine has analyzers: none may be lost to one.
	for round := range cap(e.analyzers) + 1 {
		if err := os.Truncate(filepath.Join(dir, e.Metadata().Index.Path), 4096); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if _, err := e.Search(t.Context(), Query{Text: "alpha"}); fault.Of(err) == nil || fault.Of(err).Code != "artifact_damaged" {
				t.Errorf("Search of a truncated file = %v, want fault artifact_damaged", err)
			}
		}
		index(t, dir, nil, files...)
		if changed, err := e.Reload(); !changed || err != nil {
			t.Fatalf("Reload of the same corpus built again = %v, %v", changed, err)
		}
		soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		page, err := e.Search(soon, Query{Text: "alpha"})
		cancel()
		if err != nil || len(page.Hits) != 10 {
			t.Fatalf("Search after %d reloads = %d hits, %v; want 10", round+1, len(page.Hits), err)
		}
	}
}
