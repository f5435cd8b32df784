package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/tools/docs"
)

// looks gets a page as a browser does; token may be empty.
func looks(t *testing.T, s *socket, path, token string) (status int, body, location string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(s.url, "/mcp")+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return browsed(t, r, token)
}

// browsed is what a request of a browser comes to; token may be empty.
func browsed(t *testing.T, r *http.Request, token string) (status int, body, location string) {
	t.Helper()
	r.Header.Set("Accept", "text/html")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(all), response.Header.Get("Location")
}

func TestTheSearchPageIsWhereDocsAreServed(t *testing.T) {
	index := indexed(t, acme(t, nil))
	for name, c := range map[string]struct {
		flags  []string
		search int    // status of /search
		first  string // where / leads to; empty: it is a page
	}{
		"docs and questions": {[]string{"--index", index}, 200, ""},
		"docs alone":         {[]string{"--index", index, "--tools", "docs"}, 200, "/search"},
		"questions alone":    {[]string{"--tools", "ask"}, 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := overSocket(t, append(c.flags, "--state", t.TempDir())...)
			if status, body, _ := looks(t, s, "/search", bearer); status != c.search {
				t.Errorf("GET /search = %d %.300s, want %d", status, body, c.search)
			}
			if _, _, first := looks(t, s, "/", personKey); first != c.first {
				t.Errorf("GET / leads to %q, want %q", first, c.first)
			}
			if status, body, _ := looks(t, s, "/search", ""); status == 200 || strings.Contains(body, `role="search"`) {
				t.Errorf("GET /search without a token = %d, want no page", status)
			}
		})
	}
}

func TestTheSearchPageShowsWhatTheToolsAnswer(t *testing.T) {
	s := overSocket(t, "--index", indexed(t, acme(t, nil)), "--tools", "docs", "--state", t.TempDir())
	agent, err := mcpserver.Dial(t.Context(), mcpserver.Target{URL: s.url, Token: bearer})
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	answer, _, _, err := agent.Call(t.Context(), "search_docs", map[string]any{"query": "retry backoff"})
	var found docs.SearchResult
	if err := errors.Join(err, json.Unmarshal([]byte(answer), &found)); err != nil || len(found.Hits) == 0 {
		t.Fatalf("search_docs = %s, %v", answer, err)
	}
	status, body, _ := looks(t, s, "/search?q=retry+backoff", bearer)
	if status != http.StatusOK {
		t.Fatalf("GET /search?q= = %d %.300s", status, body)
	}
	first, last := found.Hits[0].ChunkID, -1
	for _, hit := range found.Hits {
		at := strings.Index(body, "read="+url.QueryEscape(hit.ChunkID))
		if at <= last {
			t.Errorf("the page has %s at %d, want it after %d: the order of search_docs", hit.ChunkID, at, last)
		}
		last = at
	}
	for _, phrase := range []string{"<meter", "<select", "&#34;query&#34;: &#34;retry backoff&#34;"} {
		if !strings.Contains(body, phrase) {
			t.Errorf("the page does not have %s", phrase)
		}
	}
	status, body, _ = looks(t, s, "/search?read="+url.QueryEscape(first), bearer)
	if status != http.StatusOK || !strings.Contains(body, `class="part target"`) {
		t.Errorf("reading %s = %d %.300s, want the section", first, status, body)
	}
}
