package runtime

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var required = regexp.MustCompile(`(?m)^\t(\S+) v\S+$`) // without "// indirect"

// The page of dependencies has each that we chose, and each old one that comes
// with them.
func TestEachDependencyIsOnItsPage(t *testing.T) {
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	found := required.FindAllStringSubmatch(string(mod), -1)
	if len(found) < 30 {
		t.Fatalf("go.mod has %d direct dependencies, want some 40", len(found))
	}
	for _, f := range found {
		short := f[1]
		if !strings.Contains(string(page), short) {
			short = path.Base(f[1]) // beside another of its project
		}
		if !strings.Contains(string(page), "`"+short) && !strings.Contains(string(page), short+"`") {
			t.Errorf("docs/dependencies.md does not say why there is %s", f[1])
		}
	}
	for _, old := range []string{"bluge", "ice", "ice/v2", "vellum", "mmap-go", "snappy", "go-metro", "go-tdigest", "hyperloglog"} {
		if !strings.Contains(string(page), old) {
			t.Errorf("docs/dependencies.md does not say what would replace %s", old)
		}
	}
}
