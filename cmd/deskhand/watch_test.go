package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestWatchTellsOfProblemsOnce(t *testing.T) {
	corpus := acme(t, nil)
	bad := map[string]string{}
	for i := range 14 {
		bad[fmt.Sprintf("bad-%02d.md", i)] = "---\ntitle: [\n---\nText.\n"
	}
	write(t, corpus, bad)
	p := overPipe(t, "--index", filepath.Join(t.TempDir(), "index"), "--watch", corpus)
	write(t, corpus, map[string]string{"guides/fresh.md": "# Fresh\n\nThe first freshword.\n"})
	d := door{t, "stdio", p.ask}
	eventually(t, "rebuild", func() error {
		if len(d.search(map[string]any{"query": "freshword"}).Hits) == 0 {
			return fmt.Errorf("the new page is not served")
		}
		return nil
	})
	log := p.stderr.String()
	if n := strings.Count(log, `msg="problem in the docs" problem="bad-0`); n != 10 {
		t.Errorf("%d problems logged, want the first 10 once: %s", n, log)
	}
	if !strings.Contains(log, "level=WARN") || !strings.Contains(log, "more=4") {
		t.Errorf("the log does not warn, or not of 4 more: %s", log)
	}
}

// Clients start the same server twice; both serve, whoever builds first.
func TestWatchWaitsForAnotherBuild(t *testing.T) {
	corpus := acme(t, endpoints(200))
	index := filepath.Join(t.TempDir(), "index")
	for i := range 3 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			byPipe(t, index, "--watch", corpus).succeed("search_docs", `{"query":"widget"}`)
		})
	}
}
