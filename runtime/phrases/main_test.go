package phrases

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/search"
)

// scripted is the argument with which this test binary is a coding agent.
const scripted = "phrases-agent"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == scripted {
		os.Exit(agentMain())
	}
	os.Exit(m.Run())
}

// agentMain does what a task says as a careless agent would: it answers for every
// section but one about pumps, and puts prose between its lines.
func agentMain() int {
	var out strings.Builder
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var s struct {
			ID string `json:"chunk_id"`
		}
		if json.Unmarshal(lines.Bytes(), &s) != nil || s.ID == "" {
			continue
		}
		if strings.Contains(s.ID, "broken") {
			fmt.Fprintln(os.Stderr, "the agent has no credit left")
			return 1
		}
		if strings.Contains(s.ID, "pump") {
			continue
		}
		fmt.Fprintf(&out, "Here is one:\n{\"chunk_id\": %q, \"phrases\": [\"what do I do about %s\", \"`code`\"]}\n", s.ID, filepath.Base(s.ID))
	}
	if os.WriteFile(answerFile, []byte(out.String()), 0o600) != nil {
		return 2
	}
	return 0
}

// corpus are pages of a harbour.
var corpus = map[string]string{
	"tides.md":        "# Tides\n\nThe sea rises and falls twice a day, which the moon does.\n\n## Gauge\n\nA float in a well shows the level of the water at any time.\n",
	"gear/knots.md":   "# Knots\n\n## Bowline\n\nA loop at the end of a rope that holds and never slips.\n\n## Empty\n\n-\n",
	"gear/pump.md":    "# Pump\n\nThe bilge pump empties the hull when water gets into it.\n",
	"v1/anchor.md":    "# Anchor\n\nA heavy iron thing that keeps a vessel from drifting away.\n",
	"v2/anchor.md":    "# Anchor\n\nA heavy iron thing that keeps a vessel from drifting away.\n",
	"metadata.json":   `{"corpus_description": "Harbour", "phrases": "phrases.jsonl"}`,
	"notes/README.md": "# Notes\n\nDates of the last inspections are in the book on the bridge.\n",
}

// harbour is an index of the corpus with changes, and a search in it. An empty text
// takes a page out.
func harbour(t *testing.T, changes map[string]string) (index string, engine *search.Engine) {
	t.Helper()
	dir := t.TempDir()
	for path, text := range corpus {
		if other, ok := changes[path]; ok {
			text = other
		}
		if text != "" {
			put(t, filepath.Join(dir, filepath.FromSlash(path)), text)
		}
	}
	model, err := embed.Open(embed.Default)
	if err != nil {
		t.Fatal(err)
	}
	index = filepath.Join(t.TempDir(), "index")
	if _, err := indexer.Build(t.Context(), indexer.Options{Dir: dir, Out: index, Embedder: model}); err != nil {
		t.Fatal(err)
	}
	if engine, err = search.Open(index); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return index, engine
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func opened(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func planned(t *testing.T, f *File, index string, engine *search.Engine) Plan {
	t.Helper()
	p, err := MakePlan(t.Context(), f, PlanOptions{Index: index, Engine: engine})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// todo are the chunks of a plan, sorted.
func todo(p Plan) (ids []string) {
	for _, s := range p.Todo {
		ids = append(ids, s.IDs[0])
	}
	slices.Sort(ids)
	return ids
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// wantFault checks code and parts of an error, and that it has a hint.
func wantFault(t *testing.T, err error, code string, parts ...string) {
	t.Helper()
	f := fault.Of(err)
	if f == nil || f.Code != code || f.Hint == "" {
		t.Fatalf("%v (%+v), want fault %s with a hint", err, f, code)
	}
	for _, part := range parts {
		if !strings.Contains(f.Message+" "+f.Hint, part) {
			t.Errorf("%q, hint %q; want %q in it", f.Message, f.Hint, part)
		}
	}
}
