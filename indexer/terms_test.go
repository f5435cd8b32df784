package indexer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer/artifact"
)

func pagesOf(titles []string, headings [][]string) (pages []artifact.Page, all []artifact.ChunkName) {
	for i, title := range titles {
		pages = append(pages, artifact.Page{Title: title, Chunks: len(headings[i])})
		for _, h := range headings[i] {
			all = append(all, artifact.ChunkName{Heading: h})
		}
	}
	return pages, all
}

func TestTermsAreWhatTheCorpusCallsItsThings(t *testing.T) {
	var titles []string
	var headings [][]string
	for i := range 30 {
		titles = append(titles, fmt.Sprintf("Topic %d", i))
		h := []string{"See also", "Parameters"} // a template
		if i%3 == 0 {
			h = append(h, fmt.Sprintf("Configure the tide gauge: case%d", i), fmt.Sprintf("Tide Gauges and you, part %d", i))
		}
		headings = append(headings, h)
	}
	got := corpusTerms(pagesOf(titles, headings))
	if len(got) == 0 || !strings.EqualFold(got[0], "tide gauge") && !strings.EqualFold(got[0], "tide gauges") {
		t.Errorf("corpusTerms = %q, want the tide gauge first", got)
	}
	for _, word := range []string{"Parameters", "also", "Configure"} {
		if slices.Contains(got, word) {
			t.Errorf("corpusTerms = %q, which has %q of every documentation", got, word)
		}
	}
}

func TestTermsAreFewEnoughForADescription(t *testing.T) {
	var titles []string
	var headings [][]string
	for i := range 400 {
		titles = append(titles, fmt.Sprintf("Zorb%d", i))
		headings = append(headings, []string{fmt.Sprintf("zorb%d_%s", i/4, strings.Repeat("x", i%30)), fmt.Sprintf("Kelp%d", i/4)})
	}
	pages, all := pagesOf(titles, headings)
	got := corpusTerms(pages, all)
	if n := len(strings.Join(got, ", ")); len(got) < enoughTerms || len(got) > maxTerms || n > maxTermsBytes {
		t.Errorf("%d terms in %d bytes, want %d to %d in at most %d", len(got), n, enoughTerms, maxTerms, maxTermsBytes)
	}
	if again := corpusTerms(pages, all); !slices.Equal(got, again) {
		t.Errorf("corpusTerms = %q and then %q", got, again)
	}
}

func putFile(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A build that copies groups from the index before it has the same terms.
func TestTermsAreThoseOfABuildFromNothing(t *testing.T) {
	dir := t.TempDir()
	for i := range 6 {
		putFile(t, dir, fmt.Sprintf("page%d.md", i), fmt.Sprintf("# Tide gauge %d\n\ntext\n\n## Harbour log\n\nmore\n", i))
	}
	out := t.TempDir()
	terms := func(out string) []string {
		if _, err := Build(t.Context(), Options{Dir: dir, Out: out}); err != nil {
			t.Fatal(err)
		}
		r, err := artifact.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		return r.Metadata().Terms
	}
	first := terms(out)
	putFile(t, dir, "page9.md", "# Mooring\n\ntext\n")
	if again, whole := terms(out), terms(t.TempDir()); !slices.Equal(again, whole) || slices.Equal(first, again) {
		t.Errorf("after a change the terms are %q, from nothing %q, before %q", again, whole, first)
	}
}
