package artifact

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestChromemServesWhatTheScanDoes(t *testing.T) {
	docs := embedded(corpus(20), 100)
	// Far more equal chunks than the answer has room for.
	for i := range docs[:10] {
		for j := range docs[i].Vectors {
			docs[i].Vectors[j] = docs[12].Vectors[0]
		}
	}
	dir := t.TempDir()
	buildWith(t, dir, docs, testModel)
	scan, oracle := reopen(t, dir), reopen(t, dir)
	if err := oracle.UseChromem(); err != nil {
		t.Fatal(err)
	}
	all := allVectors(docs)
	rng := rand.New(rand.NewPCG(3, 4))
	for name, keep := range map[string]func(int) bool{"all": nil, "a third": func(c int) bool { return c%3 == 1 }, "nothing": func(int) bool { return false }} {
		for range 20 {
			q := question(rng, all[rng.IntN(len(all))])
			want, spread, err := scan.Nearest(q, 10, keep)
			got, spread2, err2 := oracle.Nearest(q, 10, keep)
			if err != nil || err2 != nil || !slices.Equal(got, want) || spread != spread2 {
				t.Fatalf("%s: chromem gives %v, %+v, %v; the scan %v, %+v, %v", name, got, spread2, err2, want, spread, err)
			}
		}
	}
}

func TestChromemOfAnIndexWithoutVectors(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, corpus(1))
	if err := reopen(t, dir).UseChromem(); err != nil {
		t.Errorf("UseChromem = %v", err)
	}
}
