package embed

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// wanted are so many texts, with vectors if filled.
func wanted(from, n int, filled bool) []*want {
	wants := make([]*want, n)
	for i := range wants {
		text := fmt.Sprint("text ", from+i)
		wants[i] = &want{key: keyOf("m", 0, text), text: text}
		if filled {
			wants[i].vector = doubleVector(text, 8)
		}
	}
	return wants
}

// found is how many of the texts a fresh reader of the cache finds, all right.
func found(t *testing.T, root string, from, n int) int {
	t.Helper()
	wants := wanted(from, n, false)
	newCache(root, "m").read(wants)
	has := 0
	for _, w := range wants {
		if w.vector == nil {
			continue
		}
		if has++; !slices.Equal(w.vector, doubleVector(w.text, 8)) {
			t.Errorf("the cache has %v for %s, want %v", w.vector, w.text, doubleVector(w.text, 8))
		}
	}
	return has
}

// segmentsOf are the paths of the segments in a cache.
func segmentsOf(t *testing.T, root string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(newCache(root, "m").dir, "*"+segmentSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestCacheKeepsVectors(t *testing.T) {
	root := t.TempDir()
	c := newCache(root, "m")
	c.write(wanted(0, 10, true))
	c.write(wanted(10, 10, true))
	if got := found(t, root, 0, 30); got != 20 {
		t.Errorf("found %d, want 20", got)
	}
	own := wanted(0, 30, false)
	c.read(own)
	if own[19].vector == nil || own[20].vector != nil {
		t.Error("the cache does not have what it wrote itself, or more")
	}
	other := []*want{{key: keyOf("m", 0, "text 1")}}
	newCache(root, "another").read(other)
	if other[0].vector != nil {
		t.Error("another model has the vectors of the first")
	}
	if keyOf("m", 0, "t") == keyOf("m", 1, "t") || keyOf("m", 0, "t") == keyOf("mt", 0, "") {
		t.Error("keys of different texts are equal")
	}
	if n := len(segmentsOf(t, root)); n != 1 {
		t.Errorf("%d segments, want 1", n)
	}
}

func TestCacheDropsWhatIsNotWhole(t *testing.T) {
	root := t.TempDir()
	newCache(root, "m").write(wanted(0, 4, true))
	path := segmentsOf(t, root)[0]
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	one := (len(whole) - len(segmentHead)) / 4
	flipped := bytes.Clone(whole)
	flipped[len(segmentHead)+one+40] ^= 1
	for name, c := range map[string]struct {
		content []byte
		want    int
	}{
		"a torn tail":      {whole[:len(whole)-1], 3},
		"a torn key":       {whole[:len(whole)-one+3], 3},
		"zeros at the end": {append(bytes.Clone(whole[:len(whole)-one]), make([]byte, one)...), 3},
		"a flipped bit":    {flipped, 3},
		"a torn head":      {whole[:5], 0},
		"another format":   {append([]byte("D"), whole[1:]...), 0},
		"nothing":          {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := found(t, root, 0, 4); got != c.want {
				t.Errorf("found %d, want %d", got, c.want)
			}
		})
	}
}

func TestCacheIsSharedByWriters(t *testing.T) {
	root := t.TempDir()
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			c := newCache(root, "m")
			for j := range 20 {
				c.write(wanted(i*20+j, 1, true))
				c.read(wanted(0, 160, false))
			}
		})
	}
	wait.Wait()
	if got := found(t, root, 0, 160); got != 160 {
		t.Errorf("found %d, want 160", got)
	}
}

