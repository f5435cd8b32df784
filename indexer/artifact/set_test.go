package artifact

import "testing"

func TestSetHasTheChunksOfItsPages(t *testing.T) {
	docs := corpus(20)
	docs[3].Chunks = nil
	dir := t.TempDir()
	build(t, dir, docs)
	r := reopen(t, dir)
	for name, accept := range map[string]func(int) bool{
		"all":     func(int) bool { return true },
		"none":    func(int) bool { return false },
		"a third": func(page int) bool { return page%3 == 1 },
	} {
		s, err := r.ChunksOf(accept)
		if err != nil {
			t.Fatal(err)
		}
		for c := range r.Len() {
			if want := accept(r.PageOf(c)); s.Has(c) != want {
				t.Errorf("%s: Has(%d) = %v, want %v", name, c, s.Has(c), want)
			}
		}
	}
}
