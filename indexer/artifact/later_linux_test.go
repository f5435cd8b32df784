package artifact

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// The system maps pages beside one that is read. Texts must not be among them.
func TestTextsAreNotMappedAlong(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, corpus(12))
	d, err := Describe(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Forget() // texts are separate from then on
	for chunk := range r.Len() {
		if _, err := r.Chunk(chunk); err != nil {
			t.Fatal(err)
		}
	}
	p, err := r.Postings("section")
	if err != nil || p.Chunks == 0 {
		t.Fatalf("%d chunks have the word \"section\", %v", p.Chunks, err)
	}
	s := r.groups[0].sections
	page := uint64(os.Getpagesize())
	from := (s[blockSection].offset + page - 1) / page * page
	if to := s[textSection].offset + uint64(s[textSection].bytes); to < from+16*page {
		t.Fatalf("Markdown and texts are only %d bytes", to-from)
	}
	if kept := mappedFrom(t, &r.data[from]); kept != "0 kB" {
		t.Errorf("%s of Markdown and texts are mapped", kept)
	}
	if _, err := r.Markdown(0); err != nil {
		t.Error(err)
	}
}

// mappedFrom returns how much of the mapping that begins at b is in memory.
func mappedFrom(t *testing.T, b *byte) string {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	_, mapping, found := strings.Cut("\n"+string(maps), fmt.Sprintf("\n%x-", uintptr(unsafe.Pointer(b))))
	if !found {
		t.Fatal("no mapping begins there")
	}
	_, kept, _ := strings.Cut(mapping, "\nRss:")
	kept, _, _ = strings.Cut(kept, "\n")
	return strings.TrimSpace(kept)
}
