package phrases

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/gaps"
	"github.com/deskhand/deskhand/runtime/search"
)

func TestAPlanHasWhatLacksPhrasesAndWhatChanged(t *testing.T) {
	index, engine := harbour(t, nil)
	f := opened(t, filepath.Join(t.TempDir(), "p.jsonl"))
	p := planned(t, f, index, engine)
	all := []string{"gear/knots.md#knots/bowline", "gear/pump.md#_preamble", "notes/README.md#_preamble", "tides.md#_preamble", "tides.md#tides/gauge", "v1/anchor.md#_preamble"}
	if got := todo(p); !slices.Equal(got, all) || p.Sections != len(all) {
		t.Fatalf("the plan has %q, want %q: one of two that are the same, and none without text", got, all)
	}
	for _, s := range p.Todo {
		if s.IDs[0] == all[5] && (len(s.IDs) != 2 || s.IDs[1] != "v2/anchor.md#_preamble") {
			t.Errorf("the anchor is %q", s.IDs)
		}
		f.set(line{s.IDs[0], []string{"a phrase"}, s.Digest})
	}
	f.set(line{"tides.md#tides/gauge", []string{"of a person"}, ""})
	f.set(line{"gone.md#x", []string{"stale"}, "00"})
	p = planned(t, f, index, engine)
	if got := todo(p); !slices.Equal(got, []string{all[5]}) || p.Written != 4 || p.Own != 1 || !slices.Equal(p.Stale, []string{"gone.md#x"}) {
		t.Errorf("the plan has %q, %d written, %d own, stale %q; want the anchor alone, whose second chunk has none", got, p.Written, p.Own, p.Stale)
	}
	// A page changes, and a person's line stays what it is.
	index, engine = harbour(t, map[string]string{"tides.md": strings.ReplaceAll(corpus["tides.md"], "water", "sea"), "v2/anchor.md": ""})
	if p = planned(t, f, index, engine); len(todo(p)) > 0 {
		t.Errorf("the plan has %q although only a person's section changed", todo(p))
	}
	index, engine = harbour(t, map[string]string{"gear/pump.md": "# Pump\n\nThe pump is gone; a bucket empties the hull now.\n", "v2/anchor.md": ""})
	if p = planned(t, f, index, engine); !slices.Equal(todo(p), []string{"gear/pump.md#_preamble"}) || p.Changed != 1 {
		t.Errorf("the plan has %q, %d changed; want the pump", todo(p), p.Changed)
	}
	if err := Prune(f, p); err != nil || strings.Contains(content(t, f.Path()), "gone.md") {
		t.Errorf("after Prune (%v) the file is %s", err, content(t, f.Path()))
	}
}

// Twelve sections begin with the same sentence, so that it leads to all of them;
// one begins with a sentence of its own.
func TestWhatItsOwnWordsFindComesFirst(t *testing.T) {
	pages := map[string]string{}
	for _, name := range strings.Fields("ash beech birch cedar elm fir hazel lime maple oak pine willow") {
		pages["trees/"+name+".md"] = "# Tree " + name + "\n\nThis page describes a tree in the park. It stands at gate " + name + ".\n"
	}
	pages["releases/spring.md"] = "# Spring\n\nThe harbour opens a new gate this year, with a light of its own and a bell.\n"
	for path, text := range pages {
		corpus[path] = text
		defer delete(corpus, path)
	}
	index, engine := harbour(t, nil)
	f := opened(t, filepath.Join(t.TempDir(), "p.jsonl"))
	p := planned(t, f, index, engine)
	if i := slices.IndexFunc(p.Todo, func(s Section) bool { return s.aside() == 1 }); i != len(p.Todo)-1 {
		t.Errorf("the first page aside is number %d of %d, want the release notes alone at the end", i, len(p.Todo))
	}
	first, last := p.Todo[0], p.Todo[len(p.Todo)-2]
	if first.Rank != 0 || !strings.HasPrefix(last.IDs[0], "trees/") || last.Rank < 5 {
		t.Errorf("first %s (rank %d), last %s (rank %d); want one whose first sentence finds it, and a tree", first.IDs[0], first.Rank, last.IDs[0], last.Rank)
	}
	again := planned(t, f, index, engine)
	for i := range p.Todo {
		if p.Todo[i].IDs[0] != again.Todo[i].IDs[0] {
			t.Fatalf("two plans differ at %d: %s and %s", i, p.Todo[i].IDs[0], again.Todo[i].IDs[0])
		}
	}
	asked, err := MakePlan(t.Context(), f, PlanOptions{Index: index, Engine: engine, Asked: map[string]int{last.IDs[0]: 3}})
	if err != nil || asked.Todo[0].IDs[0] != last.IDs[0] || asked.Todo[0].Asked != 3 {
		t.Errorf("first %+v, %v; want the section that was asked for", asked.Todo[0], err)
	}
	if n := len(p.Some(3).Todo); n != 3 {
		t.Errorf("Some(3) has %d", n)
	}
}

