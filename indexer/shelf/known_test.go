package shelf

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// old makes a file as old as the shelf wants it to be, and returns its path.
func old(t testing.TB, path string) string {
	t.Helper()
	then := time.Now().Add(-2 * settled)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
	return path
}

// looked returns what Look returns, as text.
func looked(t *testing.T, s Shelf) string {
	t.Helper()
	entries, problems, err := s.Look()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		text, err := json.Marshal(e.described.Known())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %v\n", text, e.Built)
	}
	fmt.Fprintf(&b, "%+v", problems)
	return b.String()
}

// What is kept of the libraries is never taken for what they are now.
func TestKnownLibrariesAreNeverStale(t *testing.T) {
	s := Shelf{filepath.Join(t.TempDir(), "shelf")}
	docs := t.TempDir()
	write(t, docs, map[string]string{"a.md": "# Alpha\n\nText.\n"})
	file := filepath.Join(s.Dir, knownFile)
	metadata := filepath.Join(add(t, s, Options{Source: docs, Name: "alpha"}).Folder, artifact.MetadataFile)
	if looked(t, s); len(s.readKnown()) != 0 {
		t.Fatal("metadata that was just written is kept, although it may change without a trace")
	}
	old(t, metadata)
	fresh := looked(t, s)
	if k := s.readKnown(); len(k) != 1 || k["alpha"] == nil || k["alpha"].Metadata.Library.Name != "alpha" {
		t.Fatalf("the file holds %+v, want alpha", k)
	}
	if again := looked(t, s); again != fresh {
		t.Errorf("with the file\n%s\nwithout\n%s", again, fresh)
	}
	for name, change := range map[string]func(){
		"another build": func() {
			write(t, docs, map[string]string{"b.md": "# Beta\n\nMore.\n"})
			add(t, s, Options{Source: docs, Name: "alpha"})
		},
		"an edit of the same size": func() {
			b, err := os.ReadFile(metadata)
			if err == nil {
				err = os.WriteFile(metadata, bytes.Replace(b, []byte(`"alpha"`), []byte(`"alphx"`), 1), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		"another library": func() { add(t, s, Options{Source: docs, Name: "beta"}) },
		"a removal":       func() { _ = os.RemoveAll(filepath.Join(s.Dir, "beta")) },
		"a cut file":      func() { _ = os.Truncate(file, 200) },
		"no file":         func() { _ = os.Remove(file) },
	} {
		change()
		with := looked(t, s)
		_ = os.Remove(file)
		if without := looked(t, s); with != without {
			t.Errorf("after %s, with the file\n%s\nwithout\n%s", name, with, without)
		}
	}
}

// A shelf may come with a cloned repository, so what the file says is checked like
// metadata.json.
func TestKnownLibrariesAreChecked(t *testing.T) {
	s := Shelf{filepath.Join(t.TempDir(), "shelf")}
	docs := t.TempDir()
	write(t, docs, map[string]string{"a.md": "# Alpha\n\nText.\n"})
	old(t, filepath.Join(add(t, s, Options{Source: docs, Name: "alpha"}).Folder, artifact.MetadataFile))
	looked(t, s)
	k := s.readKnown()
	entries, _, err := s.Look()
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	k["alpha"].Metadata.Index.Path = "../../index-0123456789abcdef.idx"
	entries[0].described, err = artifact.DescribeKnown(entries[0].Folder, k["alpha"])
	fails(t, err, "artifact_damaged")
}

// A program that reads other fields must not read what an older one kept.
func TestKnownLibrariesHaveTheseFields(t *testing.T) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(artifact.Known{}); err != nil {
		t.Fatal(err)
	}
	const fields = "afd5db143c9224bd"
	if got := fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))[:16]; got != fields {
		t.Errorf("the fields of the metadata have changed: raise the number in knownMagic, and set fields to %s", got)
	}
}

func TestKnownFilesOfKilledProcessesAreDeleted(t *testing.T) {
	s := Shelf{t.TempDir()}
	left, busy := filepath.Join(s.Dir, ".libraries-1.tmp"), filepath.Join(s.Dir, ".libraries-2.tmp")
	write(t, s.Dir, map[string]string{".libraries-1.tmp": "half", ".libraries-2.tmp": "half"})
	hour := time.Now().Add(-time.Hour)
	if err := os.Chtimes(left, hour, hour); err != nil {
		t.Fatal(err)
	}
	s.sweepKnown()
	var there []bool
	for _, path := range []string{left, busy} {
		_, err := os.Stat(path)
		there = append(there, err == nil)
	}
	if !reflect.DeepEqual(there, []bool{false, true}) {
		t.Errorf("there are the old and the new file: %v, want only the new one", there)
	}
}

func BenchmarkLook(b *testing.B) {
	s := Shelf{b.TempDir()}
	docs := b.TempDir()
	if err := os.WriteFile(filepath.Join(docs, "a.md"), []byte("# Alpha\n\nText.\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	for i := range 200 {
		r, err := s.Add(b.Context(), Options{Source: docs, Name: fmt.Sprintf("alpha%d", i)})
		if err != nil {
			b.Fatal(err)
		}
		old(b, filepath.Join(r.Folder, artifact.MetadataFile))
	}
	for name, before := range map[string]func(){"known": func() {}, "unknown": func() { _ = os.Remove(filepath.Join(s.Dir, knownFile)) }} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				before()
				if _, _, err := s.Look(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
