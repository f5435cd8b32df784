package artifact

import (
	"reflect"
	"testing"
)

func TestArtifactInMemoryHasTheBytesOfOneOnDisk(t *testing.T) {
	docs := corpus(3) // one group of a plan
	onDisk, _ := build(t, t.TempDir(), docs)
	r, err := InMemory(Metadata{CorpusDescription: "test docs"}, Model{}, docs)
	if err != nil {
		t.Fatal(err)
	}
	onDisk.Digest = nil // of a file
	if got := *r.Metadata(); !reflect.DeepEqual(got, onDisk) {
		t.Errorf("metadata = %+v, want %+v, the digest of the data with it", got, onDisk)
	}
	if err := r.Verify(); err != nil {
		t.Error(err)
	}
	text, err := r.Text(nil, 1)
	if err != nil || len(text) == 0 {
		t.Errorf("Text = %q, %v", text, err)
	}
	if !r.Same(r) {
		t.Error("it is not the same as itself")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
