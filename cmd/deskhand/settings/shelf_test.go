package settings

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/shelf"
)

// An index in the default folder is served rather than the default shelf, and the server
// can say so.
func TestAnIndexIsServedBesideAShelf(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	if err := os.WriteFile("page.md", []byte("# Page\n\nText.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	loaded := func(args ...string) *Settings {
		t.Helper()
		s, flags := &Settings{}, pflag.NewFlagSet("test", pflag.ContinueOnError)
		Declare(flags, "index")
		Declare(flags, "shelf")
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		if err := s.Load(flags, func(string) {}); err != nil {
			t.Fatal(err)
		}
		return s
	}
	check := func(s *Settings, shelf, beside string) {
		t.Helper()
		served, err := s.ServedShelf()
		if err != nil || served != shelf || s.besideIndex(served) != beside {
			t.Errorf("serves the shelf %q, beside %q, %v; wanted %q, %q", served, s.besideIndex(served), err, shelf, beside)
		}
	}
	check(loaded(), "", "")
	user, err := shelf.PathOf()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (shelf.Shelf{Dir: user}).Add(t.Context(), shelf.Options{Source: ".", Name: "page"}); err != nil {
		t.Fatal(err)
	}
	check(loaded(), user, "")
	index := filepath.Join(".deskhand", "index")
	if _, err := indexer.Build(t.Context(), indexer.Options{Dir: ".", Out: index}); err != nil {
		t.Fatal(err)
	}
	check(loaded(), "", user)
	check(loaded("--index", index), "", "")
	check(loaded("--shelf", user), user, "")
}
