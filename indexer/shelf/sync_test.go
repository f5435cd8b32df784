package shelf

import (
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

func TestSyncMakesTheShelfWhatTheProjectSays(t *testing.T) {
	repo, docs := t.TempDir(), t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	write(t, repo, map[string]string{"docs/a.md": "# Alpha\n"})
	git("add", "-A")
	git("commit", "-q", "-m", "one")
	write(t, docs, map[string]string{"b.md": "# Beta\n"})
	wanted := []Wanted{{Name: "lib", Source: repo + "#main"}, {Name: "handbook", Version: "1", Source: docs}}
	s := Shelf{filepath.Join(t.TempDir(), "shelf")}
	add(t, s, Options{Source: docs, Name: "old"})

	first, err := s.Sync(t.Context(), wanted, nil, false, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(t, s); got != "handbook@1 lib" || !reflect.DeepEqual(first.Removed, []string{"old"}) {
		t.Fatalf("the shelf has %s, removed %v", got, first.Removed)
	}
	file := filepath.Join(t.TempDir(), "deskhand.lock")
	if err := first.Lock.Write(file); err != nil {
		t.Fatal(err)
	}
	lock, err := ReadLock(file)
	if err != nil || !reflect.DeepEqual(*lock, first.Lock) || lock.Libraries[0].Revision == "" {
		t.Fatalf("read back %+v, %v", lock, err)
	}

	// The branch goes on; who is locked stays, on another machine too.
	write(t, repo, map[string]string{"docs/a.md": "# Alpha 2\n"})
	git("commit", "-q", "-a", "-m", "two")
	other := Shelf{filepath.Join(t.TempDir(), "other")}
	locked, err := other.Sync(t.Context(), wanted, lock, true, Options{})
	if err != nil || !reflect.DeepEqual(locked.Lock, first.Lock) {
		t.Fatalf("locked %+v, %v", locked.Lock, err)
	}
	if _, err := s.Sync(t.Context(), wanted, nil, true, Options{}); fault.Of(err) == nil || fault.Of(err).Code != "lock_mismatch" {
		t.Errorf("--locked without a lock: %v", err)
	}
	write(t, docs, map[string]string{"b.md": "# Beta 2\n"})
	if _, err := s.Sync(t.Context(), wanted, lock, true, Options{}); fault.Of(err) == nil || fault.Of(err).Code != "lock_mismatch" {
		t.Errorf("a folder that changed: %v", err)
	}
	second, err := s.Sync(t.Context(), wanted, lock, false, Options{})
	if err != nil || second.Lock.Libraries[0].Revision == first.Lock.Libraries[0].Revision {
		t.Errorf("a sync that is not locked stays at %s: %v", second.Lock.Libraries[0].Revision, err)
	}

	if err := os.WriteFile(file, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLock(file); fault.Of(err) == nil || fault.Of(err).Code != "bad_lock" {
		t.Errorf("a broken lock file: %v", err)
	}
	if _, err := s.Sync(t.Context(), []Wanted{{Name: "x"}}, nil, false, Options{}); fault.Of(err) == nil {
		t.Errorf("a library without a source: %v", err)
	}
}

// A locked sync that fails leaves the shelf as it was: a server never serves what the lock file
// refuses.
func TestALockedSyncThatFailsChangesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "guide.md")
	is := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	is("# Alpha\n")
	wanted := []Wanted{{Name: "guide", Source: file}}
	s := Shelf{filepath.Join(t.TempDir(), "shelf")}
	first, err := s.Sync(t.Context(), wanted, nil, false, Options{})
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what, says string, s Shelf, wanted []Wanted, lock Lock, shelf string) {
		t.Helper()
		_, err := s.Sync(t.Context(), wanted, &lock, true, Options{})
		if f := fault.Of(err); f == nil || f.Code != "lock_mismatch" || !strings.Contains(f.Message, says) {
			t.Errorf("%s: %v; want lock_mismatch with %q", what, err, says)
		}
		if got := ids(t, s); got != shelf {
			t.Errorf("%s: the shelf has %q, want %q", what, got, shelf)
		}
		if e, err := s.Find("guide"); shelf != "" && (err != nil || e.Index != first.Lock.Libraries[0].Index) {
			t.Errorf("%s: the library is %+v, %v; want the old one", what, e, err)
		}
	}
	lie := Lock{slices.Clone(first.Lock.Libraries)}
	lie.Libraries[0].Digest = "sha256:" + strings.Repeat("0", 64)
	refused("a lock file with another digest", "its archive has the digest", s, wanted, lie, "guide")
	lie.Libraries[0] = first.Lock.Libraries[0]
	lie.Libraries[0].Index = strings.Repeat("0", 64)
	refused("a lock file with another index", "its index has SHA-256", s, wanted, lie, "guide")
	lie.Libraries[0] = first.Lock.Libraries[0]
	lie.Libraries = append(lie.Libraries, Locked{Wanted: Wanted{Name: "more", Source: file}})
	refused("a lock file with more libraries", "the library more, which", s, wanted, lie, "guide")

	is("# Beta\n")
	refused("a file that changed", "its archive has the digest", s, wanted, first.Lock, "guide")
	folder := []Wanted{{Name: "guide", Source: filepath.Dir(file)}}
	lock := Lock{[]Locked{{Wanted: folder[0], Index: first.Lock.Libraries[0].Index}}}
	refused("a folder that changed", "its index has SHA-256", s, folder, lock, "guide")
	empty := Shelf{filepath.Join(t.TempDir(), "empty")}
	refused("a folder that changed, on another machine", "its index has SHA-256", empty, folder, lock, "")
	if left, _ := os.ReadDir(empty.Dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if files, err := os.ReadDir(s.folderOf("guide")); err != nil || len(files) != 3 {
		t.Errorf("the library's folder has %v, %v; want the index, its metadata and the lock", files, err)
	}
}

func TestALibraryIsListedOnce(t *testing.T) {
	s, docs := Shelf{t.TempDir()}, t.TempDir()
	write(t, docs, map[string]string{"a.md": "# Alpha\n"})
	twice := []Wanted{{Name: "lib", Source: docs}, {Name: "lib", Source: docs, Path: "."}}
	if _, err := s.Sync(t.Context(), twice, nil, false, Options{}); fault.Of(err) == nil || !strings.Contains(err.Error(), "'lib' is listed twice") {
		t.Errorf("two libraries of one name: %v", err)
	}
}

// The address that a library records has no password either, also if it was made from the
// locked revision.
// A lock file that does not belong to the configuration is refused before anything is added.
func TestALockedSyncSaysHowTheFilesDiffer(t *testing.T) {
	docs, other := t.TempDir(), t.TempDir()
	write(t, docs, map[string]string{"a.md": "# Alpha\n"})
	write(t, other, map[string]string{"b.md": "# Beta\n"})
	first, second := Wanted{Name: "first", Source: docs}, Wanted{Name: "second", Version: "2", Source: other}
	synced, err := (Shelf{t.TempDir()}).Sync(t.Context(), []Wanted{first, second}, nil, false, Options{})
	if err != nil {
		t.Fatal(err)
	}
	moved, newer := second, second
	moved.Source, newer.Version = docs, "3"
	for want, c := range map[string]struct {
		wanted []Wanted
		lock   *Lock
	}{
		"there is no deskhand.lock": {[]Wanted{first}, nil},
		"deskhand.yaml lists the library second@2, which deskhand.lock does not have":    {[]Wanted{first, second}, &Lock{synced.Lock.Libraries[:1]}},
		"deskhand.lock has the library second@2, which deskhand.yaml does not list":      {[]Wanted{first, newer}, &synced.Lock},
		"the library second@2 has another source in deskhand.yaml than in deskhand.lock": {[]Wanted{first, moved}, &synced.Lock},
	} {
		s := Shelf{filepath.Join(t.TempDir(), "shelf")}
		_, err := s.Sync(t.Context(), c.wanted, c.lock, true, Options{})
		if f := fault.Of(err); f == nil || f.Code != "lock_mismatch" || f.Message != want {
			t.Errorf("Sync = %v, want %q", err, want)
		}
		if got := ids(t, s); got != "" {
			t.Errorf("%s: the shelf has %s", want, got)
		}
	}
}

func TestALibraryOfALockFileRecordsNoPassword(t *testing.T) {
	root := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write(t, root, map[string]string{"docs/a.md": "# Alpha\n"})
	git("init", "-q", "-b", "main")
	git("add", "-A")
	git("commit", "-q", "-m", "one")
	server := httptest.NewServer(&cgi.Handler{Path: filepath.Join(git("--exec-path"), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}})
	defer server.Close()
	address := strings.Replace(server.URL, "://", "://me:secret@", 1) + "/.git#main"
	wanted := []Wanted{{Name: "lib", Source: address}}
	first, err := (Shelf{t.TempDir()}).Sync(t.Context(), wanted, nil, false, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := Shelf{t.TempDir()}
	if _, err := s.Sync(t.Context(), wanted, &first.Lock, true, Options{}); err != nil {
		t.Fatal(err)
	}
	entries, _, err := s.List()
	if want := server.URL + "/.git#main"; err != nil || len(entries) != 1 || entries[0].Source != want || entries[0].Revision != git("rev-parse", "HEAD") {
		t.Errorf("the shelf has %+v, %v; want one from %s", entries, err, want)
	}
}

// A lock file, which teams commit, has no password, and is valid with any.
func TestALockFileHasNoPassword(t *testing.T) {
	w := Wanted{Name: "lib", Source: "https://me:se%cret@example.com/lib.git#main", At: "elsewhere"}
	lock := Lock{Libraries: []Locked{{Wanted: w.shown(), Revision: "abc"}}}
	if got := lock.Libraries[0].Source; got != "https://example.com/lib.git#main" {
		t.Errorf("the lock file names %s", got)
	}
	if _, ok := lock.of(w); !ok {
		t.Error("the library is not the locked one")
	}
	lock.Libraries[0].Wanted = w // as written before
	if _, ok := lock.of(w); !ok {
		t.Error("the library is not the one of a lock file with a password")
	}
}
