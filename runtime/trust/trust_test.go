package trust

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

func TestRecordsKeepTheLastDecision(t *testing.T) {
	r := In(t.TempDir())
	if _, ok, err := r.Find("/a/deskhand.yaml"); ok || err != nil {
		t.Fatalf("Find without records = %v, %v", ok, err)
	}
	first := Record{"/a/deskhand.yaml", Digest([]byte("x")), true, time.Unix(1, 0).UTC()}
	second := Record{"/a/deskhand.yaml", Digest([]byte("y")), false, time.Unix(2, 0).UTC()}
	for _, one := range []Record{first, second, {"/b", "d", true, time.Unix(3, 0).UTC()}} {
		if err := r.Put(one); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok, err := r.Find(second.Path); got != second || !ok || err != nil {
		t.Errorf("Find = %+v, %v, %v; want %+v", got, ok, err, second)
	}
	if all, err := r.List(); len(all) != 2 || all[0] != second || err != nil {
		t.Errorf("List = %+v, %v", all, err)
	}
	if was, err := r.Remove(second.Path); !was || err != nil {
		t.Errorf("Remove = %v, %v", was, err)
	}
	if was, err := r.Remove(second.Path); was || err != nil {
		t.Errorf("Remove again = %v, %v", was, err)
	}
	if _, ok, err := r.Find(second.Path); ok || err != nil {
		t.Errorf("Find after Remove = %v, %v", ok, err)
	}
}

// A record of one place put under the name of another says nothing of that one.
func TestARecordCountsForItsOwnPlaceOnly(t *testing.T) {
	r := In(t.TempDir())
	if err := r.Put(Record{Path: "/a", Digest: "d", Agreed: true}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(r.file("/a"), r.file("/b")); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := r.Find("/b"); ok || err != nil {
		t.Errorf("Find(/b) = %v, %v; want none", ok, err)
	}
	if all, err := r.List(); len(all) != 0 || err != nil {
		t.Errorf("List = %+v, %v; want none", all, err)
	}
}

func TestADamagedRecordIsAnErrorAndNoTrust(t *testing.T) {
	r := In(t.TempDir())
	if err := r.Put(Record{Path: "/a", Digest: "d", Agreed: true}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{", `{"path":"/a"`, "[]"} {
		if err := os.WriteFile(r.file("/a"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := r.Find("/a"); ok || err == nil {
			t.Errorf("Find with record %q = %v, %v; want an error", text, ok, err)
		}
	}
}

func TestRecordsAreForTheirOwnerOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: Windows keeps access out of the mode of a file")
	}
	r := In(filepath.Join(t.TempDir(), "state"))
	if err := r.Put(Record{Path: "/a"}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{r.dir: 0o700, r.file("/a"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode().Perm(), err, want)
		}
	}
}

// Whoever reads while others decide finds one decision or the other, whole.
func TestRecordsAreWrittenWhole(t *testing.T) {
	r := In(t.TempDir())
	var writing sync.WaitGroup
	for _, digest := range []string{"one", "two"} {
		writing.Go(func() {
			for range 50 {
				if err := r.Put(Record{Path: "/a", Digest: digest, Agreed: true}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 200 {
		if got, ok, err := r.Find("/a"); err != nil || ok && got.Digest != "one" && got.Digest != "two" {
			t.Errorf("Find = %+v, %v, %v", got, ok, err)
		}
	}
	writing.Wait()
	if left, err := filepath.Glob(filepath.Join(r.dir, ".record-*")); len(left) > 0 || err != nil {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func TestPlaceGoesThroughLinksToTheFolder(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if got, err := Place(filepath.Join(link, "deskhand.yaml")); got != filepath.Join(real, "deskhand.yaml") || err != nil {
		t.Errorf("Place = %q, %v", got, err)
	}
	if got, err := Place(filepath.Join(dir, "gone", "deskhand.yaml")); err == nil {
		t.Errorf("Place in a folder that is gone = %q", got)
	}
}

// Without a state folder, a file in the working directory is no record.
func TestRecordsWithoutAFolderHaveNone(t *testing.T) {
	t.Chdir(t.TempDir())
	there := In(".")
	if err := there.Put(Record{Path: "/a", Digest: "d", Agreed: true}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(there.file("/a"), filepath.Base(there.file("/a"))); err != nil {
		t.Fatal(err)
	}
	var none Records
	if _, ok, err := none.Find("/a"); ok || err != nil {
		t.Errorf("Find = %v, %v; want none", ok, err)
	}
	if all, err := none.List(); len(all) != 0 || err != nil {
		t.Errorf("List = %v, %v; want none", all, err)
	}
	if err := none.Put(Record{Path: "/b"}); err == nil {
		t.Error("Put without a folder keeps a record somewhere")
	}
}
