package embed

import (
	"testing"

	"github.com/deskhand/deskhand/indexer/embed/model"
)

func builtin(t testing.TB) *Static {
	t.Helper()
	e, err := Open(Default)
	if err != nil {
		t.Fatalf("Open(%q) = %v", Default, err)
	}
	return e.(*Static)
}

func TestTheShippedModelIsWhole(t *testing.T) {
	m := builtin(t)
	if err := m.Verify(); err != nil {
		t.Errorf("Verify() = %v", err)
	}
	if n := len(model.Weights); n > 9e6 {
		t.Errorf("the model has %d bytes, want at most 9,000,000", n)
	}
}

func TestOpeningTheShippedModelCopiesNothing(t *testing.T) {
	got := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			builtin(b)
		}
	})
	if bytes := got.AllocedBytesPerOp(); bytes > 4096 {
		t.Errorf("Open(%q) allocates %d bytes, want its own few fields alone", Default, bytes)
	}
}

// Each question shares no content word with the sentence that answers it.
func TestTheShippedModelKnowsWhatWordsMean(t *testing.T) {
	m := builtin(t)
	sentences := map[string]string{
		"delete":  "Removes the files from disk for good.",
		"undo":    "Revert to the state before the last change.",
		"sign in": "Authenticate with your username and password.",
		"slow":    "Improve performance and reduce latency.",
		"crash":   "The process exits unexpectedly with a fatal error.",
	}
	for question, want := range map[string]string{
		"how do I erase everything I stored":          "delete",
		"go back to the earlier version":              "undo",
		"login":                                       "sign in",
		"it takes too long, make it faster":           "slow",
		"why does the application die in the morning": "crash",
	} {
		best, nearest := "", -1.0
		for name, sentence := range sentences {
			if c := cosine(m.Embed(question), m.Embed(sentence)); c > nearest {
				best, nearest = name, c
			}
		}
		if best != want {
			t.Errorf("%q is nearest to %q, want %q", question, sentences[best], sentences[want])
		}
	}
}
