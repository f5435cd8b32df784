package docs

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/contract/contracttest"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/search"
)

// library opens the index of a folder of markdown.
func library(t testing.TB, o indexer.Options) *search.Engine {
	t.Helper()
	o.Out = filepath.Join(t.TempDir(), "index")
	report, err := indexer.Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Problems) > 0 {
		t.Fatalf("problems in the corpus: %v", report.Problems)
	}
	engine, err := search.Open(o.Out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine
}

func harbour(t testing.TB) *search.Engine {
	t.Helper()
	return library(t, indexer.Options{Dir: filepath.Join("testdata", "corpus")})
}

// tools are the tools over an engine by name.
type tools map[string]contract.Tool

func toolsOf(engine *search.Engine, o Options) tools {
	all := tools{}
	for _, one := range Tools(engine, o) {
		all[one.Name] = one
	}
	return all
}

// ask calls a tool. A refusal is its text; any other error ends the test.
func (all tools) ask(t testing.TB, name, arguments string) (text string, structured any, refused bool) {
	t.Helper()
	one, ok := all[name]
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	result, err := one.Call(t.Context(), contract.Caller{}, json.RawMessage(arguments))
	if f := fault.Of(err); f != nil {
		return strings.TrimSpace(f.Message + " " + f.Hint), nil, true
	}
	if err != nil || len(result.Text) != 1 {
		t.Fatalf("%s %.200s: %d blocks, %v; want one", name, arguments, len(result.Text), err)
	}
	return result.Text[0], result.Structured, false
}

// get reads a chunk or page that must be there.
func (all tools) get(t testing.TB, arguments map[string]any) (string, Doc) {
	t.Helper()
	text, structured, refused := all.ask(t, "get_doc", encode(t, arguments))
	doc, ok := structured.(Doc)
	if refused || !ok {
		t.Fatalf("get_doc %v: %.300s", arguments, text)
	}
	return text, doc
}

func encode(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestToolsAreAsClientsWantThem(t *testing.T) {
	engine := harbour(t)
	for _, o := range []Options{{}, {Prefix: "acme"}} {
		for _, one := range Tools(engine, o) {
			if err := contracttest.Check(one); err != nil {
				t.Error(err)
			}
			if !one.ReadOnly {
				t.Errorf("%s is not marked as read-only", one.Name)
			}
			if o.Prefix != "" && !strings.HasPrefix(one.Name, "acme_") {
				t.Errorf("%s has no prefix", one.Name)
			}
		}
	}
}

func TestTextsOfTheCorpusReplaceOurs(t *testing.T) {
	engine := library(t, indexer.Options{
		Dir: filepath.Join("testdata", "corpus"), SearchDescription: "Ask the harbour master.", GetDocDescription: "Open the book.",
	})
	all := toolsOf(engine, Options{})
	for name, want := range map[string]string{"search_docs": "Ask the harbour master.", "get_doc": "Open the book."} {
		if got := all[name].Description; got != want {
			t.Errorf("description of %s %q, want %q", name, got, want)
		}
	}
}

func TestCatalogHasPromptsResourcesAndInstructions(t *testing.T) {
	c, err := Catalog(harbour(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Instructions != "Look here before you answer from memory." {
		t.Errorf("instructions %q", c.Instructions)
	}
	if len(c.Prompts) != 1 || c.Prompts[0].Name != "brief" {
		t.Fatalf("prompts %+v, want brief alone", c.Prompts)
	}
	for want, args := range map[string]map[string]string{
		"Brief the pilot of Ann & <Co>.":                         {"ship": "Ann & <Co>"},
		"Brief the pilot of Ann, which draws 4 {{ship}} metres.": {"ship": "Ann", "draught": "4 {{ship}}"},
	} {
		messages, err := c.Prompts[0].Render(args)
		if err != nil || len(messages) != 1 || messages[0].Role != "user" || messages[0].Text != want {
			t.Errorf("prompt brief of %v = %+v, %v; want %q", args, messages, err, want)
		}
	}
	var got []string
	for _, r := range c.Resources {
		got = append(got, r.URI+" "+r.Title)
	}
	want := []string{"docs:///guides/pilotage.md Guides / Pilotage", "docs:///reference/signals.md Reference / Signals"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("resources %q, want %q", got, want)
	}
	text, err := c.Resources[0].Read(t.Context())
	if want := "# Pilotage\n\nA pilot boards two miles off.\n\n## Ladder\n\nRigged on the lee side, one metre above the water.\n"; err != nil || text != want {
		t.Errorf("resource %s = %q, %v; want %q", c.Resources[0].URI, text, err, want)
	}
}