func TestQuestionsThatFoundLittleBecomePhrases(t *testing.T) {
	index, _ := harbour(t, nil)
	f := opened(t, filepath.Join(t.TempDir(), "p.jsonl"))
	f.set(line{"tides.md#tides/gauge", []string{"measuring stick"}, "00"})
	near := func(id string) *gaps.Section { return &gaps.Section{ChunkID: id} }
	r := gaps.Report{Gaps: []gaps.Gap{
		{Count: 5, Found: search.FoundUnsure, Nearest: near("tides.md#tides/gauge"), Questions: []gaps.Question{{Text: "how deep is it; depth, gauge"}, {Text: "level of the water"}, {Text: "measuring stick"}}},
		{Count: 2, Found: search.FoundAbsent, Nearest: near("gear/pump.md#_preamble"), Questions: []gaps.Question{{Text: "how do I bake bread"}}},
		{Count: 1, Found: search.FoundUnsure, Nearest: near("gear/pump.md#_preamble"), Questions: []gaps.Question{{Text: "bilge pump"}}},
	}}
	report, err := FromGaps(f, index, r)
	if err != nil || report.Todo != 2 || report.Written != 1 || report.Phrases != 1 || report.Refused != 2 || len(report.Failed) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if want := `{"chunk_id":"tides.md#tides/gauge","phrases":["measuring stick","how deep is it"]}` + "\n"; content(t, f.Path()) != want {
		t.Errorf("the file is %s, want %s", content(t, f.Path()), want)
	}
	if asked := Asked(r); asked["tides.md#tides/gauge"] != 5 || len(asked) != 2 {
		t.Errorf("Asked = %v", asked)
	}
}

func TestPhrasesAreChecked(t *testing.T) {
	s := &Section{Title: "Gauge", Breadcrumb: "Tides > Gauge", Heading: "Gauge", Text: "Gauge\n\nA float in a well shows the **level** of the water."}
	for phrase, want := range map[string]string{
		"how deep is the harbour today":        "",
		"水位はどこで見ますか":                           "",
		"A float in a well!":                   "copied",
		"the level of THE water":               "copied",
		"tides gauge":                          "copied",
		"see [here](x)":                        "markup",
		"run `deskhand`":                       "markup",
		"look at https://example.org now":      "markup",
		"# a heading of it":                    "markup",
		"- a list item there":                  "markup",
		"<b>bold</b> thing":                    "markup",
		"ok":                                   "fewer than",
		"":                                     "fewer than",
		strings.Repeat("word ", mostWords+1):   "longer than",
		strings.Repeat("w", mostRunes+1):       "longer than",
		"a bidi \u202etrick that hides itself": "control",
		"bytes \xff that are none":             "UTF-8",
	} {
		fit, why := checked([]string{phrase}, s, 4)
		if want == "" && len(fit) != 1 || want != "" && (len(fit) > 0 || !strings.Contains(strings.Join(why, ""), want)) {
			t.Errorf("%q: fit %q, why %q; want %q", phrase, fit, why, want)
		}
	}
	fit, why := checked([]string{"one  phrase\nof some", "One phrase of some.", "another phrase", "a third phrase"}, s, 2)
	if !slices.Equal(fit, []string{"one phrase of some", "another phrase"}) || len(why) != 2 {
		t.Errorf("fit %q, why %q; want two different ones", fit, why)
	}
}
