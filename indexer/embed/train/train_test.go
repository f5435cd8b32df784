package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/fault"
)

// synonyms are words of which the toy corpus uses the first in headings and
// the second below them, never the other way round.
var synonyms = [][2]string{{"remove", "delete"}, {"start", "launch"}, {"picture", "image"}, {"folder", "directory"},
	{"undo", "revert"}, {"show", "display"}, {"fast", "quick"}, {"begin", "commence"}, {"error", "failure"}, {"fix", "repair"},
	{"big", "large"}, {"buy", "purchase"}, {"car", "automobile"}, {"house", "building"}, {"talk", "speak"}, {"cold", "freezing"}}

// toy writes a corpus of pages in two sources.
func toy(t testing.TB) []string {
	t.Helper()
	root := t.TempDir()
	things := strings.Fields("widget gadget socket bracket lever pulley spring valve piston gasket flange rotor stator hinge latch bolt")
	r := randomOf(1)
	for source := range 2 {
		dir := filepath.Join(root, fmt.Sprint("source", source))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for page := range 20 {
			var b strings.Builder
			thing := things[page%len(things)]
			fmt.Fprintf(&b, "# The %s %d\n\n", thing, page)
			for range 8 {
				s := synonyms[r.below(len(synonyms))]
				other := things[r.below(len(things))]
				fmt.Fprintf(&b, "## %s the %s\n\nIt will %s a %s when the %s asks for it. Every %s that you %s stays with %s number %d. Nothing else happens to it %s then.\n\n",
					s[0], other, s[1], other, thing, other, s[1], other, r.below(90), s[1])
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("page%02d.md", page)), []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return []string{filepath.Join(root, "source0"), filepath.Join(root, "source1")}
}

func trained(t testing.TB, opts Options) *embed.Static {
	t.Helper()
	report, err := Train(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	m, err := embed.Parse(report.Model)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// learnt counts the synonyms whose partner is nearer than any other's.
func learnt(m *embed.Static) (n int) {
	for _, s := range synonyms {
		best, nearest := "", -1.0
		for _, other := range synonyms {
			if c := cosine(m.Embed(s[0]), m.Embed(other[1])); c > nearest {
				best, nearest = other[1], c
			}
		}
		if best == s[1] {
			n++
		}
	}
	return n
}

func cosine(a, b []float32) (s float64) {
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}

func TestSynonymsAreLearnt(t *testing.T) {
	m := trained(t, Options{Dirs: toy(t), Dimensions: 32, Epochs: 25, Rate: 0.03})
	if n := learnt(m); n < len(synonyms)-1 {
		t.Errorf("%d of %d words are nearest to their synonym", n, len(synonyms))
	}
}

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	opts := Options{Dirs: toy(t), Dimensions: 16, Epochs: 2}
	first, err := Train(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	for _, cores := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(cores)
		again, err := Train(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Model, again.Model) {
			t.Errorf("on %d cores the model has other bytes", cores)
		}
	}
	opts.Seed = 1
	if other, err := Train(t.Context(), opts); err != nil || bytes.Equal(first.Model, other.Model) {
		t.Errorf("another seed gives the same model, or %v", err)
	}
}

func TestAnAdaptedModelKnowsOldAndNewWords(t *testing.T) {
	base := trained(t, Options{Dirs: toy(t), Dimensions: 32, Epochs: 20, Rate: 0.02})
	dir := t.TempDir()
	for page := range 12 {
		var b strings.Builder
		fmt.Fprintf(&b, "# Frobnicator %d\n\n", page)
		for i := range 6 {
			fmt.Fprintf(&b, "## Remove the frobnicator %d\n\nIt will delete a frobnicator and its zorble when the lever asks for it. Nothing else happens to number %d then.\n\n", i, page)
			fmt.Fprintf(&b, "## Zorble of the house %d\n\nThe building has a zorble which quick people launch often. Every zorble of number %d stays there.\n\n", i, page)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("p%d.md", page)), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := trained(t, Options{Dirs: []string{dir}, From: base, Epochs: 2})
	for _, word := range []string{"remove", "delete", "frobnicator", "zorble"} {
		if m.Vocabulary().Row(word) < 0 {
			t.Errorf("the adapted model does not know %q", word)
		}
	}
	if m.Dimensions() != base.Dimensions() {
		t.Errorf("dimensions = %d, want those of the model to adapt, %d", m.Dimensions(), base.Dimensions())
	}
	if near, far := cosine(m.Embed("remove"), m.Embed("delete")), cosine(m.Embed("remove"), m.Embed("launch")); near < far {
		t.Errorf("remove is nearer to launch (%.2f) than to delete (%.2f)", far, near)
	}
}

func TestTrainWritesItsFile(t *testing.T) {
	out := filepath.Join(t.TempDir(), "my.model")
	steps := map[string]int{}
	report, err := Train(t.Context(), Options{Dirs: toy(t), Dimensions: 8, Epochs: 1, Out: out,
		Progress: func(phase string, done, total int) {
			if done < steps[phase] || done > total {
				t.Errorf("progress of %s: %d of %d after %d", phase, done, total, steps[phase])
			}
			steps[phase] = done
		}})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := embed.ReadFile(out); err != nil || m.Vocabulary().Len() != report.Rows {
		t.Errorf("ReadFile(out) = %v, %v; want %d rows", m, err, report.Rows)
	}
	if report.Pages != 40 || report.Sources != 2 || report.Pairs == 0 || report.Tokens == 0 || len(report.Phases) == 0 {
		t.Errorf("report = %+v, want 40 pages of 2 sources", report)
	}
	for _, phase := range []string{"read", "neighbours", "start", "learn"} {
		if steps[phase] == 0 {
			t.Errorf("no progress of %s", phase)
		}
	}
	_, err = Train(t.Context(), Options{Dirs: toy(t), Dimensions: 8, Epochs: 1, Out: filepath.Join(t.TempDir(), "no", "such")})
	if f := fault.Of(err); f == nil || f.Code != "cannot_write" {
		t.Errorf("Train into a missing folder = %v, want fault cannot_write", err)
	}
}

func TestTrainRefuses(t *testing.T) {
	for name, try := range map[string]struct {
		opts Options
		code string
	}{
		"an empty folder":  {Options{Dirs: []string{t.TempDir()}}, "no_training_text"},
		"no folder":        {Options{}, "no_training_text"},
		"a missing folder": {Options{Dirs: []string{filepath.Join(t.TempDir(), "none")}}, "bad_source"},
		"odd dimensions":   {Options{Dimensions: 100}, "bad_dimensions"},
		"no dimensions":    {Options{Dimensions: -8}, "bad_dimensions"},
		"negative epochs":  {Options{Epochs: -1}, "bad_settings"},
		"negative words":   {Options{Words: -1}, "bad_settings"},
		"a rate of NaN":    {Options{Rate: math.NaN()}, "bad_settings"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Train(t.Context(), try.opts)
			if f := fault.Of(err); f == nil || f.Code != try.code || f.Hint == "" {
				t.Errorf("Train = %v, want fault %s with a hint", err, try.code)
			}
		})
	}
}

func TestTrainEndsWithItsContext(t *testing.T) {
	for _, at := range []string{"read", "neighbours", "start", "learn"} {
		t.Run(at, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, err := Train(ctx, Options{Dirs: toy(t), Dimensions: 8, Progress: func(phase string, _, _ int) {
				if phase == at {
					cancel()
				}
			}})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Train = %v, want %v", err, context.Canceled)
			}
		})
	}
}

func TestRowsStayFinite(t *testing.T) {
	m := trained(t, Options{Dirs: toy(t), Dimensions: 8, Epochs: 3, Rate: 0.5})
	row := make([]float32, 8)
	for i := range m.Vocabulary().Len() {
		m.Row(i, row)
		if l := length(row); math.IsNaN(l) || math.IsInf(l, 0) {
			t.Fatalf("row of %q has the length %g", m.Vocabulary().Token(i), l)
		}
	}
}
