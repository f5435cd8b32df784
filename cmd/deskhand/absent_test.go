package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/eval"
	"github.com/deskhand/deskhand/runtime/search"
)

// TestAbsentAnswersAreSaidToBe asks the manual 60 questions that it does not
// answer, half of them about things near to it, and the 90 that it does.
func TestAbsentAnswersAreSaidToBe(t *testing.T) {
	engine := manualEngine(t)
	b, err := os.ReadFile("../../corpus/eval/absent.json")
	if err != nil {
		t.Fatal(err)
	}
	var absent []struct{ Name, Query string }
	if err := json.Unmarshal(b, &absent); err != nil {
		t.Fatal(err)
	}
	answered, _, err := eval.Load("../../corpus/eval/manual.json")
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for _, q := range absent {
		if saidAbsent(t, engine, search.Query{Text: q.Query}) {
			said++
		}
	}
	var wrong []string
	for _, c := range answered {
		if saidAbsent(t, engine, search.Query{Text: c.Query, Filters: c.Filters}) {
			wrong = append(wrong, c.Query)
		}
	}
	t.Logf("said of %d of %d questions without an answer, and of %d of %d with one", said, len(absent), len(wrong), len(answered))
	if len(absent) != 60 || said < 15 {
		t.Errorf("probably absent is said of %d of %d questions without an answer, want 15 of 60 or more", said, len(absent))
	}
	if 20*len(wrong) > len(answered) {
		t.Errorf("probably absent is said of %d of %d questions with an answer, want 5 %% at most: %q", len(wrong), len(answered), wrong)
	}
}

func saidAbsent(t *testing.T, engine *search.Engine, q search.Query) bool {
	t.Helper()
	page, err := engine.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return page.Hint != nil && strings.HasPrefix(page.Hint.Message, "Probably not in these docs")
}

// TestAdviceNamesTermsOfTheCorpusOnly: what a hint proposes stands in the docs.
func TestAdviceNamesTermsOfTheCorpusOnly(t *testing.T) {
	engine := manualEngine(t)
	for _, query := range []string{"price of the enterprise plan per seat", "make the computer forget old stuff"} {
		page, err := engine.Search(t.Context(), search.Query{Text: query})
		if err != nil {
			t.Fatal(err)
		}
		if page.Hint == nil {
			t.Errorf("%q: no hint with hits %+v", query, page.Hits[:1])
			continue
		}
		_, terms, found := strings.Cut(strings.TrimSuffix(page.Hint.Message, "."), "for example: ")
		if !found {
			t.Errorf("%q: hint %q names no terms", query, page.Hint.Message)
			continue
		}
		known := strings.Join(engine.Metadata().Terms, "\n")
		for _, h := range page.Hits {
			known += "\n" + h.Heading + "\n" + h.Title
		}
		for term := range strings.SplitSeq(terms, ", ") {
			if !strings.Contains(known, term) {
				t.Errorf("%q: the hint names %q, which is no term, title or heading of these docs", query, term)
			}
		}
	}
	if page, err := engine.Search(t.Context(), search.Query{Text: "DESKHAND_STATE"}); err != nil || page.Hint != nil {
		t.Errorf("a name that the docs have: hint %+v, %v", page.Hint, err)
	}
}
