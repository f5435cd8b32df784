package search

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/fault"
)

func TestOneKindOfEvidenceAloneRanks(t *testing.T) {
	e, err := embed.Open(embed.Default)
	if err != nil {
		t.Fatal(err)
	}
	engine := retries(t, e)
	const question = "try failed red requests once more"
	for by, want := range map[By][]string{
		Words:   {"a.md#retries/colours"},                   // "red" stands in it alone
		Meaning: {"a.md#_preamble", "a.md#retries/colours"}, // no word of the first
	} {
		if got := ask(t, engine, Query{Text: question, By: by}); !slices.Equal(got, want) {
			t.Errorf("by %s %q finds %q, want %q", by, question, got, want)
		}
	}
	if plain, both := ask(t, engine, Query{Text: question}), ask(t, engine, Query{Text: question, By: Both}); !slices.Equal(plain, both) {
		t.Errorf("both find %q, without By %q", both, plain)
	}
}

// widgets are n pages of two chunks that differ in length.
func widgets(n int) (files []file) {
	for i := range n {
		files = append(files, file{path: fmt.Sprintf("p%03d.md", i), text: fmt.Sprintf("# Widget %d\n\nNumber 7.\n\n## More\n\nA widget %s\n", i, strings.Repeat("and a number ", i%9))})
	}
	return files
}

// TestByWordsIsTheLexicalRanking asks for pages that reach past the pool.
func TestByWordsIsTheLexicalRanking(t *testing.T) {
	e := engine(t, nil, widgets(3*poolSize)...)
	ed, release, err := e.use()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	const question = "widget number 7"
	var terms []artifact.WeightedTerm
	for _, term := range new(artifact.Analyzer).Terms(question) {
		p, err := ed.reader.Postings(term.Text)
		if err != nil {
			t.Fatal(err)
		}
		if p.Chunks > 0 {
			terms = append(terms, artifact.WeightedTerm{Postings: p})
		}
	}
	scored, err := ed.reader.Lexical(terms, ed.reader.Len(), nil)
	if err != nil || len(scored) <= poolSize {
		t.Fatalf("Lexical(%q) = %d chunks, %v; want more than %d", question, len(scored), err, poolSize)
	}
	var want, got []string
	for _, s := range scored {
		c, err := ed.reader.Chunk(s.Chunk)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, c.ID)
	}
	for q := (Query{Text: question, By: Words, Limit: MaxLimit}); ; {
		page, err := e.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range page.Hits {
			got = append(got, h.ID)
		}
		if page.Next == "" {
			break
		}
		q.Cursor = &page.Next
	}
	if !slices.Equal(got, want) {
		t.Errorf("Search(%q) by words = %q\nwant %q", question, got, want)
	}
}

func TestByIsRefused(t *testing.T) {
	e := engine(t, nil, widgets(3)...)
	page, err := e.Search(t.Context(), Query{Text: "widget", Limit: 1})
	if err != nil || page.Next == "" {
		t.Fatalf("Search = %+v, %v; want a further page", page, err)
	}
	for name, c := range map[string]struct {
		query Query
		code  string
	}{
		"by chance":                  {Query{By: "chance"}, "invalid_argument"},
		"by meaning without any":     {Query{By: Meaning}, "no_vectors"},
		"with the cursor of another": {Query{By: Words, Cursor: &page.Next}, "invalid_argument"},
	} {
		c.query.Text = "widget"
		if _, err := e.Search(t.Context(), c.query); fault.Of(err) == nil || fault.Of(err).Code != c.code {
			t.Errorf("%s: Search(%+v) = %v, want fault %s", name, c.query, err, c.code)
		}
	}
}

func TestAScoreIsTheSumOfItsPartsByTheirWeights(t *testing.T) {
	e := embedded(t, flagPages)
	for _, text := range []string{"server address", "--listen", "`--retention` days", "server backups are encrypted"} {
		page, err := e.Search(t.Context(), Query{Text: text, Explain: true})
		if err != nil || len(page.Hits) == 0 {
			t.Fatalf("%q: %+v, %v", text, page, err)
		}
		for _, h := range page.Hits {
			why := h.Evidence
			if (why.Weights == nil) != (why.Learnt != nil) {
				t.Errorf("%q: the weights of %s are %v, and the ranker moved it by %v", text, h.ID, why.Weights, why.Learnt)
			}
			if why.Weights == nil {
				continue
			}
			sum := 0.0
			for name, share := range map[string]float64{"words": why.Words, "meaning": why.Meaning, "near": why.Near, "path": why.Path, "verbatim": why.Verbatim} {
				sum += why.Weights[name] * share
			}
			if math.Abs(min(1, sum)-h.Score) > 0.001 {
				t.Errorf("%q: %s has the score %v, its parts sum to %v: %+v", text, h.ID, h.Score, sum, why)
			}
		}
	}
}
