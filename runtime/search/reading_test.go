package search

import (
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/deskhand/deskhand/indexer/embed"
)

// A question that is asked again is answered from readings, with the same hits.
func TestAReadingIsUsedAgain(t *testing.T) {
	e := embedded(t, flagPages)
	q := Query{Text: "how many days are backups held until they are removed", Explain: true}
	first, err := e.Search(t.Context(), q)
	if err != nil || len(first.Hits) == 0 || first.Hits[0].Evidence.Learnt == nil {
		t.Fatalf("%+v, %v; want hits by the ranker", first, err)
	}
	again, err := e.Search(t.Context(), q)
	if err != nil || !reflect.DeepEqual(first, again) {
		t.Errorf("asked again: %+v, %v; want %+v", again, err, first)
	}
}

// The cache holds no more than its bound, keeps what was used last, and never gives the
// reading of another text, or of another model.
func TestReadingsAreBounded(t *testing.T) {
	text := func(i int) *reading {
		return &reading{name: [3][]byte{fmt.Append(nil, "heading ", i)}, packed: []byte("text"), tokens: make([]uint16, 100)}
	}
	c := readingCache{most: 10 * text(10).size()}
	var workers sync.WaitGroup
	for n := range 4 {
		workers.Go(func() {
			for i := range 100 {
				c.put(text(n*100 + i))
				c.get(nil, text(0).name, text(0).packed)
			}
		})
	}
	workers.Wait()
	kept := text(7)
	for i := range 100 {
		if i == 0 {
			c.put(kept)
		}
		if c.get(nil, kept.name, kept.packed) != kept {
			t.Fatalf("the reading that is used is lost after %d others", i)
		}
		c.put(text(1000 + i))
	}
	sum := 0
	for e := c.used.Front(); e != nil; e = e.Next() {
		sum += e.Value.(*reading).size()
	}
	if c.bytes != sum || sum > c.most || c.used.Len() != len(c.by) {
		t.Errorf("%d readings of %d bytes, counted as %d and %d; at most %d", c.used.Len(), sum, len(c.by), c.bytes, c.most)
	}
	if c.get(nil, kept.name, []byte("another text")) != nil || c.get(&embed.Static{}, kept.name, kept.packed) != nil {
		t.Error("the reading of another text or model is returned")
	}
	if c.put(&reading{tokens: make([]uint16, maxReading)}); c.bytes != sum {
		t.Error("a very large reading is kept")
	}
}
