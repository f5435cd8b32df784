package search

import (
	"testing"

	"github.com/deskhand/deskhand/runtime/ranker"
)

func TestThePathOfAPageTellsItsKind(t *testing.T) {
	for path, want := range map[string][2]float32{
		"guides/backups.md":             {0, 0},
		"blog/2020-10-19-helm-5.md":     {1, 0},
		"en/ReleaseNotes/index.md":      {1, 0},
		"proposals/design/rollbacks.md": {1, 1},
		"CONTRIBUTING.md":               {0, 1},
		"newsletter/designs.md":         {0, 0},
	} {
		in := make([]float32, ranker.Count)
		kindInputs(in, path)
		if got := [2]float32{in[ranker.InNews], in[ranker.InMakers]}; got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
