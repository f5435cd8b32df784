package deps

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/shelf"
)

func TestLockFilesNameLibraries(t *testing.T) {
	dir := project(t, map[string]string{
		"go.mod": "module m\n\nrequire example.com/Owner/frame v1.2.0\n\nrequire example.com/deep v0.3.0 // indirect\n\n" +
			"require example.com/local v1.0.0\n\nreplace example.com/local => ../local\n",
		"requirements.txt": "yaml==6.0\nloose\n",
		"src/main.go":      "package main\n",
	})
	locked, err := ReadLocked(filepath.Join(dir, "src"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		entry shelf.Entry
		want  bool
	}{
		{shelf.Entry{Name: "example.com/Owner/frame", Version: "v1.2.0", Source: "dep:go/example.com/Owner/frame"}, true},
		{shelf.Entry{Name: "example.com/Owner/frame", Version: "v1.3.0", Source: "dep:go/example.com/Owner/frame"}, false},
		{shelf.Entry{Name: "example.com/deep", Version: "v0.3.0", Source: "dep:go/example.com/deep"}, true},
		{shelf.Entry{Name: "example.com/local", Version: "v1.0.0", Source: "dep:go/example.com/local"}, false},
		{shelf.Entry{Name: "frame", Version: "1.2.0", Source: "https://example.com/owner/frame.git#v1.2.0"}, true},
		{shelf.Entry{Name: "frame", Version: "1.2.0", Source: "oci://ghcr.io/a/frame:1", Origin: &artifact.Origin{Source: "https://example.com/owner/frame.git#v1.2.0"}}, true},
		{shelf.Entry{Name: "frame", Version: "1.2.0", Source: "docs"}, false},
		{shelf.Entry{Name: "yaml", Version: "6.0", Source: "yaml-docs.zip"}, true},
		{shelf.Entry{Name: "python/yaml", Version: "6.0", Source: "dep:python/yaml"}, true},
		{shelf.Entry{Name: "yaml", Version: "6.0", Source: "dep:npm/yaml"}, false},
		{shelf.Entry{Name: "loose", Version: "4.1", Source: "dep:python/loose"}, true},
	} {
		if got := locked.Has(c.entry); got != c.want {
			t.Errorf("%s from %s: %v", c.entry.ID(), c.entry.Source, got)
		}
	}
}

func TestBrokenLockFilesDoNotHideTheOthers(t *testing.T) {
	dir := project(t, map[string]string{"go.mod": "module m\n\nrequire example.com/a v1.0.0\n", "Cargo.lock": "[[package]\n"})
	a := shelf.Entry{Name: "example.com/a", Version: "v1.0.0"}
	locked, err := ReadLocked(dir)
	if err == nil || !strings.Contains(err.Error(), "Cargo.lock:1") || !locked.Has(a) {
		t.Errorf("%v, %v", locked.Has(a), err)
	}
	if err := os.Truncate(filepath.Join(dir, "go.mod"), maxServedLock+1); err != nil {
		t.Fatal(err)
	}
	if locked, err = ReadLocked(dir); err == nil || !strings.Contains(err.Error(), "larger than 8388608 bytes") || locked.Has(a) {
		t.Errorf("of a file that is too large, %v", err)
	}
	if empty := project(t, nil); LockState(empty) != "" || LockState(dir) == "" {
		t.Errorf("states %q and %q", LockState(empty), LockState(dir))
	}
}
