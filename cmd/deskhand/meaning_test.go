package main

import (
	"slices"
	"testing"

	"github.com/deskhand/deskhand/runtime/console/evals"
	"github.com/deskhand/deskhand/runtime/search"
)

// TestAQuestionWithoutAWordOfItsAnswerFindsIt asks the manual what its pages do
// not have one word of: nothing is found by words, and the answer by meaning.
func TestAQuestionWithoutAWordOfItsAnswerFindsIt(t *testing.T) {
	engine := manualEngine(t)
	for question, want := range map[string][]string{ // each of them is an answer
		evals.ByMeaning: {"concepts/how-search-works.md#how-search-works/words-and-meaning-together", "guides/choose-an-embedding.md#_preamble"},
		"purge":         {"reference/tools/delete_task.md#_preamble"},
	} {
		words, err := engine.Search(t.Context(), search.Query{Text: question, By: search.Words})
		if err != nil || len(words.Hits) > 0 {
			t.Errorf("by words %q finds %+v, %v; want nothing: ask something else", question, words.Hits, err)
		}
		page, err := engine.Search(t.Context(), search.Query{Text: question})
		if err != nil || len(page.Hits) == 0 || !slices.Contains(want, page.Hits[0].ID) {
			t.Errorf("%q finds %+v, %v; want one of %s first", question, page.Hits, err, want)
		}
	}
}
