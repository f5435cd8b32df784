package embed

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/deskhand/deskhand/indexer/embed/model"
	"github.com/deskhand/deskhand/runtime/fault"
)

// small is a model whose row of token i has 1 in dimension i, 3/7 in the last
// but one, and 1/7 in the last, which is not used.
func small(t testing.TB, tokens ...string) *Static {
	t.Helper()
	const dimensions = 16
	vectors := make([]float32, len(tokens)*dimensions)
	for i := range tokens {
		vectors[i*dimensions+i] = 1
		vectors[i*dimensions+dimensions-2] += 3. / 7
		vectors[i*dimensions+dimensions-1] = 1. / 7
	}
	return parsed(t, encoded(t, vocabulary(t, tokens...), dimensions, vectors))
}

func encoded(t testing.TB, v *Vocabulary, dimensions int, vectors []float32) []byte {
	t.Helper()
	data, err := Encode(v, dimensions, vectors)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parsed(t testing.TB, data []byte) *Static {
	t.Helper()
	m, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Verify(); err != nil {
		t.Fatal(err)
	}
	return m
}

func cosine(a, b []float32) (s float64) {
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}

func TestAModelComesBackAsItWasWritten(t *testing.T) {
	tokens := []string{"alpha", "beta", "##gamma", "d"}
	vectors := make([]float32, 4*8)
	for i := range vectors {
		vectors[i] = float32(math.Sin(float64(i*i))) * float32(1+i/8)
	}
	clear(vectors[24:])
	data := encoded(t, vocabulary(t, tokens...), 8, vectors)
	m := parsed(t, data)
	if m.Dimensions() != 8 || m.Vocabulary().Len() != 4 {
		t.Fatalf("dimensions %d, rows %d; want 8 and 4", m.Dimensions(), m.Vocabulary().Len())
	}
	row := make([]float32, 8)
	for i, token := range tokens {
		if got := m.Vocabulary().Token(i); got != token {
			t.Errorf("Token(%d) = %q, want %q", i, got, token)
		}
		m.Row(i, row)
		for d, got := range row {
			if want := vectors[i*8+d]; math.Abs(float64(got-want)) > 0.15*float64(1+i) {
				t.Errorf("Row(%d)[%d] = %g, want %g", i, d, got, want)
			}
		}
	}
	if again := encoded(t, vocabulary(t, tokens...), 8, vectors); string(again) != string(data) {
		t.Error("the same model was written as other bytes")
	}
	vectors[0]++
	if other := parsed(t, encoded(t, vocabulary(t, tokens...), 8, vectors)); other.Name() == m.Name() {
		t.Errorf("two models are called %s", m.Name())
	}
}

func TestEncodeRefuses(t *testing.T) {
	v := vocabulary(t, "a")
	for name, try := range map[string]struct {
		dimensions int
		vectors    []float32
	}{
		"odd dimensions": {12, make([]float32, 12)},
		"none":           {0, nil},
		"too many":       {2048, make([]float32, 2048)},
		"too few rows":   {8, nil},
		"not a number":   {8, []float32{float32(math.NaN()), 0, 0, 0, 0, 0, 0, 0}},
		"infinite":       {8, []float32{0, float32(math.Inf(1)), 0, 0, 0, 0, 0, 0}},
	} {
		if _, err := Encode(v, try.dimensions, try.vectors); err == nil {
			t.Errorf("Encode(%s) = nil error", name)
		}
	}
}

func TestEmbedWeighsByLogarithmOfCount(t *testing.T) {
	m := small(t, "alpha", "beta")
	got := m.Embed("alpha beta Alpha, ALPHA unknown")
	a, b := 1+math.Log(3), 1.0
	end := 3. / 7 * (a + b)
	n := math.Sqrt(a*a + b*b + end*end)
	for i, want := range map[int]float64{0: a / n, 1: b / n, 2: 0, 14: end / n, 15: 0} {
		if math.Abs(float64(got[i])-want) > 0.01 {
			t.Errorf("Embed[%d] = %g, want %g", i, got[i], want)
		}
	}
	if l := cosine(got, got); math.Abs(l-1) > 1e-5 {
		t.Errorf("length of Embed = %g, want 1", l)
	}
}

func TestAnUnknownTextIsZero(t *testing.T) {
	m := small(t, "alpha")
	for _, text := range []string{"", "...", "zzz 123"} {
		if v := m.Embed(text); cosine(v, v) != 0 {
			t.Errorf("Embed(%q) = %v, want zeros", text, v)
		}
	}
}

func TestADocumentsHeadingsAndLeadCountOnceMore(t *testing.T) {
	m := small(t, "title", "crumb", "heading", "body")
	vectors, err := m.Documents(t.Context(), []Document{
		{"Title", "Crumb", "Heading", "body"},
		{Body: "body " + strings.Repeat("word ", 299) + "title"},
		{Body: strings.Repeat("x", 9000) + " title"},
	})
	if err != nil {
		t.Fatal(err)
	}
	whole, head, lead := m.Embed("title crumb heading body"), m.Embed("title crumb heading"), m.Embed("body")
	for i := range whole {
		whole[i] += head[i] + 0.5*lead[i]
	}
	normalise(whole)
	if c, near := cosine(vectors[0], whole), 2.2/7; math.Abs(c-near) > 1e-4 {
		t.Errorf("cosine of the document and its definition = %g, want %g for one word of body", c, near)
	}
	if c, near := cosine(vectors[1], m.Embed("body")), 301.2/306; math.Abs(c-near) > 1e-4 {
		t.Errorf("cosine of the first 300 words of a body = %g, want %g", c, near)
	}
	if cosine(vectors[2], vectors[2]) != 0 {
		t.Error("a body was read beyond 8 KiB")
	}
}

func TestALeadIsTheFirstProse(t *testing.T) {
	m := small(t, "alpha", "beta")
	vectors, err := m.Documents(t.Context(), []Document{
		{Body: "beta_x=beta()\nalpha"},                              // code is read, and is no lead
		{Body: strings.Repeat("word ", leadWords-1) + "alpha beta"}, // the lead ends between them
	})
	if err != nil {
		t.Fatal(err)
	}
	alpha, beta := m.Embed("alpha"), m.Embed("beta")
	for i, v := range vectors {
		if a, b := cosine(v, alpha), cosine(v, beta); a <= b {
			t.Errorf("document %d is near its lead by %g and near the rest by %g, want more for the lead", i, a, b)
		}
	}
}

func TestADocumentIsAsNearAsItHasWords(t *testing.T) {
	m := small(t, "alpha", "beta")
	var docs []Document
	for _, words := range []int{0, 1, 15, 100} {
		docs = append(docs, Document{Heading: "Alpha", Body: strings.Repeat("beta ", words)})
	}
	docs = append(docs, Document{Body: strings.Repeat("unknown ", 100)}, Document{})
	vectors, err := m.Documents(t.Context(), docs)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.2, 2.2 / 7, 16.2 / 21, 101.2 / 106} {
		v := vectors[i]
		last := float64(v[len(v)-1])
		if near := math.Sqrt(1 - last*last); math.Abs(near-want) > 1e-4 || math.Abs(cosine(v, v)-1) > 1e-5 {
			t.Errorf("document %d is near by %g and %g long, want %g and 1", i, near, math.Sqrt(cosine(v, v)), want)
		}
	}
	for i, v := range vectors[4:] {
		if cosine(v, v) != 0 {
			t.Errorf("document %d = %v, want zeros for one without a known word", 4+i, v)
		}
	}
}

func TestDocumentsEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := small(t, "a").Documents(ctx, make([]Document, 1)); err != context.Canceled {
		t.Errorf("Documents(cancelled) = %v, want %v", err, context.Canceled)
	}
}

func TestAModelServesManyAtOnce(t *testing.T) {
	m := small(t, "alpha", "beta", "gamma")
	want := m.Embed("alpha beta beta")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 200 {
				m.Embed("gamma gamma alpha")
				if c := cosine(m.Embed("alpha beta beta"), want); c < 0.99999 {
					t.Errorf("cosine with the first answer = %g, want 1", c)
					return
				}
			}
		})
	}
	wait.Wait()
}

func TestADamagedModelIsRefused(t *testing.T) {
	good := encoded(t, vocabulary(t, "alpha", "beta"), 8, make([]float32, 16))
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 0x10
		m, err := Parse(bad)
		if err == nil {
			err = m.Verify()
		}
		if f := fault.Of(err); f == nil || f.Code != "bad_model" || f.Hint == "" {
			t.Errorf("byte %d changed: %v, want fault bad_model with a hint", i, err)
		}
	}
	for _, n := range []int{0, 7, 63, 64, len(good) - 1} {
		if _, err := Parse(good[:n]); fault.Of(err) == nil {
			t.Errorf("Parse(first %d bytes) = %v, want a fault", n, err)
		}
	}
}

// What an index says of its embedder may come from anybody.
func TestIndexNamesNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "my.model")
	if err := os.WriteFile(path, model.Weights, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, "builtin", "none", "static:", "nobody:model"} {
		e, err := Reopen(name, nil)
		if e != nil {
			t.Errorf("Reopen(%q) = %s, want none", name, e.Name())
		}
		wantFault(t, "Reopen("+name+")", err, "other_model")
	}
}

func TestOpenNamesWhatItKnows(t *testing.T) {
	if e, err := Open("none"); e != nil || err != nil {
		t.Errorf("Open(none) = %v, %v; want nil, nil", e, err)
	}
	if _, err := Open("word2vec"); fault.Of(err) == nil || fault.Of(err).Code != "bad_embedder" {
		t.Errorf("Open(word2vec) = %v, want fault bad_embedder", err)
	}
	missing := filepath.Join(t.TempDir(), "my.model")
	if e, err := Open(missing); e != nil || fault.Of(err) == nil || fault.Of(err).Code != "no_model" {
		t.Errorf("Open(missing file) = %v, %v; want fault no_model", e, err)
	}
}
