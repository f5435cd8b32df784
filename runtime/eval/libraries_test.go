package eval

import "testing"

// An entry may name the library of a place, by its ID or by its name. A place without a
// library is that of any.
func TestEntriesNameLibraries(t *testing.T) {
	hit := Hit{ID: "@scope/kettle@1.0:use.md#boil", Path: "use.md", Library: "@scope/kettle@1.0"}
	for _, c := range []struct {
		entry Entry
		want  bool
	}{
		{Entry{Filepath: "use.md"}, true},
		{Entry{Filepath: "@scope/kettle:use.md"}, true},
		{Entry{Filepath: "@scope/kettle@1.0:use.md"}, true},
		{Entry{Filepath: "@scope/kettle@2.0:use.md"}, false},
		{Entry{Filepath: "toaster:use.md"}, false},
		{Entry{Filepath: "toaster:use.md", AltFilepaths: []string{"@scope/kettle:use.md"}}, true},
		{Entry{ChunkID: "@scope/kettle@1.0:use.md#boil"}, true},
		{Entry{ChunkID: "@scope/kettle:use.md#boil"}, true},
		{Entry{ChunkID: "use.md#boil"}, true},
		{Entry{ChunkID: "kettle:use.md#boil"}, false},
	} {
		target := newTarget(c.entry, nil)
		if got := target.coveredBy(newPlace(hit, func(string) string { return "" })); got != c.want {
			t.Errorf("%s covers the hit: %v, want %v", c.entry.label(), got, c.want)
		}
	}
	plain := newTarget(Entry{ChunkID: "a:b.md#c"}, nil)
	if !plain.coveredBy(newPlace(Hit{ID: "a:b.md#c", Path: "a:b.md"}, nil)) {
		t.Error("an ID with a colon in an index is not found")
	}
}

// A hit of another library than that of the filter is a leak, also if the hits have no
// facets.
func TestAHitOfAnotherLibraryLeaks(t *testing.T) {
	hit := Hit{Library: "kettle@1.0", Metadata: map[string]string{}}
	for want, leaks := range map[string]bool{"kettle": false, "kettle@1.0": false, "kettle@2.0": true, "toaster": true} {
		if got := Leaks(hit, map[string]string{"library": want}); got != leaks {
			t.Errorf("with the filter %s: leaks %v, want %v", want, got, leaks)
		}
	}
}
