package artifact

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

// resealedMetadata gives an edited metadata.json the digest of what it says now.
func resealedMetadata(t *testing.T, text []byte) []byte {
	t.Helper()
	var m Metadata
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// sealedArtifact builds an artifact and returns what replaces its metadata.json.
func sealedArtifact(t *testing.T) (dir string, text []byte, put func([]byte) (*Reader, error)) {
	t.Helper()
	dir = t.TempDir()
	build(t, dir, corpus(2))
	file := filepath.Join(dir, MetadataFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return dir, text, func(text []byte) (*Reader, error) {
		t.Helper()
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := Open(dir)
		if err == nil {
			t.Cleanup(func() { r.Close() })
		}
		return r, err
	}
}

func members(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var all map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

func marshaled(t *testing.T, all map[string]any) []byte {
	t.Helper()
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// An artifact of a version before digests opens, and a build of the same corpus
// gives it one without writing its data file again.
func TestArtifactBeforeDigestsOpens(t *testing.T) {
	dir, text, put := sealedArtifact(t)
	all := members(t, text)
	all["metadata_version"] = undigested
	delete(all, "digest")
	old, err := put(marshaled(t, all))
	if err != nil || old.Metadata().Edited() || old.Verify() != nil {
		t.Fatalf("Open of version %s = %v, want one that is whole", undigested, err)
	}
	build(t, dir, corpus(2))
	if now, err := os.ReadFile(filepath.Join(dir, MetadataFile)); err != nil || !bytes.Equal(now, text) {
		t.Errorf("a build made of it, %v:\n%s\nwant\n%s", err, now, text)
	}
}

// Taking the digest out is no way around it.
func TestDigestCannotBeLeftOut(t *testing.T) {
	for name, change := range map[string]func(all map[string]any){
		"removed":              func(all map[string]any) { delete(all, "digest") },
		"null":                 func(all map[string]any) { all["digest"] = nil },
		"another version":      func(all map[string]any) { all["metadata_version"] = undigested },
		"version 1":            func(all map[string]any) { delete(all, "digest"); all["metadata_version"] = "1" },
		"version 1.2":          func(all map[string]any) { delete(all, "digest"); all["metadata_version"] = "1.2" },
		"version 1.9.0":        func(all map[string]any) { delete(all, "digest"); all["metadata_version"] = "1.9.0" },
		"description removed":  func(all map[string]any) { delete(all, "corpus_description") },
		"a member of no build": func(all map[string]any) { all["more"] = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			_, text, put := sealedArtifact(t)
			all := members(t, text)
			change(all)
			_, err := put(marshaled(t, all))
			f := fault.Of(err)
			if f == nil || f.Code != "artifact_damaged" || !strings.Contains(f.Hint, "rebuild it: deskhand index") {
				t.Errorf("Open = %v, want fault artifact_damaged and how to build", err)
			}
		})
	}
}

// A newer deskhand of the same major adds members: they are covered too, and
// opening does not need to know them. Another editor's spaces do no harm.
func TestDigestCoversWhatIsNotKnown(t *testing.T) {
	_, text, put := sealedArtifact(t)
	all := members(t, text)
	delete(all, "digest")
	all["metadata_version"], all["more"] = "1.4.0", map[string]any{"n": 1}
	sum, err := digestOf(marshaled(t, all), nil)
	if err != nil {
		t.Fatal(err)
	}
	all["digest"] = sum
	if r, err := put(marshaled(t, all)); err != nil || r.Metadata().Edited() {
		t.Errorf("Open of version 1.4.0 with a further member = %v", err)
	}
	all["more"] = map[string]any{"n": 2}
	if _, err := put(marshaled(t, all)); err == nil {
		t.Error("Open with the further member changed = nil, want fault artifact_damaged")
	}
}

// The contract has corpus_description read at each start: an edited one is
// served, which is said, and which Verify does not pass.
func TestEditedDescriptionOpensAndIsSaid(t *testing.T) {
	_, text, put := sealedArtifact(t)
	all := members(t, text)
	all["corpus_description"] = "other docs"
	r, err := put(marshaled(t, all))
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Metadata(); m.CorpusDescription != "other docs" || !m.Edited() {
		t.Errorf("Metadata() = %q, Edited %v; want the edited text and true", m.CorpusDescription, m.Edited())
	}
	if f := fault.Of(r.Verify()); f == nil || f.Code != "artifact_damaged" {
		t.Errorf("Verify() = %v, want fault artifact_damaged", r.Verify())
	}
}

// Text that is no UTF-8 is written as JSON has it, and is not an edit.
func TestDescriptionThatIsNoUTF8IsNoEdit(t *testing.T) {
	m := Metadata{MetadataVersion: MetadataVersion, CorpusDescription: "docs\xff\xfe <b>"}
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var read Metadata
	if err := json.Unmarshal(text, &read); err != nil || read.Edited() || checkDigest(read, text) != nil {
		t.Errorf("read back %+v, %v, %v; want no edit", read, err, checkDigest(read, text))
	}
}

// What the fast way accepts is what the slow way accepts.
func TestTheFastDigestIsTheSlowOne(t *testing.T) {
	_, text, _ := sealedArtifact(t)
	var m Metadata
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	same := func(text []byte) bool {
		t.Helper()
		slow, err := digestOf(text, m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		return canonicalDigest(text, m.Digest.CorpusDescription) == slow.Metadata
	}
	rich := Metadata{MetadataVersion: MetadataVersion, CorpusDescription: "a <b> \"c\" \\ \u2028 é", Terms: []string{"x", `y\"`, "{,]"},
		Folders: map[string]string{"b": "2", "a": "1", "é": "3", "a/b": ""}, Taxonomy: map[string]Facet{"k": {Values: []string{}}}, Languages: map[string]int{"de": 2}}
	encoded, err := rich.Encode()
	if err != nil {
		t.Fatal(err)
	}
	m.Digest.CorpusDescription = rich.Digest.CorpusDescription
	if !same(encoded) || canonicalDigest(encoded, rich.Digest.CorpusDescription) != rich.Digest.Metadata {
		t.Errorf("the digests of what Encode wrote differ:\n%s", encoded)
	}
	if !same(marshaled(t, members(t, encoded))) {
		t.Error("the digests of compact text differ")
	}
	for i := range text { // damaged text may not decode, but must not be accepted
		bad := bytes.Clone(text)
		bad[i] ^= 1
		var got Metadata
		if json.Unmarshal(bad, &got) != nil || got.Digest == nil {
			continue
		}
		slow, err := digestOf(bad, got.Digest)
		if err == nil && slow.Metadata != got.Digest.Metadata && canonicalDigest(bad, got.Digest.CorpusDescription) == got.Digest.Metadata {
			t.Errorf("only the fast way accepts byte %d changed: %s", i, bad)
		}
	}
	for _, broken := range []string{"", "{", `{"a`, `{"a"`, `{"a":`, `{"a":[`, `{"a":[1`, `{"a":1`, `{"a":{"b":"\`, "[1]", `{"a":[1,{}]`} {
		canonicalDigest([]byte(broken), "x") // ends
	}
}
