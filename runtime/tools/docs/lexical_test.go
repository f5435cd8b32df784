package docs

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/search"
)

func TestReasonForWordsAloneIsNoPartOfTheAnswer(t *testing.T) {
	result := word(search.Page{Lexical: "far:model is down"})
	raw, err := json.Marshal(result)
	if err != nil || result.Lexical != "far:model is down" || strings.Contains(string(raw), "down") || strings.Contains(string(appendResult(nil, &result)), "down") {
		t.Errorf("word = %+v, as JSON %s, %v; want the reason beside the answer", result, raw, err)
	}
}
