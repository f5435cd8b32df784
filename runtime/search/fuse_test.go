package search

import (
	"math"
	"testing"
)

func TestWeightsSumToOne(t *testing.T) {
	for _, q := range []string{"how do retries work", "ECONNRESET", "--max-wait and parseURL()", ""} {
		for _, w := range []weights{weightsFor(q), weightsFor(q).withoutMeaning(), weightsFor(q).doubt(0.1, 1)} {
			if sum := w.words + w.meaning + w.near + w.path; math.Abs(sum-1) > 1e-9 || w.meaning < 0 {
				t.Errorf("weightsFor(%q) = %+v, sum %g", q, w, sum)
			}
		}
	}
}

func TestWordsThatSayLittleAreDoubted(t *testing.T) {
	const prose = "make it stop for a while"
	for _, c := range []struct {
		question     string
		found, ahead float64
		words        float64 // of what they weigh for the question
	}{
		{prose, 0.4, 1, 1},                              // enough of it was found
		{prose, 0.2, 0.25, 1},                           // nothing is near
		{prose, 0.2, 0.3, 0.25 / (1 - 0.48*0.75/2)},     // a quarter, of all weights brought to 1
		{prose, 0, 1, 0},                                // nothing but meaning, near and path
		{prose, 0.2, 0.275, 0.625 / (1 - 0.48*0.375/2)}, // near by half
		{"--max-wait does not stop", 0.2, 1, 1},         // to the letter
	} {
		w := weightsFor(c.question)
		if got := w.doubt(c.found, c.ahead).words; math.Abs(got-c.words*w.words) > 1e-9 {
			t.Errorf("weightsFor(%q).doubt(%g, %g).words = %g, want %g", c.question, c.found, c.ahead, got, c.words*w.words)
		}
	}
}

func TestNamesOfCodeLeanOnWords(t *testing.T) {
	for q, want := range map[string]float64{
		"how do I retry a request?":       0,
		"RateLimitError":                  1, // inner capital
		"what is max_wait":                1.0 / 3,
		"--verbose flag":                  0.5,
		"a well-known problem. Does that": 0, // hyphens and full stops are prose
		"error 404":                       0.5,
		"HTTP token":                      0.5,
		"os.ReadFile(path)":               1,
		"":                                0,
	} {
		if got := names(q); math.Abs(got-want) > 1e-9 {
			t.Errorf("names(%q) = %g, want %g", q, got, want)
		}
	}
}

func TestScaleSetsACosineAgainstTheCorpus(t *testing.T) {
	for _, c := range []struct{ cosine, mean, best, want float64 }{
		{0.7, 0.1, 0.7, 1}, {0.1, 0.1, 0.7, 0}, {-0.5, 0.1, 0.7, 0}, {0.4, 0.1, 0.7, 0.5}, {0.3, 0.3, 0.3, 0},
	} {
		if got := scale(c.cosine, c.mean, c.best); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("scale(%g, %g, %g) = %g, want %g", c.cosine, c.mean, c.best, got, c.want)
		}
	}
}

func TestApplyMendsWordsInPlace(t *testing.T) {
	for _, c := range []struct {
		mends []correction
		text  string
		want  string
	}{
		{nil, "as it is", "as it is"},
		{[]correction{{4, 9, "retry"}}, "how rettr works", "how retry works"},
		{[]correction{{0, 3, "one"}, {4, 7, "two"}}, "onn twp three", "one two three"},
		{[]correction{{0, 5, "max"}, {2, 5, "lost"}}, "maxxx it", "max it"}, // what overlaps is left out
	} {
		if got := apply(c.mends, c.text); got != c.want {
			t.Errorf("apply(%v, %q) = %q, want %q", c.mends, c.text, got, c.want)
		}
	}
}

func TestAGlobalGuidePassesALanguage(t *testing.T) {
	for _, c := range []struct {
		name    string
		filters map[string]string
		page    map[string]string
		want    bool
	}{
		{"its own value", map[string]string{"language": "go"}, map[string]string{"language": "go"}, true},
		{"another value", map[string]string{"language": "go"}, map[string]string{"language": "python"}, false},
		{"no value", map[string]string{"language": "go"}, map[string]string{}, false},
		{"a global guide", map[string]string{"language": "go"}, map[string]string{"scope": "global-guide"}, true},
		{"a global guide of another language", map[string]string{"language": "go"}, map[string]string{"scope": "global-guide", "language": "python"}, false},
		{"a global guide where a scope is asked for", map[string]string{"language": "go", "scope": "global-guide"}, map[string]string{"scope": "global-guide"}, false},
		{"another scope without a language", map[string]string{"language": "go"}, map[string]string{"scope": "sdk-specific"}, false},
		{"a further filter holds", map[string]string{"language": "go", "kind": "guide"}, map[string]string{"scope": "global-guide", "kind": "reference"}, false},
	} {
		if got := accepts(c.filters, c.page); got != c.want {
			t.Errorf("%s: accepts(%v, %v) = %v, want %v", c.name, c.filters, c.page, got, c.want)
		}
	}
}
