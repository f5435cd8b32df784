package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// edition is a page of the acme corpus with a word and a facet value that only
// this edition has.
func edition(n int) map[string]string {
	return map[string]string{
		"guides/edition.md": fmt.Sprintf("---\nmetadata: {edition: e%d}\n---\n# Edition %d\n\nThe marker of this edition is %s.\n", n, n, marker(n)),
	}
}

// marker is a word that no other edition's is a misspelling of.
func marker(n int) string { return "q" + strings.Repeat(string(rune('a'+n)), 8) }

// Servers pick up a replaced index while clients ask all the time, and no
// call is lost.
func TestServersSwitchToAReplacedIndex(t *testing.T) {
	t.Parallel()
	corpus := acme(t, edition(0))
	index := indexed(t, corpus)
	p := overPipe(t, "--index", index)
	s := overSocket(t, "--index", index)
	doors := []door{
		{t, "stdio", p.ask},
		{t, "http with session", s.withSession().ask},
		{t, "http without session", s.withoutSession().ask},
	}
	stop := make(chan struct{})
	var asking sync.WaitGroup
	calls := make([]int, len(doors))
	for i, d := range doors {
		asking.Go(func() {
			pace := time.NewTicker(5 * time.Millisecond)
			defer pace.Stop()
			for {
				select {
				case <-stop:
					return
				case <-pace.C:
				}
				if err := asksWell(d); err != nil {
					t.Errorf("%s, call %d: %v", d.name, calls[i], err)
					return
				}
				calls[i]++
			}
		})
	}
	const builds = 10
	for n := 1; n <= builds; n++ {
		write(t, corpus, edition(n))
		done(t, t.TempDir(), "index", corpus, "-o", index)
		for _, d := range doors {
			eventually(t, d.name, func() error {
				hits := d.search(map[string]any{"query": marker(n)}).Hits
				if len(hits) == 0 || hits[0].Filepath != "guides/edition.md" {
					return fmt.Errorf("edition %d is not served", n)
				}
				return nil
			})
		}
	}
	close(stop)
	asking.Wait()
	for i, d := range doors {
		t.Logf("%s: %d calls during %d builds", d.name, calls[i], builds)
		eventually(t, d.name, func() error { // the list follows the index at once, but not before it
			if got, want := d.tool("search_docs").schema(t).Properties["edition"].Enum, fmt.Sprintf("e%d", builds); len(got) != 1 || got[0] != want {
				return fmt.Errorf("enum of edition %q, want %q alone", got, want)
			}
			return nil
		})
	}
	eventually(t, "notification", func() error {
		// The client is told at most once for each build; changes that come
		// together are told together.
		if n := p.notices("notifications/tools/list_changed"); n == 0 || n > builds {
			return fmt.Errorf("%d notifications of %d changed lists of tools", n, builds)
		}
		return nil
	})
}

// asksWell makes calls that every edition answers alike.
func asksWell(d door) error {
	for params, want := range map[string]string{
		`{"name":"search_docs","arguments":{"query":"RateLimitError"}}`:                         "reference/errors.md#errors/ratelimiterror",
		`{"name":"get_doc","arguments":{"chunk_id":"guides/retries.md#retries/jitter"}}`:        "A random part of the wait",
		`{"name":"list_docs","arguments":{"folder":"guides"}}`:                                  "guides/edition.md",
		`{"name":"search_docs","arguments":{"query":"widget cursors","language":"TypeScript"}}`: "sdk/typescript/pagination.md",
		`{"name":"get_doc","arguments":{"chunk_id":"guides/edition.md#_preamble","context":1}}`: "The marker of this edition",
	} {
		m, err := d.ask("tools/call", params)
		if err != nil {
			return err
		}
		if m.Error != nil || !strings.Contains(string(m.Result), want) || strings.Contains(string(m.Result), `"isError":true`) {
			return fmt.Errorf("%s = %.300s %+v, want %q in it", params, m.Result, m.Error, want)
		}
	}
	return nil
}

