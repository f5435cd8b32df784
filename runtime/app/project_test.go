package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/indexer/shelf"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// lock writes a go.mod that requires example.com/frame in a version.
func lock(t *testing.T, dir, version string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module m\n\nrequire example.com/frame "+version+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestLockFilesSelectVersions(t *testing.T) {
	s, dir := shelf.Shelf{Dir: t.TempDir()}, t.TempDir()
	put(t, s, "another", "", "# Another\n\nHow to boil an egg.\n")
	put(t, s, "example.com/frame", "v1.0.0", "# Frame one\n\nReadFrame reads a frame.\n")
	put(t, s, "example.com/frame", "v1.1.0", "# Frame two\n\nReadFrame reads a frame with a deadline.\n")
	lock(t, dir, "v1.0.0")
	log := &waittest.Log{}
	l := &docsServer{shelf: s.Dir, project: dir, log: slog.New(slog.NewTextHandler(log, nil))}
	if err := l.open(mcpserver.Options{}); err != nil {
		t.Fatal(err)
	}
	first := func() (id string) {
		f := l.libraries.Load().Federation()
		page, err := f.Search(t.Context(), "", search.Query{Text: "ReadFrame reads a frame"})
		if err != nil || len(page.Hits) != 1 {
			t.Fatalf("%v, %v", page.Hits, err)
		}
		return f.Libraries()[0].ID + " " + page.Hits[0].Library.ID
	}
	if got := first(); got != "example.com/frame@v1.0.0 example.com/frame@v1.0.0" {
		t.Errorf("with v1.0.0 locked, the first library and hit are %s", got)
	}
	one, err := OpenLibraries(s.Dir, []string{"example.com/frame"}, dir, search.Options{}, l.log)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	if got := one.Federation().Libraries()[0].ID; got != "example.com/frame@v1.0.0" {
		t.Errorf("the name opens %s", got)
	}
	state := l.libraries.Load().opened
	lock(t, dir, "v1.1.0")
	step := func() {
		l.libraries.Load().project.looked = time.Time{}
		state = l.followShelf(state)
	}
	step()
	if got := first(); got != "example.com/frame@v1.1.0 example.com/frame@v1.1.0" {
		t.Errorf("with v1.1.0 locked, the first library and hit are %s", got)
	}
	lock(t, dir, "oops")
	step()
	if f := l.libraries.Load().Federation(); len(f.Usual()) != 3 || !strings.Contains(log.String(), "go.mod:3") {
		t.Errorf("with a broken lock file, %d libraries are searched; the log is %s", len(f.Usual()), log)
	}
	l.close()
}
