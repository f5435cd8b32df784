package shelf

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/formats"
)

// chunks are the sections of a library, by id, with their lines.
func chunks(t *testing.T, e Entry) map[string]artifact.Chunk {
	t.Helper()
	r, err := artifact.Open(e.Folder)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all := map[string]artifact.Chunk{}
	for i := range r.Len() {
		c, err := r.Chunk(i)
		if err != nil {
			t.Fatal(err)
		}
		all[c.ID] = c
	}
	return all
}

func TestLibrariesOfOtherFormats(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // without pandoc
	docs, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	write(t, docs, map[string]string{
		"a.md": "# Alpha\n", "guide.html": "<html><body><nav>Menu of the site</nav><main><h1>Guide</h1><p>Words of the guide here.</p></main></body></html>",
		"notes/b.txt": "Beta\n====\n\nWords\n\nSecond\n------\n\nMore words\n", "api.yaml": "openapi: 3.0.0\ninfo: {title: Pets}\npaths:\n  /a:\n    get: {summary: Find, responses: {}}\n",
		"x.rst": "X\n", "y.rst": "Y\n", "z.pdf": "%PDF", "config.json": "{}", "node_modules/p/readme.html": "<p>not ours</p>", ".gitignore": "draft.html\n", "draft.html": "<p>a draft</p>",
		"broken.ipynb": "{",
	})
	s := Shelf{filepath.Join(t.TempDir(), "shelf")}
	r := add(t, s, Options{Source: docs, Name: "lib"})
	if got := formats.LeftOut(r.LeftOut); got != "left out: 2 .rst (install pandoc), 1 .pdf" {
		t.Error(got)
	}
	if len(r.Problems) != 1 || r.Problems[0].File != "broken.ipynb" {
		t.Errorf("problems %v", r.Problems)
	}
	if r.Pages != 5 {
		t.Errorf("%d pages", r.Pages)
	}
	all := chunks(t, r.Entry)
	for id, want := range map[string][2]int{
		"guide.html#_preamble": {0, 0}, "notes/b.txt#beta/second": {6, 10}, "api.yaml/operations#operations-pets/get-a-find": {5, 5}, "a.md#_preamble": {1, 1},
	} {
		c, there := all[id]
		if !there || c.StartLine != want[0] || c.EndLine != want[1] {
			t.Errorf("%s: there %v, lines %d to %d, want %v", id, there, c.StartLine, c.EndLine, want)
		}
	}
	if again := add(t, s, Options{Source: docs, Name: "lib"}); !again.Unchanged {
		t.Error("the same docs give another index")
	}
	// The line of a section moves, and nothing else.
	write(t, docs, map[string]string{"api.yaml": "openapi: 3.0.0\n\ninfo: {title: Pets}\npaths:\n  /a:\n    get: {summary: Find, responses: {}}\n"})
	r, err := s.Update(t.Context(), r.Entry, Options{})
	if err != nil || r.Unchanged {
		t.Fatalf("%+v, %v", r, err)
	}
	if c := chunks(t, r.Entry)["api.yaml/operations#operations-pets/get-a-find"]; c.StartLine != 6 {
		t.Errorf("the section is said to be on line %d", c.StartLine)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("what stays in the folder for such files: %v, %v", left, err)
	}
}

func TestSitesAreUpdatedAndSynced(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	page := "<main><h1>One</h1>Words of a page that is on the web.</main>"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/sitemap.xml":
			_, _ = w.Write([]byte("<urlset><url><loc>/docs/one</loc></url></urlset>"))
		case "/docs/one":
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(page))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	s := Shelf{filepath.Join(t.TempDir(), "shelf")}
	r := add(t, s, Options{Source: "site:" + server.URL + "/docs/", Name: "site"})
	if _, there := chunks(t, r.Entry)["docs/one.html#_preamble"]; !there || r.Source != "site:"+server.URL+"/docs/" || r.Path != "." {
		t.Fatalf("%+v", r.Entry)
	}
	page = strings.ReplaceAll(page, "One", "Two")
	r, err := s.Update(t.Context(), r.Entry, Options{})
	if err != nil || r.Unchanged {
		t.Fatalf("%+v, %v", r, err)
	}
	if c := chunks(t, r.Entry)["docs/one.html#_preamble"]; c.Heading != "Two" {
		t.Errorf("the page is the old one: %+v", c)
	}
	synced, err := s.Sync(t.Context(), []Wanted{{Name: "site", Source: "site:" + server.URL + "/docs/"}}, nil, false, Options{})
	if err != nil || len(synced.Results) != 1 || !synced.Results[0].Unchanged {
		t.Errorf("%+v, %v", synced, err)
	}
}
