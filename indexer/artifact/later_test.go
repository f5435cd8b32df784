package artifact

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

// readings is what each kind of read returns: its result, or its error or panic.
func readings(r *Reader) (all []any) {
	read := func(do func() (any, error)) {
		defer func() {
			if p := recover(); p != nil {
				all = append(all, p)
			}
		}()
		result, err := do()
		if err != nil {
			result = err
		}
		all = append(all, result)
	}
	var terms []WeightedTerm
	read(func() (any, error) {
		p, err := r.Postings("retri")
		terms = []WeightedTerm{{Postings: p}}
		return p.Chunks, err
	})
	read(func() (any, error) { hits, err := r.Lexical(terms, 5, nil); return hits, err })
	read(func() (any, error) {
		near, spread, err := r.Nearest(question(rand.New(rand.NewPCG(1, 1)), make(Vector, r.Dimensions())), 5, nil)
		return []any{near, spread}, err
	})
	read(func() (any, error) { similar, err := r.AllSimilar("retre"); return similar, err })
	read(func() (any, error) { distinct, by, err := r.PageMetadata(); return []any{distinct, by}, err })
	read(func() (any, error) {
		n := 0
		err := r.EachTerm(true, func(_ uint64, chunks int, _ byte) { n += chunks })
		return n, err
	})
	for chunk := range r.Len() {
		read(func() (any, error) { c, err := r.Chunk(chunk); return c, err })
		read(func() (any, error) { p, err := r.Page(r.PageOf(chunk)); return p, err })
		read(func() (any, error) { text, err := r.Text(nil, chunk); return string(text), err })
		read(func() (any, error) { text, err := r.Markdown(chunk); return text, err })
	}
	return all
}

// Whatever is damaged, an artifact whose checksums are compared later, all or those of
// dictionaries, gives the same answer as before, or says that it is damaged.
func TestDamageFoundLaterIsNoAnswer(t *testing.T) {
	t.Run("all", func(t *testing.T) { checkDamage(t, (*Description).Open) })
	t.Run("dictionaries", func(t *testing.T) { checkDamage(t, func(d *Description) (*Reader, error) { return Open(d.dir) }) })
}

func checkDamage(t *testing.T, openIt func(*Description) (*Reader, error)) {
	dir := t.TempDir()
	m, _ := buildWith(t, dir, embedded(corpus(3), 10), testModel)
	path := filepath.Join(dir, m.Index.Path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Describe(dir)
	if err != nil {
		t.Fatal(err)
	}
	open := func() []any {
		t.Helper()
		r, err := openIt(d)
		if err != nil {
			return nil
		}
		defer r.Close()
		return readings(r)
	}
	whole, damages := open(), 0
	for _, x := range whole {
		if err, ok := x.(error); ok {
			t.Fatalf("a whole artifact: %v", err)
		}
	}
	for at := 0; at < len(data); at += 1 + len(data)/300 {
		if err := os.WriteFile(path, flip(data, at), 0o644); err != nil {
			t.Fatal(err)
		}
		for i, x := range open() {
			if reflect.DeepEqual(x, whole[i]) {
				continue
			}
			err, _ := x.(error)
			if f := fault.Of(err); f == nil || f.Code != "artifact_damaged" {
				t.Fatalf("byte %d flipped, reading %d: %v, want %v or fault artifact_damaged", at, i, x, whole[i])
			}
			damages++
		}
	}
	if damages == 0 {
		t.Error("no damage was found")
	}
}

// A description says whether a reader is open on what it describes.
func TestADescriptionKnowsItsReader(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, corpus(2))
	describe := func() *Description {
		t.Helper()
		d, err := Describe(dir)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	before := describe()
	r, err := before.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if !describe().Describes(r) {
		t.Error("a reader of the same artifact is not known")
	}
	build(t, dir, corpus(3))
	if describe().Describes(r) {
		t.Error("a reader of another artifact is known")
	}
	// The old data file is gone, so the old description opens the new artifact.
	now, err := before.Open()
	if err != nil || !describe().Describes(now) {
		t.Fatalf("opened %v, %v", now, err)
	}
	defer now.Close()
	if before.Describes(now) {
		t.Error("the old description describes the new artifact")
	}
	var damage error = Damage{damaged(dir, "x")}
	if fault.Of(fmt.Errorf("read: %w", damage)) == nil || errors.Unwrap(damage) == nil {
		t.Error("a Damage hides its fault")
	}
}
