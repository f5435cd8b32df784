package settings

import (
	"os"
	"path/filepath"
	"strings"
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

// A project's file, which may come from a stranger, lists only local sources within the
// project: no link leads out of it.
func TestAttackSourcesOfAProject(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for _, folder := range []string{"secret/docs", "project/docs"} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("secret/docs/key.md", []byte("# Key\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir("project")
	for link, to := range map[string]string{"out": filepath.Join("..", "secret"), "in": "docs", filepath.Join("docs", "deep"): filepath.Join("..", "..", "secret")} {
		if err := os.Symlink(to, link); err != nil {
			t.Skip("links cannot be made here: ", err)
		}
	}
	for source, allowed := range map[string]bool{
		"source: docs":                     true,
		"source: .":                        true,
		"source: in":                       true,
		"{source: ., path: in}":            true,
		"{source: docs, path: no/such}":    true, // it fails later
		"source: 'docs#main'":              true,
		"source: ../secret":                false,
		"source: docs/../../secret":        false,
		"source: out":                      false,
		"source: out/docs/key.md":          false,
		"source: 'out#main'":               false,
		"{source: ., path: out/docs}":      false,
		"{source: docs, path: deep/docs}":  false,
		"source: '" + dir + "/secret'":     false,
		"{source: in, path: ../../secret}": false,
	} {
		entry := strings.Replace("{name: lib, "+strings.TrimPrefix(source, "{")+"}", "}}", "}", 1)
		if err := os.WriteFile("deskhand.yaml", []byte("libraries: ["+entry+"]\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		s, flags := &Settings{}, pflag.NewFlagSet("test", pflag.ContinueOnError)
		if err := s.Load(flags, func(string) {}); err != nil {
			t.Fatal(err)
		}
		wanted, _, err := s.Libraries()
		if allowed != (err == nil) {
			t.Errorf("%s: %+v, %v; want allowed = %v", entry, wanted, err, allowed)
		}
	}
}
