package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/gaps"
	"github.com/deskhand/deskhand/runtime/mcpserver"
)

// A question that search_docs does not answer is recorded if the owner agreed,
// and reported until the docs answer it.
func TestGapsOfTheDocs(t *testing.T) {
	docs := acme(t, endpoints(60))
	index := indexed(t, docs)
	state := filepath.Join(t.TempDir(), "state")
	t.Setenv("DESKHAND_STATE", state)
	ask := func(queries ...string) {
		call := dialled(t, mcpserver.Target{Command: []string{"deskhand", "serve", "--index", index, "--tools", "docs"}})
		for _, q := range queries {
			params, _ := json.Marshal(map[string]any{"name": "search_docs", "arguments": map[string]any{"query": q}})
			if _, err := call("tools/call", string(params)); err != nil {
				t.Fatal(err)
			}
		}
	}
	missing := "grow tomatoes on a balcony"
	ask(missing)
	if _, err := os.Stat(filepath.Join(state, "search-log.jsonl")); !os.IsNotExist(err) {
		t.Fatalf("recorded though nobody agreed: %v", err)
	}
	t.Setenv("DESKHAND_SEARCH_LOG", "on")
	ask(missing, "Endpoint 12 widget number", missing)

	report := func() (r gaps.Report) {
		if err := json.Unmarshal([]byte(done(t, docs, "gaps", "--index", index, "--json")), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := report()
	if r.Asked != 2 || r.Distinct != 1 || len(r.Gaps) != 1 || r.Gaps[0].Count != 2 || r.Gaps[0].Questions[0].Text != missing {
		t.Fatalf("report %+v", r)
	}
	if out := done(t, docs, "gaps", "--index", index); !strings.Contains(out, missing+"  asked 2 times") || !strings.Contains(out, "draft:") {
		t.Errorf("gaps printed %s", out)
	}
	if out := done(t, docs, "eval", "--from-logs", "--index", index); !strings.Contains(out, "| found | 0 |") {
		t.Errorf("eval --from-logs printed %s", out)
	}

	write(t, docs, map[string]string{"garden.md": "# Grow tomatoes on a balcony\n\nTomatoes grow on a balcony in pots of 20 litres, in the sun.\n"})
	done(t, docs, "index", docs, "-o", index)
	if r = report(); r.Answered != 1 || len(r.Gaps) != 0 {
		t.Errorf("after the docs have an answer: %+v", r)
	}
	if out := done(t, docs, "eval", "--from-logs", "--index", index, "--format", "json"); !strings.Contains(out, `"answered": 1`) {
		t.Errorf("eval --from-logs printed %s", out)
	}
	if r := deskhand(t, docs, "eval", "cases.json", "--from-logs"); r.code != 2 {
		t.Errorf("cases beside --from-logs: exit %d", r.code)
	}
}
