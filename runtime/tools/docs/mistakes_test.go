package docs

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/contract/contracttest"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/goldentest"
)

// The specification has these descriptions word for word; the limits stand in
// the instructions instead.
var wordForWord = []string{
	"search_docs.limit minimum 1", "search_docs.limit maximum 50",
	"get_doc.context maximum 5",
}

func TestLimitsStandInWords(t *testing.T) {
	for _, tool := range Tools(harbour(t), Options{}) {
		for _, unsaid := range contracttest.Limits(tool) {
			if !slices.Contains(wordForWord, unsaid) {
				t.Errorf("the description does not say %s", unsaid)
			}
		}
	}
}

// Each typical mistake is understood, or refused in one line that names the
// field. The golden file has every call and what became of it.
func TestMistakesAreUnderstoodOrCorrected(t *testing.T) {
	right := map[string]string{
		"search_docs": `{"query":"anchors","limit":5}`,
		"get_doc":     `{"chunk_id":"guides/mooring.md","context":1}`,
		"list_docs":   `{"folder":"guides","after":"guides/mooring.md"}`,
	}
	also := map[string]string{"query": "q", "limit": "top_k", "chunk_id": "id", "context": "context_lines", "folder": "path", "after": "cursor"}
	var b strings.Builder
	for _, tool := range Tools(harbour(t), Options{}) {
		mistakes := contracttest.Mistakes(tool, right[tool.Name], also)
		b.WriteString(contracttest.TellMistakes(t, tool, mistakes, func(err error) bool { return fault.Of(err) == nil }))
	}
	goldentest.Compare(t, filepath.Join("testdata", "mistakes.golden"), b.String())
}
