package phrases

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAFileIsSortedAndKeepsWhatOthersWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "phrases.jsonl")
	put(t, path, `{"chunk_id": "b.md#b", "phrases": ["by hand"]}`+"\n"+`{"chunk_id": "c.md#c", "phrases": ["old <one>"], "digest": "00"}`+"\n")
	f := opened(t, path)
	f.set(line{"c.md#c", []string{"new one"}, "01"})
	f.set(line{"a.md#a", []string{"first & last"}, "02"})
	f.drop("b.md#b")
	// Somebody edits the file meanwhile.
	put(t, path, content(t, path)+`{"chunk_id": "d.md#d", "phrases": ["meanwhile"]}`+"\n")
	if err := f.Save(true); err != nil {
		t.Fatal(err)
	}
	want := `{"chunk_id":"a.md#a","phrases":["first & last"],"digest":"02"}` + "\n" +
		`{"chunk_id":"c.md#c","phrases":["new one"],"digest":"01"}` + "\n" +
		`{"chunk_id":"d.md#d","phrases":["meanwhile"]}` + "\n"
	if got := content(t, path); got != want {
		t.Errorf("the file is\n%swant\n%s", got, want)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	before, _ := os.Stat(path)
	if err := f.Save(true); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.Stat(path); !os.SameFile(before, after) {
		t.Error("a file without changes was written again")
	}
}

func TestAFileWithABadLineIsNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "phrases.jsonl")
	put(t, path, `{"chunk_id": "b.md#b", "phrases": ["by hand"]}`+"\nnot a line\n")
	_, err := Open(path)
	wantFault(t, err, "bad_phrases", path+":2:", "fix or delete that line")
	_, err = Open(filepath.Dir(path))
	wantFault(t, err, "bad_phrases", "it is a folder")
	put(t, path, "")
	f := opened(t, path)
	f.set(line{"a.md#a", []string{"one"}, "00"})
	put(t, path, "spoilt meanwhile\n")
	wantFault(t, f.Save(true), "bad_phrases", path+":1:")
	if got := content(t, path); got != "spoilt meanwhile\n" {
		t.Errorf("the file is now %q", got)
	}
}

func TestTheFileIsTheOneThatMetadataNames(t *testing.T) {
	dir := t.TempDir()
	if got := PathIn(dir); got != filepath.Join(dir, "phrases.jsonl") {
		t.Errorf("without metadata.json: %s", got)
	}
	put(t, filepath.Join(dir, "metadata.json"), `{"corpus": "docs", "phrases": "docs/asked.jsonl"}`)
	put(t, filepath.Join(dir, "docs", "a.md"), "# A\n")
	if got := PathIn(dir); got != filepath.Join(dir, "docs", "asked.jsonl") {
		t.Errorf("with metadata.json: %s", got)
	}
}
