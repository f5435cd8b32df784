package main

import (
	"slices"
	"testing"

	"github.com/deskhand/deskhand/runtime/eval"
)

// TestAskingWellFindsWhatTheQuestionAloneDoesNot holds queries as the description
// of search_docs asks for them, question and phrasings in one, to what was
// measured with them: they find much more, and names and errors lose nothing.
func TestAskingWellFindsWhatTheQuestionAloneDoesNot(t *testing.T) {
	local := eval.Local{Engine: manualEngine(t)}
	cases, _, err := eval.Load("../../corpus/eval/manual.json")
	if err != nil {
		t.Fatal(err)
	}
	readers := eval.Readers(cases)
	if len(readers) == 0 {
		t.Fatal("the cases of the manual have no asked queries")
	}
	raw, err := eval.Run(t.Context(), local, cases, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, reader := range readers {
		asked, err := eval.Run(t.Context(), local, eval.AskedBy(cases, reader), eval.Options{})
		if err != nil {
			t.Fatal(err)
		}
		of := func(r eval.Report, category string) float64 {
			i := slices.IndexFunc(r.Categories, func(c eval.Category) bool { return c.Name == category })
			return r.Categories[i].NDCG
		}
		if got := asked.Summary.NDCG; got < 0.80 {
			t.Errorf("asked by %s NDCG@5 is %.3f, want 0.80 or more; raw %.3f", reader, got, raw.Summary.NDCG)
		}
		if got := of(asked, "paraphrase"); got < 0.65 {
			t.Errorf("asked by %s paraphrases have %.3f, want 0.65 or more; raw %.3f", reader, got, of(raw, "paraphrase"))
		}
		// Names and errors together lose nothing. Alone each has so few cases that
		// one answer which falls from the first place to the fourth is 0.03.
		var got, was float64
		for _, category := range []string{"exact-name", "error"} {
			got, was = got+of(asked, category), was+of(raw, category)
			if got, was := of(asked, category), of(raw, category); got < was-0.03 {
				t.Errorf("asked by %s %s has %.3f, raw %.3f: a long query loses more than 0.03", reader, category, got, was)
			}
		}
		if got < was-0.005 {
			t.Errorf("asked by %s names and errors have %.3f, raw %.3f: a long query loses more than 0.005", reader, got/2, was/2)
		}
	}
}
