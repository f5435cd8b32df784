package train

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestEveryKindOfPairIsMade(t *testing.T) {
	filler := "The daemon keeps a journal of all that it did, and more. Another sentence follows the first one here. " +
		"A third sentence with enough words stands in the middle. The fourth sentence closes this rather long paragraph."
	var pages []*page
	for i := range 20 {
		src := fmt.Sprintf("---\ntitle: Daemon number %d\ndescription: What the daemon %d does when it is asked\n---\n%s\n\n"+
			"## Restart after a crash %d\n\n%s See [what it asks for](p%d.md#how-do-i-stop-it) when that is needed again.\n\n"+
			"## How do I stop it?\n\n%s\n\n## Examples\n\n%s %d\n\n- **Journal %d**: where the daemon writes what it did\n", i, i, filler, i, filler, (i+1)%20, filler, filler, i, i)
		pages = append(pages, parse(fmt.Sprintf("p%d.md", i), []byte(src)))
	}
	counts := [kinds]int{}
	for n := range pages {
		for _, p := range pagePairs(1, n, pages, indexLinks(pages)) {
			counts[p.kind]++
			if p.query == "" || len(p.document) < 25 {
				t.Errorf("pair %+v says nothing", p)
			}
			if p.kind == innerRest && strings.Contains(p.document, p.query) {
				t.Errorf("the sentence %q is still in its document", p.query)
			}
		}
	}
	for k, n := range counts {
		if n == 0 && kind(k) != translatedLine {
			t.Errorf("no pair of kind %s", kindNames[k])
		}
	}
	if counts[question] != 20 {
		t.Errorf("%d questions, want 20", counts[question])
	}
}

func TestCleanedDropsRepetitions(t *testing.T) {
	long := strings.Repeat("a long enough document ", 3)
	all := []rough{{query: "same", document: long}, {query: "Same", document: long}, {query: "abc", document: long}, {query: "short", document: "x"}}
	for i := range 30 {
		all = append(all, rough{query: "often", document: fmt.Sprint(i, long)})
	}
	got := cleaned(all)
	if len(got) != 1+maxSameQuery {
		t.Errorf("cleaned = %d pairs, want %d", len(got), 1+maxSameQuery)
	}
}

func TestQuestionsAreRecognised(t *testing.T) {
	for heading, want := range map[string]bool{
		"How do I stop it?": true, "Why?": true, "How to stop": true, "Can I use it twice?": true,
		"Stop it": false, "However it goes?": false, "What is new": false,
	} {
		if got := asks(heading); got != want {
			t.Errorf("asks(%q) = %v, want %v", heading, got, want)
		}
	}
}

func TestBatchesDealEveryPairOnce(t *testing.T) {
	tr := &trainer{Options: Options{Dirs: []string{"a", "b"}, Seed: 3}}
	for i := range 3000 {
		tr.pairs = append(tr.pairs, pair{source: int32(i / 2000), page: int32(i / 7)})
		tr.texts = append(tr.texts, encoded{query: []uint16{1}, document: make([]uint16, 5)})
	}
	for epoch := range 2 {
		seen := map[int32]bool{}
		batches := tr.batches(epoch)
		for _, b := range batches {
			if len(b) > batchPairs {
				t.Errorf("a batch of %d pairs, want at most %d", len(b), batchPairs)
			}
			for _, p := range b {
				if seen[p] {
					t.Fatalf("epoch %d deals pair %d twice", epoch, p)
				}
				seen[p] = true
			}
		}
		if len(seen) < 3000-minBatch {
			t.Errorf("epoch %d deals %d pairs of 3000", epoch, len(seen))
		}
		if again := tr.batches(epoch); !slices.EqualFunc(batches, again, slices.Equal) {
			t.Errorf("epoch %d is dealt differently the second time", epoch)
		}
	}
}
