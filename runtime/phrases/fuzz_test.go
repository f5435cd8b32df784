package phrases

import (
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/deskhand/deskhand/indexer"
)

// Whatever a model answers, the file that is written can be read again.
func FuzzAnAnswerMakesAGoodFile(f *testing.F) {
	f.Add(`{"sections": [{"n": 1, "phrases": ["how deep is the water", "x"]}, {"n": 1, "phrases": []}]}`)
	f.Add("```json\n{\"phrases\": [\"a\\u0000b c d e f\", \"水位はどこで見ますか\"]}\n```")
	f.Add(`{"sections": [{"n": -1}, {"n": 9, "phrases": null}]}}`)
	s := &Section{IDs: []string{"tides.md#tides/gauge"}, Title: "Tides", Text: "A float in a well.", Digest: "00"}
	f.Fuzz(func(t *testing.T, answer string) {
		all, err := read(answer, 1)
		if err != nil {
			return
		}
		fit, _ := checked(all[0], s, MaxEach)
		file := &File{path: t.TempDir() + "/p.jsonl", lines: map[string]line{}, changed: map[string]*line{}}
		file.set(line{s.IDs[0], fit, s.Digest})
		if err := file.Save(true); err != nil {
			t.Fatal(err)
		}
		parsed, problems, err := indexer.ReadPhrases(file.path)
		if err != nil || len(problems) > 0 || !slices.Equal(parsed.Of[s.IDs[0]], fit) {
			t.Errorf("%q became %q, %v, %v", fit, parsed.Of[s.IDs[0]], problems, err)
		}
		for _, phrase := range fit {
			if !utf8.ValidString(phrase) || utf8.RuneCountInString(phrase) > mostRunes {
				t.Errorf("%q is fit", phrase)
			}
		}
	})
}
