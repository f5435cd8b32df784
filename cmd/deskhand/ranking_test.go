package main

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/eval"
	"github.com/deskhand/deskhand/runtime/search"
)

// TestRanking measures what each part of the ranking adds, on the manual and on
// the sets that the file SETS names. With RANKING=FILE the tables are written to
// FILE, in place of those that it has, and a chart beside it; make eval and make
// ranking call it so.
func TestRanking(t *testing.T) {
	sets := []labelled{{"manual", "../../corpus", []string{"../../corpus/eval/manual.json"}}}
	if file := os.Getenv("SETS"); file != "" {
		sets = append(readSets(t, file), sets...)
	}
	var measured []measure
	for _, s := range sets {
		measured = append(measured, s.measure(t))
	}
	manual := measured[len(measured)-1]
	for _, system := range []string{"bluge", "words", "meaning"} {
		if gain := eval.Bootstrap(manual.differences(system)); gain == nil || gain.Low <= 0 {
			t.Errorf("on the manual both is better than %s by %v, want above 0", system, gain)
		}
	}
	if out := os.Getenv("RANKING"); out != "" {
		writeRanking(t, out, measured)
	}
}

// labelled is a set: the folder to index and the cases to ask.
type labelled struct {
	name, dir string
	cases     []string
}

// readSets reads lines of a name, a folder and files of cases, relative to the
// file.
func readSets(t *testing.T, file string) (sets []labelled) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) < 3 {
			t.Fatalf("%s: %q is not a name, a folder and a file of cases", file, lines.Text())
		}
		for i, path := range words[1:] {
			if !filepath.IsAbs(path) {
				words[i+1] = filepath.Join(filepath.Dir(file), path)
			}
		}
		sets = append(sets, labelled{words[0], words[1], words[2:]})
	}
	return sets
}

// systems are the columns. All rank the same chunks.
var systems = []string{"bluge", string(search.Words), string(search.Meaning), string(search.Both)}

// measure is what each system reaches on a set.
type measure struct {
	set     string
	reports []eval.Report // as systems
}

func (s labelled) measure(t *testing.T) measure {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "index")
	builtin, err := embed.Open(embed.Default)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := indexer.Build(t.Context(), indexer.Options{Dir: s.dir, Out: dir, Embedder: builtin}); err != nil {
		t.Fatalf("index %s: %v", s.name, err)
	}
	engine, err := search.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	cases, _, err := eval.Load(s.cases...)
	if err != nil {
		t.Fatal(err)
	}
	o := eval.Options{}
	for _, facet := range engine.Metadata().Taxonomy {
		o.Collapse = o.Collapse || facet.VectorCollapse
	}
	m := measure{set: s.name}
	for _, system := range systems {
		o.Name = system
		var asked eval.Engine = eval.Local{Engine: engine, By: search.By(system)}
		if system == "bluge" {
			asked = openBluge(t, dir, eval.Local{Engine: engine})
		}
		report, err := eval.Run(t.Context(), asked, cases, o)
		if err != nil {
			t.Fatal(err)
		}
		if report.Summary.Failed > 0 || report.Summary.FacetLeaks > 0 {
			t.Errorf("%s by %s: %d queries failed, %d hits passed a filter that they should not", s.name, system, report.Summary.Failed, report.Summary.FacetLeaks)
		}
		m.reports = append(m.reports, report)
	}
	return m
}

func (m measure) of(system search.By) eval.Report {
	return m.reports[slices.Index(systems, string(system))]
}

// differences are what both adds to another system, case by case.
func (m measure) differences(system string) []float64 {
	return eval.Differences(m.reports[slices.Index(systems, system)], m.of(search.Both))
}
