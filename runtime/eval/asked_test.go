package eval

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAskedQueriesReplaceTheQuestionOfTheirReader(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cases.json")
	text := `[
		{"name": "a", "query": "tide", "asked": {"ann": "tide: gauge, level", "bo": "tides"}, "expected": [{"filepath": "a.md"}]},
		{"name": "b", "query": "knot", "expected": [{"filepath": "b.md"}]}]`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cases, warnings, err := Load(file)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if got := Readers(cases); !slices.Equal(got, []string{"ann", "bo"}) {
		t.Errorf("Readers = %q, want ann and bo", got)
	}
	asked := AskedBy(cases, "ann")
	if asked[0].Query != "tide: gauge, level" || asked[1].Query != "knot" || cases[0].Query != "tide" {
		t.Errorf("AskedBy(ann) asks %q and %q, and left %q; want the reader's, the case's own, and the cases as they were", asked[0].Query, asked[1].Query, cases[0].Query)
	}
}

func TestAskedQueriesAreNotBlank(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cases.json")
	if err := os.WriteFile(file, []byte(`[{"query": "tide", "asked": {"ann": " "}, "expected": [{"filepath": "a.md"}]}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(file); err == nil || !strings.Contains(err.Error(), "ann") {
		t.Errorf("Load of a blank asked query: %v, want an error that names the reader", err)
	}
}