func TestServeKeepsTheOldIndexWhenTheNewOneIsDamaged(t *testing.T) {
	t.Parallel()
	corpus := acme(t, edition(0))
	index := indexed(t, corpus)
	p := overPipe(t, "--index", index)
	d := door{t, "stdio", p.ask}
	if err := os.WriteFile(filepath.Join(index, "metadata.json.new"), []byte(`{"index":`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(index, "metadata.json.new"), filepath.Join(index, "metadata.json")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "log", func() error {
		if !strings.Contains(p.stderr.String(), "cannot reload the index") {
			return fmt.Errorf("stderr does not say that the index was not reloaded: %s", p.stderr)
		}
		return nil
	})
	if err := asksWell(d); err != nil {
		t.Errorf("with a damaged index in the folder: %v", err)
	}
	write(t, corpus, edition(1))
	done(t, t.TempDir(), "index", corpus, "-o", index)
	eventually(t, "reload", func() error {
		if len(d.search(map[string]any{"query": marker(1)}).Hits) == 0 {
			return fmt.Errorf("the mended index is not served")
		}
		return nil
	})
}

// What copies an index may write metadata.json before the data file, or be slow
// at it; the index serves as soon as it is whole.
func TestServeRetriesAnIndexThatBecomesWhole(t *testing.T) {
	t.Parallel()
	corpus := acme(t, edition(0))
	index := indexed(t, corpus)
	p := overPipe(t, "--index", index)
	d := door{t, "stdio", p.ask}
	write(t, corpus, edition(1))
	next := indexed(t, corpus)
	copied(t, filepath.Join(next, "metadata.json"), filepath.Join(index, "metadata.json"))
	eventually(t, "log", func() error {
		if !strings.Contains(p.stderr.String(), "cannot reload the index") {
			return fmt.Errorf("stderr does not say that the index was not reloaded: %s", p.stderr)
		}
		return nil
	})
	data, err := filepath.Glob(filepath.Join(next, "index-*.idx"))
	if err != nil || len(data) != 1 {
		t.Fatalf("data files %q, %v", data, err)
	}
	copied(t, data[0], filepath.Join(index, filepath.Base(data[0])))
	eventually(t, "reload", func() error {
		if len(d.search(map[string]any{"query": marker(1)}).Hits) == 0 {
			return fmt.Errorf("the index that became whole is not served")
		}
		return nil
	})
}

func copied(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestServeWatchSeesChanges(t *testing.T) {
	t.Parallel()
	corpus := acme(t, nil)
	index := filepath.Join(t.TempDir(), "index")
	p := overPipe(t, "--index", index, "--watch", corpus)
	d := door{t, "stdio", p.ask}
	seen := func(word string, want bool) {
		t.Helper()
		eventually(t, word, func() error {
			if got := len(d.search(map[string]any{"query": word}).Hits) > 0; got != want {
				return fmt.Errorf("a page with %s is found: %v, want %v", word, got, want)
			}
			return nil
		})
	}
	seen("jitter", true)
	write(t, corpus, map[string]string{"guides/fresh.md": "# Fresh\n\nThe first freshword.\n"})
	seen("freshword", true)
	write(t, corpus, map[string]string{"guides/fresh.md": "# Fresh\n\nThe second edit says changedword.\n"})
	seen("changedword", true)
	seen("freshword", false)
	write(t, corpus, map[string]string{"brand/new/folder/page.md": "# New\n\nIn a folder that was not there: folderword.\n"})
	seen("folderword", true)
	if err := os.Remove(filepath.Join(corpus, "guides", "fresh.md")); err != nil {
		t.Fatal(err)
	}
	seen("changedword", false)
}

// A server without docs starts, because hosts do not show why a server ended. It tells the
// model how to get docs, and serves an index or a shelf as soon as there is one.
func TestAServerWithoutDocsSaysHowToGetThem(t *testing.T) {
	for name, c := range map[string]struct {
		get   []string
		found string
	}{
		"an index": {[]string{"index", "docs"}, `"chunk_id":"a.md#help/retry"`},
		"a shelf":  {[]string{"add", "docs", "--name", "handbook", "--version", "1"}, `"chunk_id":"handbook@1:a.md#help/retry"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_DATA_HOME", t.TempDir())
			dir := t.TempDir()
			write(t, filepath.Join(dir, "docs"), map[string]string{"a.md": "# Help\n\n## Retry\n\nA retry waits 5 seconds.\n"})
			p := met(unmetIn(t, dir, "--tools", "docs"))
			search := func() string {
				m, err := p.ask("tools/call", `{"name":"search_docs","arguments":{"query":"how long does a retry wait"}}`)
				if err != nil {
					t.Fatal(err)
				}
				return string(m.Result)
			}
			if got := search(); !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "deskhand index DIR") || !strings.Contains(got, "deskhand add --deps") {
				t.Errorf("without docs, search_docs answers %s", got)
			}
			done(t, dir, c.get...)
			eventually(t, "the docs", func() error {
				if got := search(); !strings.Contains(got, c.found) {
					return fmt.Errorf("%s", got)
				}
				return nil
			})
		})
	}
}

// A shelf that is asked for by name is served as soon as it has a library, and the index in
// the default folder is not served instead.
func TestAnEmptyShelfIsNotTheDefaultIndex(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"docs/a.md": "# Help\n\nA retry waits 5 seconds.\n", "other/b.md": "# Book\n\nA retry waits 9 seconds.\n"})
	done(t, dir, "index", "docs")
	p := met(unmetIn(t, dir, "--tools", "docs", "--shelf", "books"))
	search := func() string {
		m, err := p.ask("tools/call", `{"name":"search_docs","arguments":{"query":"how long does a retry wait"}}`)
		if err != nil {
			t.Fatal(err)
		}
		return string(m.Result)
	}
	for range 2 { // with a look at the folders in between
		if got := search(); !strings.Contains(got, "books has no libraries") {
			t.Fatalf("search_docs answers %s", got)
		}
		done(t, dir, "list", "--shelf", "books")
	}
	done(t, dir, "add", "other", "--name", "book", "--version", "1", "--shelf", "books")
	eventually(t, "the library", func() error {
		if got := search(); !strings.Contains(got, "book@1:") {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
}
