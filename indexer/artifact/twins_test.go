package artifact

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Two versions of every page: the second has the vectors of the first, and lies
// in other groups.
func TestTwinsAreFoundAcrossGroups(t *testing.T) {
	docs := embedded(corpus(40), 64)
	for _, d := range docs[:len(docs):len(docs)] {
		d.Path = "z/" + d.Path
		docs = append(docs, d)
	}
	dir := t.TempDir()
	buildWith(t, dir, docs, testModel)
	r := reopen(t, dir)
	if len(r.groups) < 2 {
		t.Fatalf("the index has %d groups, want several", len(r.groups))
	}
	all := allVectors(docs)
	scanned := 0
	for _, run := range r.vectors().runs {
		scanned += len(run.scales) / 4
	}
	if scanned > len(all)/2 {
		t.Errorf("a scan reads %d of %d vectors, want half at most", scanned, len(all))
	}
	first := map[string]int{}
	for c, v := range all {
		key := string(rowOf(v))
		if before, ok := first[key]; ok {
			if after(r.vectors().next, before) != c {
				t.Fatalf("after(%d) = %d, want %d", before, after(r.vectors().next, before), c)
			}
		}
		first[key] = c
	}
	for _, c := range []int{0, 5, len(all) - 1} {
		q := make([]float32, 64)
		for d, x := range all[c] {
			q[d] = float32(x)
		}
		checkNearest(t, r, all, q, nil)
		checkNearest(t, r, all, q, func(c int) bool { return c >= len(all)/2 })
	}
}

func rowOf(v Vector) []byte {
	row := make([]byte, len(v))
	for i, x := range v {
		row[i] = byte(x)
	}
	return row
}

// A list with a right checksum may still have no end.
func TestTwinsWithoutOrderAreRefused(t *testing.T) {
	m, data, l := laidOut(t)
	type link struct{ of, is int }
	for name, links := range map[string][]link{
		"itself":          {{2, 2}},
		"back":            {{2, 1}},
		"two to one":      {{1, 4}, {2, 4}},
		"beyond the last": {{1, m.Stats.TotalChunks}},
	} {
		b := bytes.Clone(data)
		for _, n := range links {
			binary.LittleEndian.PutUint32(b[int(l.twins.offset)+4*n.of:], uint32(n.is))
		}
		r, err := Open(resealed(t, m, b))
		if err == nil {
			r.Close()
		}
		if f := fault.Of(err); f == nil || f.Code != "artifact_damaged" {
			t.Errorf("%s: Open = %v, want fault artifact_damaged", name, err)
		}
	}
}