func TestCacheMergesOldSegments(t *testing.T) {
	root := t.TempDir()
	for i := range mostSegments + 4 {
		newCache(root, "m").write(wanted(i, 2, true)) // each has one of the next
	}
	live := newCache(root, "m")
	live.write(wanted(100, 1, true))
	long := time.Now().Add(-time.Hour)
	for _, path := range segmentsOf(t, root) {
		if path != live.own {
			if err := os.Chtimes(path, long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	left := filepath.Join(live.dir, ".merge-killed")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(left, long, long); err != nil {
		t.Fatal(err)
	}
	if got := found(t, root, 0, mostSegments+5); got != mostSegments+5 {
		t.Errorf("the merging reader found %d, want %d", got, mostSegments+5)
	}
	if n := len(segmentsOf(t, root)); n != 2 {
		t.Errorf("%d segments after the merge, want 2", n)
	}
	if got := found(t, root, 0, 200); got != mostSegments+6 {
		t.Errorf("found %d after the merge, want %d", got, mostSegments+6)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what a killed merge left is still there")
	}
	// A writer whose segment was merged meanwhile goes on with a new one.
	if err := os.Remove(live.own); err != nil {
		t.Fatal(err)
	}
	live.write(wanted(200, 1, true))
	if found(t, root, 200, 1) != 1 || live.problem() != "" {
		t.Errorf("the vector after the merge is not there: %s", live.problem())
	}
}

func TestCacheThatCannotBeWrittenIsSaidOnce(t *testing.T) {
	root := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(root, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDouble(t)
	m := d.remote(t, root)
	if _, err := m.Documents(t.Context(), numbered(3)); err != nil {
		t.Fatal(err)
	}
	if problem := m.Usage().CacheProblem; !strings.Contains(problem, root) {
		t.Errorf("CacheProblem = %q, want the folder in it", problem)
	}
}

func TestBuildsDoNotPayTwice(t *testing.T) {
	d, cache := newDouble(t), t.TempDir()
	first := d.remote(t, cache)
	paid, err := first.Documents(t.Context(), numbered(100))
	if err != nil {
		t.Fatal(err)
	}
	again := d.remote(t, cache)
	kept, err := again.Documents(t.Context(), numbered(101))
	if err != nil || d.requests != 5 || again.Usage().Cached != 100 || again.Usage().Made != 1 {
		t.Fatalf("%v after %d requests, %+v; want one for the new text", err, d.requests, again.Usage())
	}
	for i, v := range paid {
		if !slices.Equal(v, kept[i]) {
			t.Fatalf("vector %d = %v from the cache, %v before", i, kept[i], v)
		}
	}
	// The model was replaced by one of other dimensions.
	d.script = repeated(9, says(200, oneVector))
	_, err = d.remote(t, cache).Documents(t.Context(), numbered(102)[:102])
	if err == nil {
		t.Fatal("vectors of 4 and 2 numbers were accepted")
	}
}

func TestEqualTextsAreAskedOnce(t *testing.T) {
	d := newDouble(t)
	doc := numbered(1)[0]
	vectors, err := d.remote(t, "").Documents(t.Context(), []Document{doc, doc, doc})
	if err != nil || len(vectors) != 3 || len(d.texts) != 1 {
		t.Errorf("Documents = %v, %v, asked %q; want one text", vectors, err, d.texts)
	}
}

func FuzzSegment(f *testing.F) {
	b := []byte(segmentHead)
	for _, w := range wanted(0, 3, true) {
		b = appendRecord(b, w.key, w.vector)
	}
	f.Add(b)
	f.Add(b[:len(b)-2])
	f.Fuzz(func(t *testing.T, b []byte) {
		r, end := bytes.NewReader(b), int64(len(segmentHead))
		scanSegment(r, int64(len(b)), func(k key, at int64, n int) {
			if at != end || at+int64(n) > int64(len(b)) {
				t.Fatalf("a record from %d to %d of %d bytes, the one before ends at %d", at, at+int64(n), len(b), end)
			}
			end = at + int64(n)
			if v := readRecord(r, k, record{0, at, n}); v != nil && !bytes.Equal(appendRecord(nil, k, v), b[at:end]) {
				t.Fatalf("the record at %d is read as %v", at, v)
			}
		})
	})
}
