package indexer

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/chunker"
)

func TestFixWritesAManifestThatFits(t *testing.T) {
	dir := corpus(t, map[string]string{
		"many.md":          "# T\n" + strings.Repeat("### x\n", 6),
		"usual1.md":        "# T\n## a\n## b\n",
		"usual2.md":        "# T\n## a\ntext\n## b\n### c\n### d\n",
		"[odd] {name}*.md": "# a\n# b\n",
		"plain.md":         "text\n## only one\n",
		"z/.docs-mcp.json": `{"version":"1"}`,
		"z/own.md":         "# a\n# b\n# c\n",
		"fenced.md":        "# T\n```md\n## a\n## b\n```\n~~~\n## c\n~~~\n",
		"skip.template.md": "## a\n## b\n",
		"front.md":         "---\n# comment\n# comment\ntitle: T\n---\n## a\n## b\n",
	})
	file, wrote, err := Fix(t.Context(), dir)
	if err != nil || !wrote || file != filepath.Join(dir, ".docs-mcp.json") {
		t.Fatalf("Fix = %q, %v, %v; want a manifest written", file, wrote, err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "version": "1",
  "strategy": {
    "chunk_by": "h2"
  },
  "overrides": [
    {
      "pattern": "\\[odd\\] \\{name\\}\\*.md",
      "strategy": {
        "chunk_by": "h1"
      }
    },
    {
      "pattern": "fenced.md",
      "strategy": {
        "chunk_by": "file"
      }
    },
    {
      "pattern": "many.md",
      "strategy": {
        "chunk_by": "h3"
      }
    },
    {
      "pattern": "plain.md",
      "strategy": {
        "chunk_by": "file"
      }
    }
  ]
}
`
	if string(got) != want {
		t.Errorf("manifest = %s\nwant %s", got, want)
	}
	m, problems := parseManifest(manifestFile, got)
	wantProblems(t, problems)
	for name, by := range map[string]chunker.By{"[odd] {name}*.md": chunker.H1, "many.md": chunker.H3, "usual1.md": chunker.H2} {
		if s := m.settings(name, chunker.Options{}); s.strategy.By != by {
			t.Errorf("settings(%q) = %+v, want %s", name, s, by)
		}
	}
}

func TestFixLeavesAManifestAlone(t *testing.T) {
	dir := corpus(t, map[string]string{"a.md": "# A", ".docs-mcp.json": "mine"})
	file, wrote, err := Fix(t.Context(), dir)
	if err != nil || wrote {
		t.Errorf("Fix = %q, %v, %v; want nothing written", file, wrote, err)
	}
	if got, _ := os.ReadFile(file); string(got) != "mine" {
		t.Errorf("manifest = %q, want it untouched", got)
	}
}

func TestFixTouchesNoOtherFile(t *testing.T) {
	dir := corpus(t, map[string]string{"a.md": "# A", ".docs-mcp.json.tmp": "mine"})
	if _, wrote, err := Fix(t.Context(), dir); err != nil || !wrote {
		t.Fatalf("Fix = %v, %v; want a manifest written", wrote, err)
	}
	files := contents(t, dir)
	wantPaths(t, "files", slices.Sorted(maps.Keys(files)), ".docs-mcp.json", ".docs-mcp.json.tmp", "a.md")
	if files[".docs-mcp.json.tmp"] != "mine" {
		t.Errorf(".docs-mcp.json.tmp = %q, want it untouched", files[".docs-mcp.json.tmp"])
	}
}

func TestFixLeavesNothingBehindWhenItFails(t *testing.T) {
	dir := corpus(t, map[string]string{"x/a.md": ""})
	if err := writeNew(filepath.Join(dir, "x"), []byte("{}")); err == nil {
		t.Fatal("writeNew over a folder = nil, want an error")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%s has %v, %v; want the folder alone", dir, entries, err)
	}
}

func TestFixEndsWithItsContext(t *testing.T) {
	dir := corpus(t, map[string]string{"a.md": "# A"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, wrote, err := Fix(ctx, dir)
	mustBe(t, err, context.Canceled)
	if wrote || len(contents(t, dir)) != 1 {
		t.Errorf("Fix wrote a manifest after its context ended")
	}
}

func TestFixNeedsPages(t *testing.T) {
	_, wrote, err := Fix(t.Context(), t.TempDir())
	wantFault(t, err, "no_documents", "no Markdown files under")
	_, missing, err := Fix(t.Context(), filepath.Join(t.TempDir(), "x"))
	wantFault(t, err, "no_documents", "no such folder")
	if wrote || missing {
		t.Error("Fix says it wrote a manifest")
	}
}

func TestSuggestBy(t *testing.T) {
	for name, test := range map[string]struct {
		src  string
		want chunker.By
	}{
		"six h3 and few h2":    {strings.Repeat("### x\n", 6) + strings.Repeat("## y\n", 3), chunker.H3},
		"six h3 and many h2":   {strings.Repeat("### x\n", 6) + strings.Repeat("## y\n", 4), chunker.H2},
		"five h3":              {strings.Repeat("### x\n", 5) + "## y\n", chunker.H3},
		"two h2":               {"# a\n# b\n## y\n## z\n", chunker.H2},
		"two h1":               {"# a\n# b\n## y\n", chunker.H1},
		"two h3":               {"# a\n### b\n### c\n", chunker.H3},
		"nothing":              {"text\n#hashtag\n####### seven\n    ## code\n", chunker.File},
		"setext":               {"One\n===\n\ntext\n\nTwo\n---\n\nThree\n-----\n", chunker.H2},
		"rules and tables":     {"- item\n---\n\n| a |\n|---|\n| b |\n---\n\n---\n", chunker.File},
		"longer fence":         {"````\n```\n## a\n## b\n````\n", chunker.File},
		"fence never closed":   {"```\n## a\n## b\n", chunker.File},
		"inline code no fence": {"``` a `\n## a\n## b\n", chunker.H2},
		"CRLF and mark":        {"\uFEFF## a\r\n## b\r\n", chunker.H2},
		"binary":               {"\x00\xff#\n", chunker.File},
	} {
		if got := suggestBy([]byte(test.src)); got != test.want {
			t.Errorf("%s: suggestBy(%q) = %s, want %s", name, test.src, got, test.want)
		}
	}
}
