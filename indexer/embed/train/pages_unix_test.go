//go:build unix

package train

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestAFolderMayBeALink(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "real", "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "real", "in", "a.md"), []byte("# A\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	if got, err := markdown(link); err != nil || !slices.Equal(got, []string{"in/a.md"}) {
		t.Errorf("markdown(a link to a folder) = %q, %v; want in/a.md", got, err)
	}
}
