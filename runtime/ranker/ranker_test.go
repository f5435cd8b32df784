package ranker

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/goldentest"
)

func TestTheShippedRankerIsRead(t *testing.T) {
	m := Default()
	if len(names) != Count {
		t.Errorf("%d names for %d inputs", len(names), Count)
	}
	trained := m.Trained()
	if len(trained.Sets) < 2 {
		t.Fatalf("trained on %v, want several sets", trained.Sets)
	}
	for _, s := range trained.Sets {
		if s.Name == "" || s.Questions == 0 || len(s.Digest) != 64 {
			t.Errorf("set %+v has no name, questions or digest", s)
		}
	}
	again, err := m.Encode()
	if err != nil || !bytes.Equal(again, defaultJSON(t)) {
		t.Errorf("written again it is otherwise: %v", err)
	}
}

// The program contains the ranker in default.json, in another form.
func TestThePackedRankerGolden(t *testing.T) {
	m, err := Parse(defaultJSON(t))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := m.pack()
	if err != nil {
		t.Fatal(err)
	}
	goldentest.Compare(t, "default.bin", string(packed))
}

func TestAPackedRankerThatIsCutOffIsRefused(t *testing.T) {
	for _, n := range []int{0, 100, bytes.IndexByte(shipped, '\n') + 1, len(shipped) - 1} {
		if _, err := unpack(shipped[:n]); fault.Of(err) == nil || fault.Of(err).Code != "bad_ranker" {
			t.Errorf("unpack of %d of %d bytes: %v, want bad_ranker", n, len(shipped), err)
		}
	}
}

func BenchmarkShipped(b *testing.B) {
	text := defaultJSON(b)
	for name, read := range map[string]func() (*Model, error){
		"packed": func() (*Model, error) { return unpack(shipped) },
		"JSON":   func() (*Model, error) { return Parse(text) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func defaultJSON(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("default.json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// one is a model of a single net with one weight: input at counts by weight.
func one(t *testing.T, at int, weight float32) *Model {
	t.Helper()
	n := Net{Weights: make([][]float32, Width()), Bias: make([]float32, Hidden), Out: make([]float32, Hidden)}
	for i := range n.Weights {
		n.Weights[i] = make([]float32, Hidden)
	}
	n.Weights[at][0], n.Out[0] = weight, 1
	mean, scale := make([]float32, Width()), slices.Repeat([]float32{1}, Width())
	m, err := New(Trained{}, mean, scale, 10, []Net{n})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func candidate(sum float64, set map[int]float32) Candidate {
	c := Candidate{Sum: sum, Inputs: make([]float32, Count)}
	for at, x := range set {
		c.Inputs[at] = x
	}
	return c
}

func TestRankAddsWhatWasLearntToTheSum(t *testing.T) {
	pool := []Candidate{candidate(0.5, nil), candidate(0.4, map[int]float32{InRow: 0.5}), candidate(0.1, map[int]float32{InRow: 9})}
	got := one(t, InRow, 4).Rank(pool, true)
	for i, want := range []float64{5, 6, 17} { // 9 counts as 4 deviations
		if d := got[i].Score - want; d > 1e-5 || d < -1e-5 {
			t.Errorf("candidate %d has %g, want %g", i, got[i].Score, want)
		}
	}
	if part := got[1].Parts[Rows]; part != 2 || got[1].Parts[Words] != 0 {
		t.Errorf("the parts are %v, want 2 from rows and nothing else", got[1].Parts)
	}
	// What sets a candidate apart from the average of the pool is an input of its own.
	relative := one(t, Count+InRow, -1).Rank(pool[:2], false)
	if relative[0].Learnt != 0.25 || relative[1].Learnt != 0 || relative[0].Parts != nil {
		t.Errorf("against the average: %+v, want 0.25 for the candidate that is 0.25 below, and no parts", relative)
	}
}

func TestTheMoreWordsFindTheLessTheNetsCount(t *testing.T) {
	m := one(t, InRow, 4)
	for _, c := range []struct{ found, want float64 }{{0, 2}, {foundLittle, 2}, {(foundLittle + MostFound) / 2, 1}, {MostFound, 0}, {1, 0}} {
		pool := []Candidate{candidate(0.5, map[int]float32{InRow: 0.5, InFound: float32(c.found)})}
		got := m.Rank(pool, true)[0]
		if math.Abs(got.Learnt-c.want) > 1e-5 || math.Abs(got.Score-5-c.want) > 1e-5 || math.Abs(got.Parts[Rows]-c.want) > 1e-5 {
			t.Errorf("words find %g: %+v, want %g learnt", c.found, got, c.want)
		}
	}
}

func TestShareRisesFromNoneToOne(t *testing.T) {
	last := 0.0
	for _, x := range []float64{-40, 0, 8, 12, 40} {
		got := Share(x)
		if got <= last || got >= 1 {
			t.Errorf("Share(%g) = %g, want between %g and 1", x, got, last)
		}
		last = got
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	good, err := one(t, 0, 1).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(f *file){
		"format":         func(f *file) { f.Format = 1 },
		"other inputs":   func(f *file) { f.Inputs = f.Inputs[1:] },
		"means":          func(f *file) { f.Mean = f.Mean[1:] },
		"0 nets":         func(f *file) { f.Nets = nil },
		"base":           func(f *file) { f.Base = 0 },
		"rows of":        func(f *file) { f.Nets[0].Weights = f.Nets[0].Weights[1:] },
		"row 1 has":      func(f *file) { f.Nets[0].Weights[0] = nil },
		"hidden units;":  func(f *file) { f.Nets[0].Out = nil },
		"at most 102400": func(f *file) { f.Trained.Embedding = strings.Repeat("x", maxBytes) },
	} {
		var f file
		if err := json.Unmarshal(good, &f); err != nil {
			t.Fatal(err)
		}
		spoil(&f)
		data, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(data); fault.Of(err) == nil || fault.Of(err).Code != "bad_ranker" || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want bad_ranker that says so", name, err)
		}
	}
	if _, err := Parse([]byte("no json")); fault.Of(err) == nil || fault.Of(err).Code != "bad_ranker" {
		t.Errorf("no json: %v", err)
	}
}
